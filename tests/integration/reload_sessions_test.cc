// MCP sessions during changes of the configuration: their backends change, go, and come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/integration/harness/mcp_requests.h"
#include "tests/integration/harness/setups.h"

namespace stdgate::harness::reload_sessions_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string file_of(const std::vector<std::string>& backends, const std::string& root = "") {
  return serve(backends, "listen: [\"127.0.0.1:0\"]\nadmin: \"127.0.0.1:0\"\n" + root).config;
}

GatewaySetup served(const std::string& text) {
  GatewaySetup setup;
  setup.config = text;
  return setup;
}

bool has_log(const GatewayProcess& gateway, const std::string& event) {
  return eventually("the log has " + event, [&] { return !log_of(gateway, event).empty(); });
}

int end_session(HttpClient& client, const std::string& path, const std::string& id) {
  client.send_request("DELETE", path, "", in_mcp_session(id));
  return client.read_response().status;
}

TEST(ReloadMcp, SessionsGoOnAndAreTakenOver) {
  const std::string root = "timeouts: { drain: 1500ms }\n";
  const auto tools = [](const std::string& more) {
    return backend("tools", puppet("mcp"), "protocol: mcp, isolation: session, " + more);
  };
  GatewayProcess gateway(served(file_of({tools("timeout: 20s")}, root)));
  HttpClient client = gateway.connect();
  const auto open = [&client] { return open_mcp_session(client, "/mcp"); };
  const auto ask = [&client](const std::string& id) {
    return client.post("/mcp", request("pid"), in_mcp_session(id));
  };
  const std::string id = open();
  const std::string ended = open();
  const std::string child = ask(id).body;
  ASSERT_TRUE(reload(gateway, file_of({tools("timeout: 21s")}, root)));
  EXPECT_EQ(ask(id).body, child) << "until the drain is over it has its own child";
  const std::string later = open();
  EXPECT_NE(ask(later).body, child);
  EXPECT_EQ(end_session(client, "/mcp", ended), 204);
  EXPECT_EQ(ask(ended).status, 404);
  EXPECT_TRUE(has_log(gateway, "retired backend has ended"));
  const HttpResponse after = ask(id);
  EXPECT_EQ(after.status, 200) << after.body;
  EXPECT_NE(after.body, child);
  EXPECT_EQ(ask(later).status, 200);
  EXPECT_EQ(ask(ended).status, 404) << "its client has ended it";
}

Headers modern_fields(const std::string& id) {
  Headers fields = in_mcp_session(id);
  fields["mcp-protocol-version"] = "2026-07-28";
  fields["mcp-method"] = "tools/list";
  return fields;
}

// A removed backend serves its existing MCP sessions, and no other client.
TEST(ReloadMcp, SessionsOfARemovedBackendEndByThemselves) {
  for (const std::string isolation : {"session", "shared"}) {
    const std::string gone =
        backend("gone", puppet("mcp"), "default: true, protocol: mcp, isolation: " + isolation);
    const std::string kept = backend("kept", puppet());
    GatewayProcess gateway(served(file_of({gone, kept})));
    HttpClient client = gateway.connect();
    const auto ask = [&](const std::string& id, const std::string& path = "/gone/mcp") {
      return client.post(path, request("pid"), in_mcp_session(id));
    };
    const auto end = [&](const std::string& id) { return end_session(client, "/gone/mcp", id); };
    const std::string first = open_mcp_session(client, "/gone/mcp");
    const std::string second = open_mcp_session(client, "/mcp");
    const std::string child = ask(first).body;
    ASSERT_TRUE(reload(gateway, file_of({kept})));
    EXPECT_EQ(ask(first).body, child);
    EXPECT_EQ(ask(second).status, 200);
    // The remaining backend is now the default backend, which does not speak MCP.
    EXPECT_EQ(ask(second, "/mcp").status, 200);
    for (const std::string none : {"", "nobody"}) EXPECT_EQ(ask(none).status, 404) << none;
    EXPECT_EQ(client.post("/gone/mcp", mcp_greeting(), in_mcp_session("")).status, 404);
    EXPECT_EQ(client.post("/gone/mcp", request("tools/list"), modern_fields(first)).status, 404);
    EXPECT_EQ(client.post("/gone/rpc", request("pid")).status, 404);
    EXPECT_THAT(client.get("/gone/mcp").body, AllOf(HasSubstr("/rpc"), Not(HasSubstr("gone"))));
    EXPECT_EQ(end(first), 204);
    EXPECT_EQ(ask(first).status, 404);
    EXPECT_TRUE(log_of(gateway, "retired backend has ended").empty()) << "a session is open";
    // Another reload does not change the removed backend.
    ASSERT_TRUE(reload(gateway, file_of({kept, backend("more", puppet())})));
    EXPECT_EQ(ask(second).status, 200);
    EXPECT_EQ(end(second), 204);
    EXPECT_TRUE(has_log(gateway, "retired backend has ended"));
    EXPECT_EQ(ask(second).status, 404);
    EXPECT_THAT(ask(second).body, HasSubstr("nothing is served at this path"));
  }
}

