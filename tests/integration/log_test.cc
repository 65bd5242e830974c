// The log has one line per call, with everything that operators need, and is always readable by
// programs. Clients see nothing of it unless the configuration says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/harness/eventually.h"
#include "tests/integration/harness/mcp_requests.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"

namespace stdgate::harness::log_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::SizeIs;

// The lines of finished calls, once there are `count` lines.
std::vector<JsonValue> calls_of(const GatewayProcess& gateway, size_t count) {
  eventually(std::to_string(count) + " calls are logged",
             [&] { return log_of(gateway, "call").size() >= count; });
  return log_of(gateway, "call");
}

TEST(Log, ATextThatIsNoMessageHasItsSize) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  const std::string broken = R"({"jsonrpc":"2.0",)";
  EXPECT_EQ(client.post("/rpc", broken).status, 400);
  EXPECT_EQ(client.post("/rpc", "[]").status, 400);
  WebSocketClient socket(gateway.url());
  socket.send(broken);
  EXPECT_THAT(socket.message(), HasSubstr("Parse error"));
  const std::vector<JsonValue> lines = calls_of(gateway, 3);
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[0].number("/bytes_in"), broken.size());
  EXPECT_EQ(lines[1].number("/bytes_in"), 2);
  EXPECT_EQ(lines[2].number("/bytes_in"), broken.size());
}

TEST(Log, EachCallIsOneLineWithItsFacts) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  const std::string question = request("sleep", "[30]", "\"a\\u00e9\"");
  const HttpResponse response = client.post("/rpc", question);
  call(client, "fail", "", "2");
  client.post("/rpc", "[" + request("math/add", "[1,2]", "3") + "," +
                          request("math/add", "[1,2]", "4") + "," + request("echo", "[]", "") +
                          "]");
  const std::vector<JsonValue> lines = calls_of(gateway, 4);
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines[0].text("/time"),
              MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z"));
  EXPECT_EQ(lines[0].text("/level"), "info");
  EXPECT_EQ(lines[0].text("/backend"), "main");
  EXPECT_EQ(lines[0].text("/method"), "sleep");
  EXPECT_EQ(lines[0].text("/outcome"), "ok");
  EXPECT_EQ(lines[0].text("/transport"), "rpc");
  EXPECT_EQ(lines[0].text("/id"), "\"a\\u00e9\"");
  EXPECT_EQ(lines[0].number("/connection"), 1);
  EXPECT_EQ(lines[0].number("/bytes_in"), question.size());
  EXPECT_EQ(lines[0].number("/bytes_out"), response.body.size());
  EXPECT_GE(lines[0].number("/child_ms"), 30);
  EXPECT_GE(lines[0].number("/queue_ms"), 0);
  EXPECT_GE(lines[0].number("/duration_ms"), lines[0].number("/child_ms"));
  EXPECT_FALSE(lines[0].has("/detail"));
  EXPECT_EQ(lines[1].text("/outcome"), "error");
  EXPECT_EQ(lines[2].text("/id"), "3");
  EXPECT_EQ(lines[3].text("/id"), "4");
}

TEST(Log, IsValidWhateverCallersAndChildrenSay) {
  GatewayProcess gateway(
      serve({backend("main", puppet(), "default: true"), backend("plain", rogue({"rpc"}))}));
  HttpClient client = gateway.connect();
  const std::string ids[] = {R"("\"\\\n\u0000\u2028")", "\"\x7F\xC2\x80\"", "null",
                             "\"" + std::string(1000, 'i') + "\""};
  for (const std::string& id : ids) EXPECT_EQ(call(client, "cwd", "", id).status, 200);
  for (const std::string name :
       {"quote\" backslash\\", "line\nbreak\x01", "", "\xF0\x9F\x98\x80"}) {
    EXPECT_EQ(call(client, name).status, 200);
  }
  client.post("/plain/rpc", R"({"jsonrpc":"2.0","id":1,"method":"\ud800 half a pair"})");
  client.post("/rpc", "\xFF\xFE not json \"");
  client.post("/rpc", R"({"jsonrpc":"2.0","id":"bad","method":7})");
  call(client, "complain", R"({"bytes":[255,0,34,92,10,240,159,10]})");
  call(client, "say", R"({"line":"noise \" \\ \t \u0001"})");
  // Throws if a line is not valid JSON.
  const std::vector<JsonValue> lines = calls_of(gateway, 13);
  EXPECT_THAT(lines, SizeIs(13));
  EXPECT_EQ(lines[4].text("/method"), "quote\" backslash\\");
  EXPECT_EQ(lines[5].text("/method"), "line\nbreak\x01");
  EXPECT_EQ(lines[10].text("/id"), "\"bad\"");
  EXPECT_TRUE(eventually("the child's words are there",
                         [&] { return log_of(gateway, "child stderr").size() == 2; }));
  EXPECT_THAT(log_of(gateway, "child output dropped"), SizeIs(1));
}

