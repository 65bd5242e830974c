// Children that die, hang, write nonsense or cannot start, and pools that grow and shrink.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "tests/integration/harness/setups.h"

namespace stdgate::harness::children_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr const char* kOneChild = "pool: { min: 1, max: 1, backoff_min: 1ms }";

pid_t child_pid(const GatewayProcess& gateway) {
  return static_cast<pid_t>(state_of(gateway).number("/backends/0/children/0/pid"));
}

double exits(const GatewayProcess& gateway, const std::string& reason) {
  return gateway.metrics().sum("stdgate_child_exits_total", {{"reason", reason}});
}

size_t open_files_of(pid_t pid) {
  const auto folder = "/proc/" + std::to_string(pid) + "/fd";
  const std::filesystem::directory_iterator entries(folder);
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

TEST(Children, KillUnderLoadFailsEachCallInFlightOnceAndServiceGoesOn) {
  GatewayProcess gateway(serve_one(puppet(), kOneChild));
  await_children(gateway, 1);
  constexpr size_t kCalls = 100;
  std::vector<HttpClient> clients;
  for (size_t i = 0; i < kCalls; ++i) {
    clients.push_back(gateway.connect());
    clients.back().send_request("POST", "/rpc", request("hang", "", std::to_string(i)), {});
  }
  await_in_flight(gateway, kCalls);
  kill(child_pid(gateway), SIGKILL);
  for (size_t i = 0; i < kCalls; ++i) {
    const HttpResponse response = clients[i].read_response();
    EXPECT_EQ(response.status, 502);
    EXPECT_THAT(response.body, AllOf(HasSubstr("\"id\":" + std::to_string(i) + ","),
                                     HasSubstr("-32004"), HasSubstr("killed by signal 9")));
    EXPECT_TRUE(clients[i].silent_for(Millis(0)));
    EXPECT_EQ(call(clients[i], "cwd", "", "\"again\"").status, 200);
  }
  EXPECT_EQ(exits(gateway, "signal"), 1);
}

// The gateway looks at a child's memory once a second. So a child leaks in the calls of some
// seconds before it is replaced.
TEST(Children, ThoseThatLeakAreReplacedUnderLoadWithoutAFailedCall) {
  GatewayProcess gateway(
      serve_one(puppet(), "pool: { min: 1, max: 3, max_memory: 64MiB }", "log: { calls: false }"));
  await_children(gateway, 1);
  const auto replaced = [&] {
    return gateway.metrics().sum("stdgate_children_replaced_total", {{"reason", "memory"}});
  };
  std::atomic<bool> is_done = false;
  in_parallel(4, [&](size_t number) {
    HttpClient client = gateway.connect();
    if (number == 0) {
      EXPECT_TRUE(holds_within(Millis(60000), [&] { return replaced() >= 3; }));
      is_done = true;
    }
    while (!is_done) {
      const HttpResponse response = call(client, "leak", R"({"size":1000000})");
      ASSERT_EQ(response.status, 200) << response.body;
      std::this_thread::sleep_for(Millis(10));
    }
  });
  const auto metrics = gateway.metrics();  // read at one moment, because a child may be ending
  EXPECT_EQ(metrics.sum("stdgate_child_exits_total", {{"reason", "asked"}}),
            metrics.sum("stdgate_child_exits_total", {}));
  EXPECT_THAT(gateway.log(), HasSubstr("child replaced"));
}

TEST(Children, ManyKillsUnderLoadAnswerEveryCallOnce) {
  GatewayProcess gateway(serve_one(demo_server(),
                                   "pool: { min: 2, max: 2, backoff_min: 1ms, backoff_max: 5ms }",
                                   "log: { level: error }"));
  await_children(gateway, 2);
  std::atomic<bool> done = false;
  std::atomic<size_t> answered = 0;
  std::thread killer([&] {
    for (int round = 0; round < 20; ++round) {
      const size_t before = answered;
      holds_within(Millis(2000), [&] { return answered > before + 20; });
      const JsonValue state = state_of(gateway);
      if (state.size("/backends/0/children") == 0) continue;
      const auto pid = static_cast<pid_t>(state.number("/backends/0/children/0/pid"));
      if (pid > 0) kill(pid, SIGKILL);
    }
    done = true;
  });
  std::atomic<size_t> asked = 0;
  std::atomic<size_t> fine = 0;
  in_parallel(20, [&](size_t) {
    HttpClient client = gateway.connect();
    while (!done) {
      const std::string payload = "[" + std::to_string(++asked) + "]";
      const HttpResponse response = call(client, "echo", payload);
      ++answered;
      if (response.status == 200) {
        ++fine;
        EXPECT_EQ(response.body, result("1", payload));
      } else {
        EXPECT_THAT(response.status, testing::AnyOf(502, 503)) << response.body;
      }
    }
  });
  killer.join();
  EXPECT_EQ(gateway.metrics().sum("stdgate_request_duration_seconds_count"), asked);
  EXPECT_EQ(gateway.metrics().sum("stdgate_request_duration_seconds_count", {{"outcome", "ok"}}),
            fine);
  EXPECT_EQ(gateway.metrics().sum("stdgate_requests_in_flight"), 0);
}

TEST(Children, ExitCodesAreTold) {
  GatewayProcess gateway(serve_one(puppet(), kOneChild));
  HttpClient client = gateway.connect();
  struct Case {
    const char* method;
    const char* params;
    const char* text;
    const char* reason;
  };
  for (const Case& given :
       {Case{"exit", R"({"code":42})", "the child exited with code 42", "exit_nonzero"},
        Case{"exit", R"({"code":0})", "the child exited with code 0", "exit_zero"},
        Case{"signal", R"({"number":10})", "the child was killed by signal 10 (SIGUSR1)",
             "signal"}}) {
    const HttpResponse response = call(client, given.method, given.params);
    EXPECT_EQ(response.status, 502);
    EXPECT_EQ(JsonValue(response.body).text("/error/message"), given.text);
    EXPECT_EQ(exits(gateway, given.reason), 1) << given.reason;
    EXPECT_EQ(call(client, "cwd").status, 200);
  }
}

TEST(Children, FiftyDeathsLeaveNoZombieAndNoDescriptor) {
  GatewayProcess gateway(serve_one(
      puppet(),
      "pool: { min: 1, max: 1, backoff_min: 1ms, backoff_max: 1ms, breaker_failures: 999 }"));
  HttpClient client = gateway.connect();
  ASSERT_EQ(call(client, "cwd").status, 200);
  const size_t files = open_files_of(gateway.pid());
  for (int death = 0; death < 50; ++death) {
    ASSERT_EQ(call(client, "exit", R"({"code":1})").status, 502);
  }
  ASSERT_EQ(call(client, "cwd").status, 200);
  EXPECT_EQ(exits(gateway, "exit_nonzero"), 50);
  EXPECT_TRUE(eventually("one guard is left, and no zombie", [&] {
    const std::vector<ProcessInfo> left = children_of(gateway.pid());
    return left.size() == 1 && left[0].state != 'Z';
  }));
  EXPECT_TRUE(eventually("all descriptors are closed",
                         [&] { return open_files_of(gateway.pid()) == files; }));
}

TEST(Children, CommandThatDoesNotExistTouchesNoOtherBackend) {
  GatewayProcess gateway(
      serve({backend("good", demo_server(), "default: true"),
             backend("bad", {"/nonexistent/program"},
                     "pool: { backoff_min: 1ms, backoff_max: 1h, breaker_failures: 2 }")}));
  HttpClient client = gateway.connect();
  HttpClient admin(gateway.admin_url());
  const char* const missing = "program \"/nonexistent/program\" not found";
  // The failure is known before the first call.
  const HttpResponse early = admin.get("/readyz");
  EXPECT_EQ(early.status, 200) << "the other one can be used";
  EXPECT_EQ(admin.get("/readyz/bad").status, 503);
  EXPECT_EQ(JsonValue(early.body).text("/backends/bad/reason"), missing);
  EXPECT_THAT(gateway.log(), HasSubstr("children cannot start"));
  const std::string question = request("math/add", "[1,2]");
  const HttpResponse first = client.post("/bad/rpc", question);
  EXPECT_EQ(first.status, 502);
  EXPECT_THAT(first.body, AllOf(HasSubstr("-32004"), HasSubstr("could not be started")));
  EXPECT_THAT(first.body, Not(HasSubstr("nonexistent")));  // clients are told no paths
  HttpResponse later = client.post("/bad/rpc", question);
  if (later.status == 502) later = client.post("/bad/rpc", question);
  EXPECT_EQ(later.status, 503);
  EXPECT_THAT(later.body, HasSubstr("-32005"));
  EXPECT_GE(std::stoi(later.header("retry-after")), 1);

  const HttpResponse ready = admin.get("/readyz");
  EXPECT_EQ(ready.status, 200);
  const JsonValue why(ready.body);
  EXPECT_FALSE(why.flag("/backends/bad/ready"));
  EXPECT_EQ(why.text("/backends/bad/reason"), missing);
  EXPECT_TRUE(why.flag("/backends/good/ready"));
  EXPECT_EQ(call(client, "math/add", "[1,2]").body, result("1", "3"));
  EXPECT_THAT(gateway.log(), HasSubstr("No such file or directory"));
}

TEST(Children, GarbageIsCountedAndSkipped) {
  GatewayProcess gateway(serve_one(rogue({"garbage"}), kOneChild));
  HttpClient client = gateway.connect();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(call(client, "any", "[\"\xC3\xA9\"]", "7").body, result("7", "[\"\xC3\xA9\"]"));
  }
  const MetricsText metrics = gateway.metrics();
  EXPECT_EQ(metrics.sum("stdgate_messages_dropped_total", {{"reason", "not_json"}}), 5);
  EXPECT_EQ(metrics.sum("stdgate_messages_dropped_total", {{"reason", "not_rpc"}}), 5);
  const std::vector<JsonValue> lines = log_of(gateway, "child output dropped");
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[0].text("/text"), "starting up, please wait...");
}

