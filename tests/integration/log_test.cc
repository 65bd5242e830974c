// The log: one line a call with everything that an operator asks, always readable by a machine, and
// nothing of it in a client's answer unless the configuration says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/harness/setups.h"

namespace stdgate::harness {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::SizeIs;

// The lines of finished calls, once there are `count`.
std::vector<JsonValue> calls_of(const GatewayProcess& gateway, size_t count) {
  eventually(std::to_string(count) + " calls are logged",
             [&] { return log_of(gateway, "call").size() >= count; });
  return log_of(gateway, "call");
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
  EXPECT_EQ(lines[0].text("/transport"), "http");
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
  // Throws at a line that is not valid.
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
    size_t calls;   // of one that is fine, one that is a fault
    bool starting;  // the line of a child's start
  };
  for (const Case& given :
       {Case{"level: debug", 2, true}, Case{"level: info", 2, true}, Case{"level: warn", 1, false},
        Case{"level: error", 0, false}, Case{"level: off", 0, false},
        Case{"level: info, calls: false", 0, true}}) {
    SCOPED_TRACE(given.settings);
    GatewayProcess gateway(
        serve_one(puppet(), "", "log: { format: json, " + std::string(given.settings) + " }"));
    HttpClient client = gateway.connect();
    EXPECT_EQ(call(client, "cwd").status, 200);
    EXPECT_EQ(client.post("/rpc", "{").status, 400);
    gateway.signal(SIGTERM);
    ASSERT_TRUE(gateway.wait_for_exit());
    EXPECT_THAT(log_of(gateway, "call"), SizeIs(given.calls));
    EXPECT_THAT(log_of(gateway, "child started"), SizeIs(given.starting ? 1 : 0));
  }
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
  GatewayProcess gateway(serve_one(puppet(), "timeout: 50ms, pool: { max: 1 }"));
  HttpClient client = gateway.connect();
  client.post("/rpc", "{");
  client.post("/rpc", R"({"jsonrpc":"1.0","id":1,"method":"a"})");
  call(client, "hang");
  call(client, "exit", R"({"code":7})");
  const std::vector<JsonValue> lines = calls_of(gateway, 4);
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines[0].text("/detail"), HasSubstr("byte 1"));
  EXPECT_THAT(lines[1].text("/detail"), HasSubstr("jsonrpc"));
  EXPECT_EQ(lines[2].text("/outcome"), "timeout");
  EXPECT_EQ(lines[2].text("/method"), "hang");
  EXPECT_GE(lines[2].number("/duration_ms"), 50);
  EXPECT_THAT(lines[3].text("/detail"), HasSubstr("exited with code 7"));
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
}  // namespace stdgate::harness