TEST(Log, LevelSaysWhatIsWritten) {
  struct Case {
    const char* settings;
    size_t calls;   // lines of a good call and a failing call
    bool starting;  // whether the start of a child is logged
  };
  for (const Case& given :
       {Case{"level: debug", 2, true}, Case{"level: info", 2, true}, Case{"level: warn", 1, false},
        Case{"level: error", 0, false}, Case{"level: off", 0, false},
        Case{"level: info, calls: false", 0, true}}) {
    SCOPED_TRACE(given.settings);
    GatewaySetup setup = serve_one(
        puppet(), "",
        "listen: \"unix:@DIR@/s\"\nlog: { format: json, " + std::string(given.settings) + " }");
    setup.listeners = 0;  // the address may not be logged
    setup.admin = false;
    GatewayProcess gateway(setup);
    const std::string socket = gateway.folder() / "s";
    std::optional<HttpClient> client;
    ASSERT_TRUE(eventually("it listens", [&] {
      try {
        client.emplace("unix:" + socket);
      } catch (const std::exception&) {  // not bound, or not listening yet
      }
      return client.has_value();
    }));
    EXPECT_EQ(call(*client, "cwd").status, 200);
    EXPECT_EQ(client->post("/rpc", "{").status, 400);
    gateway.signal(SIGTERM);
    ASSERT_TRUE(gateway.wait_for_exit());
    EXPECT_THAT(log_of(gateway, "call"), SizeIs(given.calls));
    EXPECT_THAT(log_of(gateway, "child started"), SizeIs(given.starting ? 1 : 0));
  }
}

TEST(Log, AsJsonIsAllThatIsWritten) {
  GatewayProcess gateway(serve({backend("main", demo_server(), "default: true"),
                                backend("tools", puppet("mcp"), "protocol: mcp")}));
  EXPECT_EQ(gateway.output(), "");
  const std::vector<JsonValue> lines = log_of(gateway, "listening");
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[0].text("/backend"), "main");
  EXPECT_EQ(lines[0].text("/rpc"), gateway.url() + "/rpc");
  EXPECT_EQ(lines[0].text("/websocket"), "ws" + gateway.url().substr(4) + "/ws");
  EXPECT_FALSE(lines[0].has("/mcp"));
  EXPECT_EQ(lines[1].text("/mcp"), gateway.url() + "/tools/mcp");
  EXPECT_EQ(lines[1].text("/sse"), gateway.url() + "/tools/sse");
  EXPECT_TRUE(lines[2].flag("/admin"));
  EXPECT_EQ(lines[2].text("/metrics"), gateway.admin_url() + "/metrics");
  gateway.signal(SIGTERM);
  ASSERT_TRUE(gateway.wait_for_exit());
  EXPECT_EQ(gateway.output(), "");
  log_of(gateway);  // throws if a line is not JSON
}

TEST(Log, RefusalsAreLinesAndCounts) {
  GatewayProcess gateway(serve_one(demo_server()));
  gateway.connect().get("/nowhere?token=hunter2");
  gateway.connect().get(
      "/\x7f"
      "x");
  gateway.connect().post("/rpc", "{}", {{"origin", "https://evil.example"}});
  HttpClient tls = gateway.connect();
  tls.send(std::string("\x16\x03\x01\x00\xf4\x01\x00\x00\xf0\x03\x03", 11));
  EXPECT_THAT(tls.read_to_end(), HasSubstr("plain HTTP, not TLS"));
  HttpClient(gateway.admin_url()).get("/nothing");
  ASSERT_TRUE(
      eventually("all are logged", [&] { return log_of(gateway, "request refused").size() == 5; }));
  const std::vector<JsonValue> lines = log_of(gateway, "request refused");
  EXPECT_EQ(lines[0].text("/level"), "info");
  EXPECT_EQ(lines[0].text("/client"), "127.0.0.1");
  EXPECT_GT(lines[0].number("/port"), 0);
  EXPECT_EQ(lines[0].text("/method"), "GET");
  EXPECT_EQ(lines[0].text("/path"), "/nowhere");
  EXPECT_EQ(lines[0].number("/status"), 404);
  EXPECT_EQ(lines[0].text("/reason"), "not_found");
  EXPECT_THAT(lines[0].text("/detail"), HasSubstr("nothing is served"));
  EXPECT_EQ(lines[1].text("/reason"), "bad_head");
  EXPECT_EQ(lines[2].text("/reason"), "bad_origin");
  EXPECT_EQ(lines[3].text("/reason"), "tls_on_plain_port");
  EXPECT_EQ(lines[4].text("/path"), "/nothing");
  EXPECT_THAT(gateway.log(), testing::Not(HasSubstr("hunter2")));
  const MetricsText metrics = gateway.metrics();
  const auto count = [&metrics](const char* reason) {
    return metrics.sum("stdgate_http_refusals_total", {{"reason", reason}});
  };
  EXPECT_EQ(count("not_found"), 2) << "those of the admin pages included";
  EXPECT_EQ(count("bad_head"), 1);
  EXPECT_EQ(count("bad_origin"), 1);
  EXPECT_EQ(count("tls_on_plain_port"), 1);
  EXPECT_EQ(count("gone"), 0);
}

