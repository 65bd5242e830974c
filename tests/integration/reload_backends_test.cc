// A new configuration in a serving gateway. Backends and listeners are added, removed and changed
// during calls and sessions, and the gateway watches its configuration files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/integration/harness/mcp_requests.h"
#include "tests/integration/harness/program_run.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/tls_tunnel.h"
#include "tests/integration/harness/websocket_client.h"
#include "tests/support/test_folder.h"

namespace stdgate::harness::reload_backends_test {
namespace {

using testing::HasSubstr;

constexpr const char* kHead =
    "listen: [\"127.0.0.1:0\"]\nadmin: \"127.0.0.1:0\"\nlog: { format: json }\n";

std::string file_of(const std::vector<std::string>& backends, const std::string& root = "") {
  std::string text = kHead + root + "backends: { ";
  for (const std::string& backend : backends) text.append(backend).append(", ");
  return text + "}\n";
}

GatewaySetup setup_of(const std::string& text) {
  GatewaySetup setup;
  setup.config = text;
  return setup;
}

std::string pid_at(const GatewayProcess& gateway, const std::string& path) {
  return gateway.connect().post(path, request("pid")).body;
}

WebSocketClient socket_at(const GatewayProcess& gateway, const std::string& path) {
  return {gateway.url(), {.path = path}};
}

bool has_log(const GatewayProcess& gateway, const std::string& event) {
  return eventually("the log has " + event, [&] { return !log_of(gateway, event).empty(); });
}

TEST(ReloadBackends, ComeAndGoBesideThoseThatStay) {
  const std::string kept = backend("kept", puppet());
  GatewayProcess gateway(setup_of(file_of({kept, backend("old", puppet())})));
  const std::string child = pid_at(gateway, "/kept/rpc");
  pid_at(gateway, "/old/rpc");
  ASSERT_TRUE(reload(gateway, file_of({kept, backend("new", puppet())})));
  EXPECT_EQ(pid_at(gateway, "/kept/rpc"), child) << "it has not been touched";
  EXPECT_THAT(pid_at(gateway, "/new/rpc"), HasSubstr("result"));
  EXPECT_EQ(gateway.connect().post("/old/rpc", request("pid")).status, 404);
  EXPECT_TRUE(has_log(gateway, "retired backend has ended"));
  EXPECT_TRUE(eventually("its child has gone", [&] {
    return gateway.metrics().sum("stdgate_children", {{"backend", "old"}, {"state", "ready"}}) == 0;
  }));
  EXPECT_THAT(gateway.connect().get("/").body, HasSubstr("/new/rpc"));
  EXPECT_EQ(gateway.metrics().sum("stdgate_request_duration_seconds_count", {{"backend", "kept"}}),
            2);
  EXPECT_EQ(gateway.metrics().sum("stdgate_request_duration_seconds_count", {{"backend", "new"}}),
            1);
  // The backend returns: its name has its former counters.
  ASSERT_TRUE(reload(gateway, file_of({kept, backend("old", puppet())})));
  pid_at(gateway, "/old/rpc");
  EXPECT_EQ(gateway.metrics().sum("stdgate_request_duration_seconds_count", {{"backend", "old"}}),
            2);
}

// A lone backend is the default backend. A second backend changes that, but the process of the
// first stays.
TEST(ReloadBackends, TheDefaultOneMovesWithoutAnotherChild) {
  GatewayProcess gateway(setup_of(file_of({backend("a", puppet())})));
  const std::string child = pid_at(gateway, "/rpc");
  ASSERT_TRUE(reload(gateway, file_of({backend("a", puppet()), backend("b", puppet())})));
  EXPECT_EQ(gateway.connect().post("/rpc", request("pid")).status, 404);
  EXPECT_EQ(pid_at(gateway, "/a/rpc"), child);
  ASSERT_TRUE(
      reload(gateway, file_of({backend("b", puppet(), "default: true"), backend("a", puppet())})));
  EXPECT_NE(pid_at(gateway, "/rpc"), child);
  EXPECT_EQ(pid_at(gateway, "/a/rpc"), child);
}

TEST(ReloadBackends, WhatWasBegunIsFinishedByTheFormerChildren) {
  GatewayProcess gateway(setup_of(file_of({backend("a", puppet())})));
  const std::string child = pid_at(gateway, "/rpc");
  WebSocketClient socket = socket_at(gateway, "/ws");
  HttpClient caller = gateway.connect();
  caller.send_request("POST", "/rpc", request("meet"), {{"content-type", "application/json"}});
  await_in_flight(gateway, 1);
  // A request whose body arrives after the configuration has changed.
  HttpClient slow = gateway.connect();
  const std::string late = request("pid");
  slow.send(
      "POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
      "expect: 100-continue\r\ncontent-length: " +
      std::to_string(late.size()) + "\r\n\r\n");
  EXPECT_EQ(slow.read_response().status, 100);
  ASSERT_TRUE(reload(gateway, file_of({backend("a", puppet(), "timeout: 21s")})));
  EXPECT_NE(pid_at(gateway, "/rpc"), child) << "new calls have new children";
  EXPECT_EQ(socket.call("pid"), child) << "a session goes on";
  slow.send(late);
  EXPECT_EQ(slow.read_response().body, child);
  EXPECT_THAT(socket.call("meet"), HasSubstr("result"));
  EXPECT_EQ(caller.read_response().status, 200);
  EXPECT_TRUE(log_of(gateway, "retired backend has ended").empty()) << "a session is open";
  EXPECT_EQ(state_of(gateway).number("/retired/0/sessions"), 1);
  socket.send_frame({.opcode = Frame::kClose, .payload = close_payload(1000)});
  EXPECT_TRUE(has_log(gateway, "retired backend has ended"));
  EXPECT_EQ(state_of(gateway).size("/retired"), 0U);
}

// The new rules decide what old sessions may call.
TEST(ReloadBackends, NewRulesHoldForWhatWasBegun) {
  GatewayProcess gateway(setup_of(file_of({backend("a", puppet())})));
  const std::string child = pid_at(gateway, "/rpc");
  WebSocketClient socket = socket_at(gateway, "/ws");
  EXPECT_EQ(socket.call("pid"), child);
  ASSERT_TRUE(
      reload(gateway, file_of({backend("a", puppet(), "timeout: 21s, methods: [meet, cwd]")})));
  EXPECT_EQ(state_of(gateway).number("/retired/0/sessions"), 1);
  EXPECT_THAT(socket.call("pid"), HasSubstr("-32601"));
  EXPECT_THAT(socket.call("cwd"), HasSubstr("result"));
}

TEST(ReloadBackends, SessionsHaveTheTimeOfADrain) {
  const std::string root = "timeouts: { drain: 300ms }\n";
  GatewayProcess gateway(setup_of(file_of({backend("a", puppet())}, root)));
  WebSocketClient socket = socket_at(gateway, "/ws");
  HttpClient caller = gateway.connect();
  caller.send_request("POST", "/rpc", request("hang"), {{"content-type", "application/json"}});
  await_in_flight(gateway, 1);
  ASSERT_TRUE(reload(gateway, file_of({backend("b", puppet())}, root)));
  const Closing closing = socket.read_closing();
  EXPECT_EQ(closing.code, 1001);
  EXPECT_THAT(closing.reason, HasSubstr("configuration"));
  const HttpResponse cut = caller.read_response();
  EXPECT_EQ(cut.status, 503);
  EXPECT_THAT(cut.body, HasSubstr("the configuration has changed"));
  EXPECT_TRUE(has_log(gateway, "retired backend has ended"));
  EXPECT_EQ(log_of(gateway, "retired backend ends while calls or sessions are still open").size(),
            1U);
}

// An idle connection holds the last backend that it has used, although the backend has no more
// work.
TEST(ReloadBackends, ThatHaveNothingLeftEndWithoutAWarning) {
  const std::string root = "timeouts: { drain: 100ms }\n";
  GatewayProcess gateway(setup_of(file_of({backend("a", puppet())}, root)));
  {
    HttpClient kept = gateway.connect();
    EXPECT_EQ(kept.post("/rpc", request("pid")).status, 200);
    ASSERT_TRUE(reload(gateway, file_of({backend("b", puppet())}, root)));
    EXPECT_TRUE(eventually("it is ended", [&] {
      const JsonValue state = state_of(gateway);
      return state.size("/retired") == 0 || state.size("/retired/0/children") == 0;
    }));
  }
  EXPECT_TRUE(has_log(gateway, "retired backend has ended"));
  EXPECT_TRUE(
      log_of(gateway, "retired backend ends while calls or sessions are still open").empty());
}

TEST(ReloadListeners, AreOpenedAndClosedByDifference) {
  test::TestFolder folder;
  const std::string socket = "unix:" + folder.path("gate.sock");
  const auto text = [](const std::string& listen) {
    return "listen: [" + listen + "]\nadmin: \"127.0.0.1:0\"\nlog: { format: json }\n" +
           "backends: { " + backend("a", puppet()) + " }\n";
  };
  GatewayProcess gateway(setup_of(text("\"127.0.0.1:0\"")));
  HttpClient kept = gateway.connect();
  const std::string child = kept.post("/rpc", request("pid")).body;
  ASSERT_TRUE(reload(gateway, text("\"127.0.0.1:0\", \"" + socket + "\"")));
  HttpClient second(socket);
  EXPECT_EQ(second.post("/rpc", request("pid")).body, child);
  EXPECT_EQ(kept.post("/rpc", request("pid")).body, child) << "its listener has stayed";
  EXPECT_EQ(state_of(gateway).size("/listeners"), 3U);
  ASSERT_TRUE(reload(gateway, text("\"" + socket + "\"")));
  EXPECT_TRUE(eventually("the first one is closed", [&] {
    try {
      HttpClient(gateway.url()).post("/rpc", request("pid"));
      return false;
    } catch (const std::runtime_error&) {
      return true;
    }
  }));
  EXPECT_EQ(second.post("/rpc", request("pid")).body, child);
  EXPECT_TRUE(kept.closed_within(Millis(2000))) << "nobody is left on its connections";
}

// Listeners whose port the kernel chooses may have the same text.
TEST(ReloadListeners, EqualOnesAreToldApart) {
  const auto text = [](const std::string& listen) {
    return "listen: [" + listen + "]\nadmin: \"127.0.0.1:0\"\nlog: { format: json }\n" +
           "backends: { " + backend("a", puppet()) + " }\n";
  };
  const std::string any = "\"127.0.0.1:0\"";
  GatewaySetup setup = setup_of(text(any + ", " + any));
  setup.listeners = 2;
  GatewayProcess gateway(setup);
  const auto is_open = [&](size_t index) {
    try {
      return gateway.connect(index).post("/rpc", request("pid")).status == 200;
    } catch (const std::runtime_error&) {
      return false;
    }
  };
  ASSERT_TRUE(reload(gateway, text(any + ", " + any + ", " + any)));
  EXPECT_TRUE(is_open(0) && is_open(1));
  EXPECT_EQ(state_of(gateway).size("/listeners"), 4U);
  ASSERT_TRUE(reload(gateway, text(any)));
  EXPECT_TRUE(is_open(0));
  EXPECT_FALSE(is_open(1));
  EXPECT_EQ(state_of(gateway).size("/listeners"), 2U);
}

TEST(ReloadListeners, TlsComesAndGoesOnTheSameSocket) {
  test::TestFolder folder;
  test::TestAuthority authority;
  const test::Credential credential = authority.issue();
  folder.write("server.crt", credential.certificate);
  folder.write("server.key", credential.key);
  const std::string tls = "tls: { certificate: " + folder.path("server.crt") +
                          ", key: " + folder.path("server.key") + " }\n";
  const std::string one = backend("a", puppet());
  GatewayProcess gateway(setup_of(file_of({one})));
  HttpClient plain = gateway.connect();
  const std::string child = plain.post("/rpc", request("pid")).body;
  ASSERT_TRUE(reload(gateway, file_of({one}, tls)));
  EXPECT_TRUE(plain.closed_within(Millis(2000))) << "it is not served without TLS any more";
  TlsTunnel tunnel("https" + gateway.url().substr(4), {.authority = authority.certificate()});
  HttpClient secure(tunnel.url());
  EXPECT_EQ(secure.post("/rpc", request("pid")).body, child);
  // The certificate changes. A file that is not a certificate changes nothing.
  folder.write("bad.crt", "no certificate");
  std::string bad = tls;
  bad.replace(bad.find("server.crt"), std::string_view("server.crt").size(), "bad.crt");
  EXPECT_FALSE(reload(gateway, file_of({one}, bad)));
  EXPECT_EQ(secure.post("/rpc", request("pid")).body, child);
  EXPECT_EQ(gateway.metrics().series("stdgate_tls_certificate_expiry_timestamp_seconds"), 1U);
  ASSERT_TRUE(reload(gateway, file_of({one})));
  EXPECT_EQ(gateway.connect().post("/rpc", request("pid")).body, child);
}

TEST(ReloadListeners, OneThatCannotBeOpenedChangesNothing) {
  GatewayProcess other(setup_of(file_of({backend("a", puppet())})));
  const std::string taken = other.url().substr(std::string_view("http://").size());
  GatewayProcess gateway(setup_of(file_of({backend("a", puppet())})));
  const std::string child = pid_at(gateway, "/rpc");
  std::string text = file_of({backend("b", puppet())});
  const std::string first = "\"127.0.0.1:0\"]";
  text.replace(text.find(first), first.size(), "\"127.0.0.1:0\", \"" + taken + "\"]");
  EXPECT_FALSE(reload(gateway, text));
  EXPECT_EQ(pid_at(gateway, "/rpc"), child);
  EXPECT_THAT(state_of(gateway).text("/configuration/problem"), HasSubstr(taken));
  EXPECT_EQ(gateway.connect().post("/b/rpc", request("pid")).status, 404);
}

// The folder of the configuration is replaced by changing a link, as for a ConfigMap.
TEST(ReloadByWatching, FindsFilesThatAreSwapped) {
  test::TestFolder folder;
  namespace fs = std::filesystem;
  const auto write = [&](const std::string& name, const std::string& text) {
    fs::create_directory(folder.path(name));
    std::ofstream(folder.path(name + "/gateway.yaml")) << text;
  };
  const auto point_to = [&](const std::string& name) {
    fs::create_directory_symlink(name, folder.path("..data_tmp"));
    fs::rename(folder.path("..data_tmp"), folder.path("..data"));
  };
  const std::string watch = "watch: true\n";
  write("one", file_of({backend("a", puppet())}, watch));
  point_to("one");
  fs::create_symlink("..data/gateway.yaml", folder.path("gateway.yaml"));
  GatewaySetup setup;
  setup.arguments = {"--config", folder.path("gateway.yaml")};
  GatewayProcess gateway(setup);
  const std::string child = pid_at(gateway, "/a/rpc");
  write("two", file_of({backend("a", puppet()), backend("b", puppet())}, watch));
  point_to("two");
  EXPECT_TRUE(await_reload(gateway, 1));
  EXPECT_EQ(pid_at(gateway, "/a/rpc"), child);
  EXPECT_THAT(pid_at(gateway, "/b/rpc"), HasSubstr("result"));
  write("three", "backends: {");
  point_to("three");
  EXPECT_FALSE(await_reload(gateway, 2)) << "a bad file changes nothing";
  EXPECT_EQ(pid_at(gateway, "/a/rpc"), child);
  write("four", file_of({backend("a", puppet())}, watch));
  point_to("four");
  EXPECT_TRUE(await_reload(gateway, 3));
  EXPECT_EQ(gateway.connect().post("/b/rpc", request("pid")).status, 404);
}

TEST(ReloadByWatching, FindsKeysThatChange) {
  test::TestFolder folder;
  const auto give = [&](const std::string& name) {
    folder.write("key", "the-key-of-" + name + "-1234\n");
  };
  give("ada");
  GatewayProcess gateway(setup_of(file_of(
      {backend("a", puppet())},
      "watch: true\nauth: { api_keys: [ { name: x, file: \"" + folder.path("key") + "\" } ] }\n")));
  const auto status = [&](const std::string& name) {
    return gateway.connect()
        .post("/rpc", request("pid"), {{"authorization", "Bearer the-key-of-" + name + "-1234"}})
        .status;
  };
  EXPECT_EQ(status("ada"), 200);
  give("bob");
  EXPECT_TRUE(await_reload(gateway, 1));
  EXPECT_EQ(status("ada"), 401);
  EXPECT_EQ(status("bob"), 200);
}

TEST(CheckAgainst, SaysWhatAReloadWouldChange) {
  TemporaryFolder folder;
  folder.write("old.yaml", file_of({backend("a", puppet())}));
  folder.write("new.yaml", file_of({backend("b", puppet())}, "replica: other\n"));
  const ProgramRun run =
      run_stdgate(folder, {"check", "--config", "new.yaml", "--against", "old.yaml"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(
      run.out,
      "a reload takes over:\n  backends.b\n  backends.a\na restart is needed for:\n  replica\n");
  EXPECT_EQ(run_stdgate(folder, {"check", "-c", "new.yaml", "--against", "none.yaml"}).exit_code,
            2);
}

// Backends change again and again during calls over HTTP, WebSockets and MCP sessions.
TEST(ReloadBackends, LoseNoCall) {
  const auto text = [](int n) {
    const std::string timeout = "timeout: " + std::to_string(20 + n) + "s";
    return file_of(
        {backend("plain", puppet(), timeout),
         backend("tools", puppet("mcp"), "protocol: mcp, isolation: session, " + timeout),
         backend("kept", puppet())});
  };
  GatewayProcess gateway(setup_of(text(0)));
  std::atomic<bool> ends = false;
  std::atomic<int> good = 0;
  std::atomic<int> bad = 0;
  const auto count = [&](bool is_good) { ++(is_good ? good : bad); };
  std::thread http([&] {
    HttpClient client = gateway.connect();
    while (!ends) count(client.post("/plain/rpc", request("pid")).status == 200);
  });
  std::thread mcp([&] {
    while (!ends) {
      HttpClient client = gateway.connect();
      const std::string id = open_mcp_session(client, "/tools/mcp");
      for (int i = 0; i < 20; ++i) {
        count(client.post("/tools/mcp", request("pid"), in_mcp_session(id)).status == 200);
      }
      client.send_request("DELETE", "/tools/mcp", "", in_mcp_session(id));
      client.read_response();
    }
  });
  std::thread sockets([&] {
    WebSocketClient kept = socket_at(gateway, "/kept/ws");
    while (!ends) {
      WebSocketClient client = socket_at(gateway, "/plain/ws");
      for (int i = 0; i < 20; ++i) count(client.call("pid").find("result") != std::string::npos);
      count(kept.call("pid").find("result") != std::string::npos);
    }
  });
  for (int n = 1; n <= 15; ++n) {
    const int before = good;
    EXPECT_TRUE(reload(gateway, text(n % 2)));
    EXPECT_TRUE(eventually("calls are answered", [&] { return good > before + 10; }));
  }
  ends = true;
  http.join();
  mcp.join();
  sockets.join();
  EXPECT_GT(good, 100);
  EXPECT_EQ(bad, 0);
  EXPECT_TRUE(eventually("all that is retired has ended", [&] {
    return log_of(gateway, "retired backend has ended").size() == 30;
  }));
}

// The gateway is stopped while a retired backend has a session.
TEST(ReloadBackends, AreEndedByAShutdownToo) {
  GatewayProcess gateway(setup_of(file_of({backend("a", puppet())})));
  WebSocketClient socket = socket_at(gateway, "/ws");
  socket.call("pid");
  ASSERT_TRUE(reload(gateway, file_of({backend("b", puppet())})));
  EXPECT_THAT(socket.call("pid"), HasSubstr("result"));
  gateway.signal(SIGTERM);
  EXPECT_EQ(socket.read_closing().code, 1001);
  EXPECT_EQ(gateway.wait_for_exit()->code, 0);
}

}  // namespace
}  // namespace stdgate::harness::reload_backends_test
