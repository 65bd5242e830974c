// logging/setLevel: a session has a level of its own, even though all sessions share the child.

#include "tests/unit/mcp/shared_bench.h"

namespace stdgate::test {
namespace {

using Texts = std::vector<std::string>;

std::string log_message(const std::string& level) {
  return R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":")" + level +
         R"(","data":1}})";
}

class McpLogLevel : public testing::Test {
 protected:
  static void set_level(SharedClient& client, const std::string& level,
                        const std::string& id = "9") {
    client.request("logging/setLevel", R"({"level":")" + level + R"("})", id);
    EXPECT_EQ(client.take(), Texts{empty_result(id)});
  }
  // Checks that the child is told this level, and lets it answer.
  void expect_told(const std::string& level) {
    const std::string line = child_.take_line();
    EXPECT_NE(line.find(R"("method":"logging/setLevel","params":{"level":")" + level + "\""),
              std::string::npos)
        << line;
    child_.answer(parse_asked(line).id, "{}");
  }

  SharedBench bench_{1};
  FakeChild& child_ = bench_.child(0);
  SharedClient a_{bench_};
};

TEST_F(McpLogLevel, OfOneDoesNotSilenceAnother) {
  SharedClient b(bench_);
  set_level(a_, "emergency");
  expect_told("info");
  b.call("1");
  child_.take_ids();
  child_.say(log_message("info"));
  EXPECT_EQ(b.take(), Texts{log_message("info")});
}

TEST_F(McpLogLevel, OfOneDoesNotFloodAnother) {
  SharedClient b(bench_);
  set_level(a_, "debug");
  expect_told("debug");
  b.call("1");
  child_.say(log_message("debug"));
  EXPECT_TRUE(b.take().empty());
  child_.say(log_message("info"));
  child_.say(R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"odd"}})");
  EXPECT_EQ(b.take().size(), 2U);
}

TEST_F(McpLogLevel, EachGetsItsOwn) {
  const char* const levels[] = {"debug", "info",     "notice", "warning",
                                "error", "critical", "alert",  "emergency"};
  for (size_t mine = 0; mine < std::size(levels); ++mine) {
    set_level(a_, levels[mine]);
    expect_told(levels[mine]);
    a_.call("1");
    const Texts ids = child_.take_ids();
    for (size_t said = 0; said < std::size(levels); ++said) {
      child_.say(log_message(levels[said]));
      EXPECT_EQ(a_.take().size(), said >= mine ? 1U : 0U) << levels[mine] << ' ' << levels[said];
    }
    child_.answer(ids.at(0));
    a_.take();
  }
}

TEST_F(McpLogLevel, WhoLeavesTakesItsWishAway) {
  auto b = std::make_unique<SharedClient>(bench_);
  set_level(*b, "debug");
  expect_told("debug");
  b->close();
  expect_told("info");
  EXPECT_TRUE(child_.take_lines().empty());
}

TEST_F(McpLogLevel, AChildThatComesLaterIsToldToo) {
  set_level(a_, "debug");
  expect_told("debug");
  child_.die(9);
  bench_.advance(Duration{1});  // the child is replaced at once
  ASSERT_EQ(bench_.launcher.launched(), 2U);
  FakeChild& fresh = bench_.greet(1);
  EXPECT_NE(fresh.take_line().find(R"({"level":"debug"})"), std::string::npos);
}

TEST_F(McpLogLevel, ASessionInTheSamePlaceBeginsAnew) {
  auto b = std::make_unique<SharedClient>(bench_);
  set_level(*b, "emergency");
  expect_told("info");
  b->close();
  b.reset();
  SharedClient c(bench_);
  c.call("1");
  child_.say(log_message("info"));
  EXPECT_EQ(c.take().size(), 1U);
}

TEST_F(McpLogLevel, WhatIsNoLevelIsRefused) {
  for (const char* params : {R"({"level":"loud"})", R"({"level":1})", "{}"}) {
    a_.request("logging/setLevel", params);
    const Texts answers = a_.take();
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_NE(answers[0].find("-32602"), std::string::npos) << answers[0];
  }
  EXPECT_TRUE(child_.take_lines().empty());
}

TEST_F(McpLogLevel, ACallWithoutASessionHasNone) {
  FakeClient alone(bench_.callers);
  bench_.send(alone,
              R"({"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}})");
  ASSERT_EQ(alone.answers.size(), 1U);
  EXPECT_NE(alone.answers[0].text.find("-32602"), std::string::npos) << alone.answers[0].text;
  EXPECT_TRUE(child_.take_lines().empty());
}

TEST_F(McpLogLevel, AStreamWithoutASessionIsNotFloodedEither) {
  set_level(a_, "debug");
  expect_told("debug");
  FakeClient stream(bench_.callers);
  bench_.send(stream, R"({"jsonrpc":"2.0","id":1,"method":"m"})", 5, true);
  child_.say(log_message("debug"));
  EXPECT_TRUE(stream.events.empty());
  child_.say(log_message("info"));
  EXPECT_EQ(stream.events.size(), 1U);
}

TEST(McpLogLevelOfOwnChild, IsForwarded) {
  backend::BackendOptions options = shared_mcp_options(1);
  options.config.isolation = config::Isolation::session;
  options.config.pool.min = 0;
  BackendBench bench(options, std::make_unique<mcp::McpDialect>("1"));
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session).has_value());
  bench.send(session,
             R"({"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}})");
  FakeChild& child = bench.start_child();
  EXPECT_NE(child.take_line().find("logging/setLevel"), std::string::npos);
}

}  // namespace
}  // namespace stdgate::test