TEST(ReloadMcp, SessionsOfARemovedBackendHaveTheTimeOfADrain) {
  const std::string root = "timeouts: { drain: 600ms }\n";
  const std::string kept = backend("kept", puppet());
  const std::string gone = backend("gone", puppet("mcp"), "protocol: mcp, isolation: session");
  GatewayProcess gateway(served(file_of({gone, kept}, root)));
  HttpClient client = gateway.connect();
  HttpClient listener = gateway.connect();
  const std::string id = open_mcp_session(client, "/gone/mcp");
  ASSERT_TRUE(reload(gateway, file_of({kept}, root)));
  listener.send_request("GET", "/gone/mcp", "", in_mcp_session(id));
  EXPECT_TRUE(has_log(gateway, "retired backend has ended"));
  EXPECT_EQ(log_of(gateway, "retired backend ends while calls or sessions are still open").size(),
            1U);
  EXPECT_EQ(listener.read_response().status, 200) << "a stream that was ended";
  EXPECT_EQ(client.post("/gone/mcp", request("pid"), in_mcp_session(id)).status, 404);
  // The backend that comes back is new, and knows nothing of its predecessor.
  ASSERT_TRUE(reload(gateway, file_of({gone, kept}, root)));
  EXPECT_EQ(
      client
          .post("/gone/mcp", request("pid"), in_mcp_session(open_mcp_session(client, "/gone/mcp")))
          .status,
      200);
}

// A backend that was added and removed twice has sessions of both times.
TEST(ReloadMcp, SessionsOfEachRemovedBackendGoOn) {
  const std::string kept = backend("kept", puppet());
  const std::string gone = backend("gone", puppet("mcp"), "protocol: mcp, isolation: session");
  const auto with = file_of({gone, kept});
  const auto without = file_of({kept});
  GatewayProcess gateway(served(with));
  HttpClient client = gateway.connect();
  const auto ask = [&](const std::string& id) {
    return client.post("/gone/mcp", request("pid"), in_mcp_session(id));
  };
  const auto end = [&](const std::string& id) { return end_session(client, "/gone/mcp", id); };
  const std::string first = open_mcp_session(client, "/gone/mcp");
  const std::string child = ask(first).body;
  ASSERT_TRUE(reload(gateway, without));
  ASSERT_TRUE(reload(gateway, with));
  EXPECT_EQ(ask(first).body, child);
  const std::string second = open_mcp_session(client, "/gone/mcp");
  ASSERT_TRUE(reload(gateway, without));
  EXPECT_EQ(ask(second).status, 200);
  EXPECT_EQ(ask(first).body, child);
  EXPECT_EQ(end(second), 204);
  EXPECT_TRUE(has_log(gateway, "retired backend has ended"));
  EXPECT_EQ(ask(first).body, child) << "it had begun before";
  EXPECT_EQ(end(first), 204);
  EXPECT_EQ(ask(first).status, 404);
}

// A backend is removed and added again and again, while clients use sessions. Existing sessions
// continue.
TEST(ReloadMcp, ARemovedBackendLosesNoCallOfItsSessions) {
  const std::string kept = backend("kept", puppet());
  const std::string tools = backend("tools", puppet("mcp"), "protocol: mcp, isolation: session");
  GatewayProcess gateway(served(file_of({tools, kept})));
  std::atomic<bool> ends = false;
  std::atomic<int> good = 0;
  std::atomic<int> bad = 0;
  std::atomic<int> refused = 0;
  const auto serve_sessions = [&] {
    HttpClient client = gateway.connect();
    while (!ends) {
      const HttpResponse opened = client.post("/tools/mcp", mcp_greeting(), in_mcp_session(""));
      if (opened.status == 404) {  // removed at the moment
        ++refused;
        continue;
      }
      const Headers fields = in_mcp_session(opened.header("mcp-session-id"));
      client.post("/tools/mcp", request("notifications/initialized", "", ""), fields);
      for (int i = 0; i < 20; ++i) {
        ++(client.post("/tools/mcp", request("pid"), fields).status == 200 ? good : bad);
      }
      client.send_request("DELETE", "/tools/mcp", "", fields);
      ++(client.read_response().status == 204 ? good : bad);
    }
  };
  std::thread one(serve_sessions);
  std::thread other(serve_sessions);
  for (int n = 0; n < 16; ++n) {
    EXPECT_TRUE(reload(gateway, n % 2 == 0 ? file_of({kept}) : file_of({tools, kept})));
    const int served = good;
    const int unserved = refused;
    EXPECT_TRUE(eventually("clients have noticed",
                           [&] { return n % 2 == 0 ? refused > unserved : good > served + 25; }));
  }
  ends = true;
  one.join();
  other.join();
  EXPECT_GT(good, 100);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(bad, 0);
}

}  // namespace
}  // namespace stdgate::harness::reload_sessions_test
