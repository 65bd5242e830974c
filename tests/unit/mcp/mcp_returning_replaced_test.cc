// A child that is to be replaced, and to which clients come back.

#include "tests/unit/mcp/returning_bench.h"

namespace stdgate::test {
namespace {

// A child is replaced after two calls, and there is room for its successor.
class ReplacedReturns : public Returns {
 protected:
  static backend::BackendOptions options(size_t max_memory = 0) {
    backend::BackendOptions options = returning_options(1);
    options.config.timeout = std::chrono::seconds(20);
    options.config.pool.idle_timeout = std::chrono::hours(10);
    options.config.pool.max_calls = max_memory == 0 ? 2 : 0;
    options.config.pool.max_memory = max_memory;
    return options;
  }
  explicit ReplacedReturns(const backend::BackendOptions& options = ReplacedReturns::options())
      : Returns(options) {}
  // Makes the successor ready.
  void succeed() {
    bench.settle();
    ASSERT_EQ(bench.launcher.launched(), 2U);
    bench.begin(1, kTaskDiscovery);
    bench.settle();
  }
  [[nodiscard]] bool has_ended() { return !bench.child(0).ends().empty(); }
};

TEST_F(ReplacedReturns, StayForATaskBeyondAnOverdueCall) {
  const std::string task = give_task(0, R"(,"ttlMs":600000)");
  const std::string token = R"(,"progressToken":"p")";
  bench.send_modern(client, request("2", "tools/call", R"("name":"t")", meta(kTasks, token)), who);
  const std::string sent = bench.child(0).take_line();
  const size_t at = sent.find(R"("progressToken":)") + 16;
  const std::string own = sent.substr(at, sent.find_first_of(",}", at) - at);
  succeed();
  for (int i = 0; i < 30; ++i) {
    bench.advance(std::chrono::seconds(10));
    bench.child(0).say(note("progress", R"({"progress":1,"progressToken":)" + own + "}"));
    ASSERT_FALSE(has_ended()) << "after " << i << " times half of a call's time";
  }
  get(task);
  EXPECT_THAT(bench.child(0).take_line(), HasSubstr(R"("taskId":"t1")"));
  for (int i = 0; i < 33; ++i) {
    bench.advance(std::chrono::seconds(10));
    bench.child(0).say(note("progress", R"({"progress":1,"progressToken":)" + own + "}"));
  }
  EXPECT_TRUE(has_ended()) << "the task's time to live is over, and then a call's";
}

// The child has long stopped taking other calls, so the retry is its only work.
TEST_F(ReplacedReturns, ARetryHasItsWholeTimeHoweverLateItComes) {
  const std::string state = give_state(0);
  bench.send_modern(client, request("2", "tools/call", R"("name":"t")", meta(kTasks)), who);
  answer(0, R"({"resultType":"complete"})");
  succeed();
  bench.advance(std::chrono::seconds(25));
  ASSERT_FALSE(has_ended());
  come_back(state);
  bench.advance(std::chrono::seconds(15));
  ASSERT_FALSE(has_ended()) << "its call is under way";
  const size_t answered = client.answers.size();
  answer(0, R"({"resultType":"complete"})");
  ASSERT_EQ(client.answers.size(), answered + 1);
  EXPECT_FALSE(client.answers.back().fault);
  bench.advance(std::chrono::seconds(2));
  EXPECT_TRUE(has_ended());
}

class LargeReturns : public ReplacedReturns {
 protected:
  LargeReturns() : ReplacedReturns(options(1000)) {}
};

TEST_F(LargeReturns, StayForAStateAsLongAsForACall) {
  const std::string state = give_state(0);
  bench.child(0).use_memory(2000);
  succeed();
  bench.advance(std::chrono::seconds(15));
  ASSERT_FALSE(has_ended());
  come_back(state);
  answer(0, R"({"resultType":"complete"})");
  bench.advance(std::chrono::seconds(2));
  EXPECT_TRUE(has_ended()) << "nothing is open any more";
}

TEST_F(LargeReturns, StayForATaskUntilItIsOver) {
  give_task(0, R"(,"ttlMs":600000)");
  bench.child(0).use_memory(2000);
  succeed();
  bench.advance(std::chrono::seconds(590));
  EXPECT_FALSE(has_ended());
  bench.advance(std::chrono::seconds(12));
  EXPECT_TRUE(has_ended());
}

TEST_F(LargeReturns, ServeOnWhereThereIsNoRoomForASuccessor) {
  backend::BackendOptions one = options(1000);
  one.config.pool.max = 1;
  ModernBench alone(one);
  FakeClient caller(alone.callers);
  const auto call = [&](const char* id) {
    alone.send_modern(caller, request(id, "tools/call", R"("name":"t")", meta(kTasks)));
  };
  alone.begin(0, kTaskDiscovery);
  call("1");
  FakeChild& child = alone.child(0);
  child.answer(parse_asked(child.take_line()).id,
               R"({"resultType":"task","taskId":"t1","status":"working","ttlMs":600000})");
  child.use_memory(2000);
  alone.advance(std::chrono::seconds(60));
  EXPECT_THAT(child.ends(), IsEmpty());
  EXPECT_THAT(alone.observer.waits, ElementsAre(ReplaceReason::memory)) << "once";
  EXPECT_THAT(alone.observer.replaced, IsEmpty());
  EXPECT_EQ(alone.status().children.at(0).waits_for, pool::ReplaceWait::work);
  ASSERT_NE(alone.log.find("child serves on"), nullptr);
  call("2");
  child.answer(parse_asked(child.take_line()).id, R"({"resultType":"complete"})");
  EXPECT_THAT(child.ends(), IsEmpty());
  alone.advance(std::chrono::seconds(541));
  EXPECT_THAT(child.ends(), SizeIs(1)) << "at the first moment without open work";
  EXPECT_THAT(alone.observer.replaced, ElementsAre(ReplaceReason::memory));
}

}  // namespace
}  // namespace stdgate::test