TEST(Log, DebugShowsTheWayOfACall) {
  for (const char* level : {"debug", "info"}) {
    GatewayProcess gateway(serve_one(demo_server(), "pool: { min: 1 }",
                                     "log: { format: json, level: " + std::string(level) + " }"));
    HttpClient client = gateway.connect();
    await_children(gateway, 1);
    const std::string pid =
        std::to_string(static_cast<int>(state_of(gateway).number("/backends/0/children/0/pid")));
    EXPECT_EQ(call(client, "echo", R"(["confidential"])", "\"a\"").status, 200);
    gateway.signal(SIGTERM);
    ASSERT_TRUE(gateway.wait_for_exit());
    EXPECT_THAT(gateway.log(), testing::Not(HasSubstr("confidential")));
    const auto with_id = [&gateway](const char* event) {
      std::vector<JsonValue> found;
      for (JsonValue& line : log_of(gateway, event)) {
        if (line.text("/id") == "\"a\"") found.push_back(std::move(line));
      }
      return found;
    };
    const size_t wanted = std::string(level) == "debug" ? 1 : 0;
    EXPECT_THAT(with_id("call arrived"), SizeIs(wanted));
    EXPECT_THAT(with_id("call sent"), SizeIs(wanted));
    EXPECT_THAT(with_id("call answered"), SizeIs(wanted));
    EXPECT_THAT(with_id("call"), SizeIs(1));
    for (const JsonValue& line : with_id("call sent")) {
      EXPECT_EQ(std::to_string(static_cast<int>(line.number("/pid"))), pid);
      EXPECT_GT(line.number("/wire_id"), 0);
    }
  }
}

TEST(Log, TellsWhatHappensToABackend) {
  const std::string script = "[ -e go ] || exit 5; exec '" + puppet()[0] + "'";
  GatewayProcess gateway(serve_one(
      shell(script),
      "pool: { min: 1, max: 1, backoff_min: 1ms, backoff_max: 5ms, breaker_failures: 2 }"));
  ASSERT_TRUE(
      eventually("the breaker opens", [&] { return !log_of(gateway, "breaker opened").empty(); }));
  const JsonValue opened = std::move(log_of(gateway, "breaker opened").at(0));
  EXPECT_EQ(opened.text("/level"), "warn");
  EXPECT_EQ(opened.text("/cause"), "the child exited with code 5");
  const JsonValue ended = std::move(log_of(gateway, "child ended").at(0));
  EXPECT_EQ(ended.text("/reason"), "exit_nonzero");
  std::ofstream(gateway.folder() / "go") << "go";
  HttpClient client = gateway.connect();
  ASSERT_TRUE(eventually("a call is answered", [&] { return call(client, "cwd").status == 200; }));
  ASSERT_TRUE(
      eventually("the breaker closes", [&] { return !log_of(gateway, "breaker closed").empty(); }));
  EXPECT_THAT(log_of(gateway, "backend ready"), SizeIs(1));
}

TEST(Log, TheStartSaysWhatRuns) {
  GatewayProcess gateway(serve_one(demo_server()));
  const std::vector<JsonValue> lines = log_of(gateway, "started");
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_FALSE(lines[0].text("/version").empty());
  EXPECT_EQ(lines[0].number("/pid"), gateway.pid());
  EXPECT_THAT(lines[0].text("/configuration"), testing::StartsWith("/"));
  EXPECT_EQ(lines[0].text("/listen"), gateway.url());
  EXPECT_EQ(lines[0].text("/admin"), gateway.admin_url());
  EXPECT_EQ(lines[0].number("/backends"), 1);
}