TEST(Children, AnswersToNothingAreDropped) {
  GatewayProcess gateway(serve_one(puppet(), kOneChild));
  HttpClient client = gateway.connect();
  const std::string line = R"({"line":"{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":\"stolen\"}"})";
  for (const std::string id : {"0", "1", "4097", "-1", "\\\"1\\\"", "2147483647", "99999999999"}) {
    std::string params = line;
    params.replace(params.find("ID"), 2, id);
    EXPECT_EQ(call(client, "say", params).body, result("1", "true"));
  }
  // The child answers the same call twice: only the first answer counts.
  EXPECT_EQ(
      call(client, "say", R"({"line":"{\"jsonrpc\":\"2.0\",\"id\":@ID@,\"result\":\"first\"}"})")
          .body,
      result("1", "\"first\""));
  EXPECT_TRUE(eventually("eight are counted", [&] {
    return gateway.metrics().sum("stdgate_messages_dropped_total", {{"reason", "unknown_id"}}) == 8;
  }));
}

TEST(Children, BrokenAnswersFailTheirCall) {
  GatewayProcess gateway(serve_one(puppet(), kOneChild));
  HttpClient client = gateway.connect();
  for (const char* line : {R"({\"jsonrpc\":\"2.0\",\"id\":@ID@})",
                           R"({\"jsonrpc\":\"2.0\",\"id\":@ID@,\"result\":1,\"error\":null})",
                           R"({\"id\":@ID@,\"result\":1})"}) {
    const HttpResponse response =
        call(client, "say", R"({"instead":true,"line":")" + std::string(line) + "\"}");
    EXPECT_EQ(response.status, 502) << line;
    EXPECT_THAT(response.body, HasSubstr("-32004"));
  }
  EXPECT_EQ(call(client, "cwd").status, 200);
}

