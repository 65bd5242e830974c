// Abandoned calls at MCP children that sessions share: what the child still says because of such a
// call reaches no other client.

#include <functional>

#include "tests/unit/mcp/shared_bench.h"

namespace stdgate::test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using Texts = std::vector<std::string>;

constexpr const char* kLog =
    R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}})";
constexpr const char* kCustom = R"({"jsonrpc":"2.0","method":"x/secret","params":{}})";
constexpr const char* kAbandonedAsk =
    R"({"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}})";

std::string cancelled(const std::string& id) {
  return R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + id +
         "}}";
}

// The ways in which a call is abandoned while its child works on it.
enum class Way : uint8_t { cancel, close, timeout, left_rpc, timeout_rpc };

class McpAbandoned : public testing::TestWithParam<Way> {
 protected:
  // Lets a call reach the child, and abandons it. Returns its wire id.
  std::string abandon_a_call() {
    const bool is_rpc = GetParam() == Way::left_rpc || GetParam() == Way::timeout_rpc;
    if (is_rpc) {
      bench_.call(*alone_, "1");
    } else {
      a_->call("1");
    }
    const std::string id = child_.take_ids().at(0);
    switch (GetParam()) {
      case Way::cancel:
        a_->send(cancelled("1"));
        break;
      case Way::close:
        a_->close();
        break;
      case Way::left_rpc:
        bench_.leave(*alone_);
        break;
      case Way::timeout:
      case Way::timeout_rpc:
        // A sign of life, so that the child does not count as hanging.
        child_.say(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
        bench_.advance(bench_.backend_timeout);
        break;
    }
    child_.take_lines();
    a_->take();
    b_.take();
    return id;
  }

  // Checks whether messages of the child reach b, which is the only other client.
  void expect_heard_by_b(bool heard) {
    for (const char* text : {kLog, kCustom}) {
      child_.say(text);
      EXPECT_EQ(b_.take(), heard ? Texts{text} : Texts()) << text;
    }
    child_.say(kAbandonedAsk);
    const Texts asked = b_.take();
    const Texts lines = child_.take_lines();
    EXPECT_EQ(asked.size(), heard ? 1U : 0U);
    ASSERT_EQ(lines.size(), heard ? 0U : 1U);
    if (!heard) {
      EXPECT_NE(lines[0].find("-32601"), std::string::npos) << lines[0];
    }
  }

  struct Bench : SharedBench {
    using SharedBench::SharedBench;
    const Duration backend_timeout = shared_mcp_options(1).config.timeout;
  };
  Bench bench_{1};
  FakeChild& child_ = bench_.child(0);
  std::unique_ptr<SharedClient> a_ = std::make_unique<SharedClient>(bench_);
  SharedClient b_{bench_};
  std::unique_ptr<FakeClient> alone_ = std::make_unique<FakeClient>(bench_.callers);
};

TEST_P(McpAbandoned, CallCountsUntilItsLateAnswerComes) {
  const std::string id = abandon_a_call();
  b_.call("1");
  child_.take_ids();
  expect_heard_by_b(false);
  bench_.advance(seconds(3));
  expect_heard_by_b(false);
  child_.answer(id);
  expect_heard_by_b(true);
}

TEST_P(McpAbandoned, AStreamOverRpcHearsNothingOfIt) {
  const std::string id = abandon_a_call();
  FakeClient stream(bench_.callers);
  bench_.send(stream, R"({"jsonrpc":"2.0","id":1,"method":"m"})", 5, true);
  child_.take_ids();
  child_.say(kLog);
  child_.say(kCustom);
  EXPECT_EQ(stream.events.size(), 0U);
  child_.answer(id);
  child_.say(kLog);
  EXPECT_EQ(stream.events.size(), 1U);
}

TEST_P(McpAbandoned, NeverAnsweredItNeverIsOver) {
  abandon_a_call();
  for (int i = 0; i < 100; ++i) {
    b_.call("1");
    const Texts ids = child_.take_ids();
    child_.say(kLog);
    EXPECT_TRUE(b_.take().empty());
    bench_.advance(seconds(5));
    child_.answer(ids.at(0));
    EXPECT_EQ(b_.take().size(), 1U);
  }
  EXPECT_EQ(bench_.launcher.launched(), 1U) << "a busy child is left alone";
}

TEST_P(McpAbandoned, AnIdleChildInDoubtIsReplaced) {
  abandon_a_call();
  b_.call("1");
  const Texts ids = child_.take_ids();
  child_.say(kLog);
  child_.answer(ids.at(0));
  b_.take();
  bench_.advance(shared_mcp_options(1).config.pool.idle_timeout);
  ASSERT_EQ(child_.ends().size(), 1U);
  child_.exit(0);
  bench_.settle();
  ASSERT_EQ(bench_.launcher.launched(), 2U);
  FakeChild& fresh = bench_.greet(1);
  b_.call("2");
  fresh.take_ids();
  fresh.say(kLog);
  EXPECT_EQ(b_.take(), Texts{kLog});
}

TEST_P(McpAbandoned, AChildWithoutDamageStays) {
  abandon_a_call();
  bench_.advance(minutes(60));
  EXPECT_TRUE(child_.ends().empty()) << "nobody has missed anything";
}

INSTANTIATE_TEST_SUITE_P(Ways, McpAbandoned,
                         testing::Values(Way::cancel, Way::close, Way::timeout, Way::left_rpc,
                                         Way::timeout_rpc));

TEST(McpAbandonedCalls, OfTheSameSessionDoNotSilenceIt) {
  SharedBench bench(1);
  SharedClient a(bench);
  FakeChild& child = bench.child(0);
  a.call("1");
  child.take_ids();
  a.send(cancelled("1"));
  a.take();
  a.call("2");
  child.say(kLog);
  EXPECT_EQ(a.take(), Texts{kLog});
}

TEST(McpAbandonedCalls, ASessionThatHasGoneIsNotAnother) {
  SharedBench bench(1);
  auto a = std::make_unique<SharedClient>(bench);
  a->call("1");
  a->close();
  a.reset();
  SharedClient b(bench);  // takes the place of the first session
  b.call("1");
  bench.child(0).say(kLog);
  EXPECT_TRUE(b.take().empty());
}

TEST(McpAbandonedCalls, ABrokenOrOversizedLateAnswerIsOne) {
  for (const bool oversized : {false, true}) {
    SharedBench bench(1);
    SharedClient a(bench);
    SharedClient b(bench);
    FakeChild& child = bench.child(0);
    a.call("1");
    const std::string id = child.take_ids().at(0);
    a.send(cancelled("1"));
    b.call("1");
    child.say(kLog);
    EXPECT_TRUE(b.take().empty());
    const std::string body =
        oversized ? R"("result":")" + std::string(shared_mcp_options(1).limits.message, 'x') + '"'
                  : std::string(R"("result":1,"error":2)");
    child.say(R"({"jsonrpc":"2.0","id":)" + id + "," + body + "}");
    child.say(kLog);
    EXPECT_EQ(b.take(), Texts{kLog}) << oversized;
  }
}

// Of so many abandoned calls the gateway knows when all of them have ended. With one more it does
// not know, and log messages of the child reach nobody.
TEST(McpAbandonedCalls, AreBounded) {
  for (const size_t count :
       {pool::AbandonedCalls::kMaxEntries, pool::AbandonedCalls::kMaxEntries + 1}) {
    backend::BackendOptions options = shared_mcp_options(1);
    options.config.pool.max_in_flight = 1000;
    SharedBench bench(options);
    SharedClient a(bench);
    SharedClient b(bench);
    FakeChild& child = bench.child(0);
    for (size_t i = 0; i < count; ++i) a.call(std::to_string(i));
    const Texts ids = child.take_ids();
    ASSERT_EQ(ids.size(), count);
    a.close();
    for (const std::string& id : ids) child.answer(id);
    b.call("1");
    child.say(kLog);
    EXPECT_EQ(b.take().size(), count == pool::AbandonedCalls::kMaxEntries ? 1U : 0U);
  }
}

}  // namespace
}  // namespace stdgate::test