// A line names the client's session, and the client whose child has died.
TEST(Log, NamesSessionClientAndChild) {
  GatewayProcess gateway(serve_one(puppet("mcp"), "protocol: mcp, pool: { max: 4 }",
                                   "audit: { file: \"@DIR@/audit.jsonl\", durable: true }\n"));
  HttpClient client = gateway.connect();
  const std::string id = open_mcp_session(client);
  client.post("/mcp", request("exit", R"({"code":7})", "2"), in_mcp_session(id));
  ASSERT_TRUE(
      eventually("its child has ended", [&] { return !log_of(gateway, "child ended").empty(); }));
  const std::vector<JsonValue> openings = log_of(gateway, "session opened");
  const JsonValue& opened = openings.at(0);
  const std::string session = opened.text("/session");
  EXPECT_THAT(session, MatchesRegex("[0-9a-f]{8}"));
  EXPECT_EQ(opened.text("/client"), "127.0.0.1");
  EXPECT_EQ(opened.text("/client_name"), "c 1");
  const std::vector<JsonValue> starts = log_of(gateway, "child started");
  const std::vector<JsonValue> ends = log_of(gateway, "child ended");
  const JsonValue& started = starts.at(0);
  const JsonValue& ended = ends.at(0);
  EXPECT_EQ(ended.text("/session"), session);
  EXPECT_EQ(ended.text("/client"), "127.0.0.1");
  EXPECT_EQ(ended.number("/child"), started.number("/child"));
  EXPECT_EQ(ended.number("/pid"), started.number("/pid"));
  for (const JsonValue& call : calls_of(gateway, 2)) {
    EXPECT_EQ(call.text("/session"), session);
    EXPECT_EQ(call.text("/client"), "127.0.0.1");
    EXPECT_EQ(call.number("/child"), started.number("/child"));
    EXPECT_EQ(call.number("/pid"), started.number("/pid"));
  }
  // The name of a session stays the same after the session's end.
  client.send_request("DELETE", "/mcp", "", in_mcp_session(id));
  client.read_response();
  client.post("/mcp", request("ping", "", "3"), in_mcp_session(id));
  ASSERT_TRUE(eventually("the last request is refused",
                         [&] { return !log_of(gateway, "request refused").empty(); }));
  EXPECT_EQ(log_of(gateway, "request refused").at(0).text("/session"), session);
  EXPECT_THAT(gateway.log(), testing::Not(HasSubstr(id)));
}