TEST(Children, StderrIsInTheLogWithPid) {
  GatewayProcess gateway(serve_one(puppet(), kOneChild));
  HttpClient client = gateway.connect();
  // "hi
  // ", a line of bytes that are not UTF-8 with a carriage return, and a last line without a line
  // end.
  call(client, "complain", R"({"bytes":[104,105,10,255,34,254,13,10,120]})");
  const auto pid = JsonValue(call(client, "pid").body).number("/result");
  call(client, "exit");
  EXPECT_TRUE(
      eventually("three lines", [&] { return log_of(gateway, "child stderr").size() == 3; }));
  const std::vector<JsonValue> lines = log_of(gateway, "child stderr");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].text("/line"), "hi");
  EXPECT_EQ(lines[1].text("/line"), "\xEF\xBF\xBD\"\xEF\xBF\xBD");
  EXPECT_EQ(lines[2].text("/line"), "x");
  for (const JsonValue& line : lines) {
    EXPECT_EQ(line.number("/pid"), pid);
    EXPECT_EQ(line.text("/backend"), "main");
  }
}

TEST(Children, OneThatDoesNotReadStallsOnlyItself) {
  GatewayProcess gateway(
      serve({backend("main", puppet(),
                     "timeout: 500ms, default: true, pool: { min: 1, max: 1, grace: 50ms }"),
             backend("other", demo_server())}));
  HttpClient client = gateway.connect();
  ASSERT_EQ(call(client, "deaf").status, 200);
  const std::string body = request("echo", "[\"" + std::string(1'000'000, 'x') + "\"]");
  std::vector<HttpClient> stuck;
  for (int i = 0; i < 10; ++i) {
    stuck.push_back(gateway.connect());
    stuck.back().send_request("POST", "/rpc", body, {});
  }
  HttpClient other = gateway.connect();
  EXPECT_EQ(other.post("/other/rpc", request("math/add", "[1,2]")).body, result("1", "3"));
  // The gateway does not buffer everything while the child fails to read.
  EXPECT_LT(state_of(gateway).number("/backends/0/children/0/unsent_bytes"), 4'000'000);
  for (HttpClient& each : stuck) {
    EXPECT_THAT(each.read_response().status, testing::AnyOf(502, 504));
  }
  EXPECT_EQ(call(client, "cwd").status, 200);
}

TEST(Children, OneThatNeverAnswersIsToldWhenTheCallTimesOut) {
  GatewayProcess gateway(serve_one(puppet(), "timeout: 100ms, pool: { min: 1, max: 1 }"));
  await_children(gateway, 1);
  HttpClient client = gateway.connect();
  const HttpResponse response = call(client, "hang", "", "\"me\"");
  EXPECT_EQ(response.status, 504);
  EXPECT_THAT(response.body, AllOf(HasSubstr("\"id\":\"me\""), HasSubstr("-32003")));
  const auto lines = JsonValue(call(client, "history").body).texts("/result");
  ASSERT_EQ(lines.size(), 3U);
  const auto wire_id = static_cast<int64_t>(JsonValue(lines[0]).number("/id"));
  EXPECT_EQ(lines[1], request("$/cancelRequest", "{\"id\":" + std::to_string(wire_id) + "}", ""));
}

TEST(Children, OversizeAnswerFailsItsCallOnly) {
  GatewayProcess gateway(serve_one(puppet(), kOneChild, "limits: { message: 100KiB }"));
  await_children(gateway, 1);
  HttpClient hanging = gateway.connect();
  hanging.send_request("POST", "/rpc", request("meet", R"({"notes":0})"), {});
  await_in_flight(gateway, 1);
  HttpClient client = gateway.connect();
  const HttpResponse response = call(client, "blob", R"({"size":102400})");
  EXPECT_EQ(response.status, 413);
  EXPECT_THAT(response.body, AllOf(HasSubstr("\"id\":1,"), HasSubstr("-32007")));
  EXPECT_EQ(call(client, "blob", R"({"size":102000})").status, 200);
  EXPECT_EQ(call(client, "meet", R"({"notes":0})").body, result("1", "\"second\""));
  EXPECT_EQ(hanging.read_response().body, result("1", "\"first\""));
  EXPECT_EQ(gateway.metrics().sum("stdgate_messages_dropped_total", {{"reason", "oversized"}}), 1);
}