TEST(Log, TextFormatIsForPeople) {
  GatewayProcess gateway(serve_one(puppet(), "", "log: { format: text }"));
  HttpClient client = gateway.connect();
  call(client, "cwd", "", "\"two words\"");
  call(client, "line\nbreak");
  EXPECT_TRUE(eventually("two calls are logged",
                         [&] { return gateway.log().find("line\\nbreak") != std::string::npos; }));
  std::istringstream lines(gateway.log());
  size_t calls = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(line, MatchesRegex("[-0-9]{10}T[:.0-9]{12}Z (info|warn) [a-z ]+ .*"));
    if (line.find(" call ") == std::string::npos) continue;
    ++calls;
    EXPECT_THAT(line, AllOf(HasSubstr(" backend=main "), HasSubstr(" duration_ms=")));
  }
  EXPECT_EQ(calls, 2U);
  EXPECT_THAT(gateway.log(), AllOf(HasSubstr(R"(id="\"two words\"")"), HasSubstr("method=cwd")));
}

// Neither format passes control characters of callers and children on to a terminal that shows the
// log.
TEST(Log, HasNoCharacterThatATerminalObeys) {
  const std::string hidden[] = {"\xc2\x9b",     "\xc2\x85",     "\xe2\x80\xa8", "\xe2\x80\xae",
                                "\xe2\x81\xa6", "\xef\xbb\xbf", "\x7f",         "\x9b"};
  std::string all;  // without the last, which is not UTF-8
  for (size_t i = 0; i + 1 < std::size(hidden); ++i) all += hidden[i];
  for (const char* format : {"text", "json"}) {
    GatewayProcess gateway(
        serve_one(puppet(), "", std::string("log: { payloads: true, format: ") + format + " }"));
    HttpClient client = gateway.connect();
    EXPECT_EQ(call(client, all, "[\"" + all + "\"]", "\"" + all + "\"").status, 200);
    call(client, "complain", R"({"bytes":[194,155,226,128,174,155,10]})");
    call(client, "say", R"({"line":")" + all + R"("})");
    gateway.signal(SIGTERM);
    ASSERT_TRUE(gateway.wait_for_exit());
    const std::string log = gateway.log();
    EXPECT_THAT(log, AllOf(HasSubstr("child stderr"), HasSubstr("child output dropped"),
                           HasSubstr(R"(\u009b\u0085\u2028\u202e\u2066\ufeff\u007f)")));
    for (const std::string& bytes : hidden) EXPECT_EQ(log.find(bytes), std::string::npos) << log;
  }
}

TEST(Log, FaultsHaveTheirCauseThereAndNotInTheAnswer) {
  for (const bool expose : {false, true}) {
    GatewayProcess gateway(serve_one({"/nonexistent/program"},
                                     std::string("pool: { backoff_min: 1h, backoff_max: 1h }, ") +
                                         "expose_fault_details: " + (expose ? "true" : "false")));
    HttpClient client = gateway.connect();
    const HttpResponse response = call(client, "any");
    EXPECT_EQ(response.status, 502);
    const std::vector<JsonValue> lines = calls_of(gateway, 1);
    ASSERT_THAT(lines, SizeIs(1));
    EXPECT_EQ(lines[0].text("/level"), "warn");
    EXPECT_EQ(lines[0].text("/outcome"), "child_failed");
    EXPECT_THAT(lines[0].text("/detail"), HasSubstr("exec: No such file or directory"));
    const JsonValue answer(response.body);
    EXPECT_EQ(answer.text("/error/message"), "the child could not be started");
    EXPECT_EQ(answer.has("/error/data"), expose);
    if (expose) {
      EXPECT_EQ(answer.text("/error/data/detail"), lines[0].text("/detail"));
    }
  }
}

TEST(Log, EveryFaultSaysWhy) {
  GatewayProcess gateway(serve_one(puppet(), "pool: { max: 1 }"));
  HttpClient client = gateway.connect();
  client.post("/rpc", "{");
  client.post("/rpc", R"({"jsonrpc":"1.0","id":1,"method":"a"})");
  call(client, "exit", R"({"code":7})");
  const std::vector<JsonValue> lines = calls_of(gateway, 3);
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[0].text("/detail"), HasSubstr("byte 1"));
  EXPECT_THAT(lines[1].text("/detail"), HasSubstr("jsonrpc"));
  EXPECT_THAT(lines[2].text("/detail"), HasSubstr("exited with code 7"));
}

// In a gateway of its own, because other calls could exceed this timeout as well.
TEST(Log, ATimeoutSaysHowLongItTook) {
  GatewayProcess gateway(serve_one(puppet(), "timeout: 50ms"));
  HttpClient client = gateway.connect();
  call(client, "hang");
  const std::vector<JsonValue> lines = calls_of(gateway, 1);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].text("/outcome"), "timeout");
  EXPECT_EQ(lines[0].text("/method"), "hang");
  EXPECT_GE(lines[0].number("/duration_ms"), 50);
}

TEST(Log, SaysHowChildrenComeAndGo) {
  GatewayProcess gateway(serve_one(puppet(), "pool: { min: 1, max: 1, backoff_min: 1ms }"));
  HttpClient client = gateway.connect();
  const double pid = JsonValue(call(client, "pid").body).number("/result");
  call(client, "signal", R"({"number":9})");
  call(client, "cwd");
  gateway.signal(SIGTERM);
  ASSERT_TRUE(gateway.wait_for_exit());
  const std::vector<JsonValue> starts = log_of(gateway, "child started");
  const std::vector<JsonValue> ends = log_of(gateway, "child ended");
  ASSERT_THAT(starts, SizeIs(2));
  ASSERT_THAT(ends, SizeIs(2));
  EXPECT_EQ(starts[0].number("/pid"), pid);
  EXPECT_EQ(ends[0].number("/pid"), pid);
  EXPECT_EQ(ends[0].text("/reason"), "signal");
  EXPECT_THAT(ends[0].text("/status"), HasSubstr("killed by signal 9"));
  EXPECT_EQ(ends[0].text("/level"), "warn");
  EXPECT_EQ(ends[1].text("/reason"), "asked");
  EXPECT_EQ(ends[1].text("/level"), "info");
  EXPECT_THAT(log_of(gateway, "draining"), SizeIs(1));
  EXPECT_THAT(log_of(gateway, "stopped"), SizeIs(1));
}

}  // namespace
}  // namespace stdgate::harness::log_test