TEST(Children, PoolGrowsToMaxAndNotBeyondAndIsReapedToMin) {
  GatewayProcess gateway(serve_one(
      demo_server(), "pool: { min: 1, max: 3, max_in_flight: 1, idle_timeout: 200ms, grace: 1s }"));
  await_children(gateway, 1);
  std::vector<HttpClient> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(gateway.connect());
    clients.back().send_request("POST", "/rpc", request("sleep", "[100]"), {});
  }
  EXPECT_TRUE(eventually("three children work", [&] {
    const JsonValue state = state_of(gateway);
    EXPECT_LE(state.size("/backends/0/children"), 3U);
    return children_in(state, "busy") == 3;
  }));
  for (HttpClient& client : clients) EXPECT_EQ(client.read_response().status, 200);
  EXPECT_EQ(gateway.metrics().sum("stdgate_child_starts_total"), 3);
  EXPECT_TRUE(eventually("one child is left", [&] { return children_in(state_of(gateway)) == 1; }));
  EXPECT_EQ(exits(gateway, "asked"), 2);
  EXPECT_EQ(call(clients[0], "math/add", "[1,2]").status, 200);
  EXPECT_EQ(gateway.metrics().sum("stdgate_child_starts_total"), 3);
}

TEST(Children, EnvironmentIsExactlyWhatTheConfigurationSays) {
  GatewaySetup setup = serve_one(
      puppet(),
      R"(env: { ONE: "1", TWO: "a b=c", FROM: "${GIVEN}" }, env_inherit: ["!", GIVEN, "PRE_*"])");
  setup.environment = {{"GIVEN", "given"}, {"PRE_A", "a"}, {"PRE_B", "b"}, {"SECRET", "s"}};
  GatewayProcess gateway(setup);
  HttpClient client = gateway.connect();
  EXPECT_THAT(JsonValue(call(client, "env").body).texts("/result"),
              UnorderedElementsAre("ONE=1", "TWO=a b=c", "FROM=given", "GIVEN=given", "PRE_A=a",
                                   "PRE_B=b"));
}

TEST(Children, RunInTheirWorkingDirectory) {
  GatewayProcess gateway(
      serve({backend("main", puppet(), "default: true, cwd: \"/usr/share\""),
             backend("own", puppet()), backend("none", puppet(), "cwd: \"/nonexistent\"")}));
  HttpClient client = gateway.connect();
  EXPECT_EQ(JsonValue(call(client, "cwd").body).text("/result"), "/usr/share");
  EXPECT_EQ(JsonValue(client.post("/own/rpc", request("cwd")).body).text("/result"),
            gateway.folder().string());
  EXPECT_EQ(client.post("/none/rpc", request("cwd")).status, 502);
}

TEST(Children, ContentLengthFramingIsSpoken) {
  // Answers one request, in the framing of the LSP base protocol.
  const std::string script =
      "read length; read empty; n=$(echo \"$length\" | tr -dc 0-9);"
      "body=$(dd bs=1 count=$n 2>/dev/null); id=$(echo \"$body\" | sed "
      "'s/.*\"id\":\\([0-9]*\\).*/\\1/');"
      "answer='{\"jsonrpc\":\"2.0\",\"id\":'$id',\"result\":\"framed\"}';"
      "printf 'Content-Length: %d\\r\\n\\r\\n%s' ${#answer} \"$answer\"; exec cat";
  GatewayProcess gateway(serve_one(shell(script), "framing: content-length"));
  HttpClient client = gateway.connect();
  EXPECT_EQ(call(client, "any", "", "\"x\"").body, result("\"x\"", "\"framed\""));
}

}  // namespace
}  // namespace stdgate::harness::children_test
