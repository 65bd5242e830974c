// Children that are replaced for their age, their calls or their memory.

#include <algorithm>
#include <memory>

#include "gateway/mcp/mcp_dialect.h"
#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

constexpr const char* kHandshakeResult =
    R"({"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}})";

backend::BackendOptions worn_options(uint32_t min, uint32_t max) {
  backend::BackendOptions options = plain_options();
  options.config.timeout = seconds(60);
  options.config.pool.min = min;
  options.config.pool.max = max;
  options.config.pool.idle_timeout = hours(10);
  return options;
}

// Sends a call, which `child` answers.
void serve(BackendBench& bench, FakeClient& client, FakeChild& child) {
  bench.call(client);
  const std::vector<std::string> ids = child.take_ids();
  ASSERT_THAT(ids, SizeIs(1));
  child.answer(ids[0]);
}

auto faults(const FakeClient& client) {
  return std::ranges::count_if(client.answers, [](const auto& one) { return bool(one.fault); });
}

TEST(Replacement, TheSuccessorComesFirst) {
  backend::BackendOptions options = worn_options(1, 2);
  options.config.pool.max_calls = 3;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  FakeChild& first = bench.start_child();
  for (int i = 0; i < 3; ++i) serve(bench, client, first);
  EXPECT_EQ(bench.launcher.launched(), 1U) << "what has to be done is done after the turn";
  bench.settle();
  ASSERT_EQ(bench.launcher.launched(), 2U);
  EXPECT_EQ(bench.observer.starts.back(), StartReason::successor);
  serve(bench, client, first);
  EXPECT_THAT(first.ends(), IsEmpty()) << "it serves until its successor is ready";
  bench.call(client, "\"slow\"");
  FakeChild& second = bench.start_child();
  bench.settle();
  EXPECT_THAT(first.ends(), IsEmpty()) << "it has a call";
  EXPECT_EQ(bench.observer.replaced, std::vector{ReplaceReason::calls});
  serve(bench, client, second);
  first.answer(first.take_ids().at(0));
  bench.settle();
  EXPECT_THAT(first.ends(), SizeIs(1));
  first.exit(0);
  bench.advance(seconds(5));
  EXPECT_EQ(bench.observer.exits, std::vector{ExitReason::asked});
  EXPECT_EQ(bench.launcher.launched(), 2U);
  EXPECT_EQ(faults(client), 0);
  EXPECT_NE(bench.log.find("child replaced"), nullptr);
  bench.backend.check_invariants();
}

TEST(Replacement, WithoutRoomForASuccessorCallsWait) {
  backend::BackendOptions options = worn_options(1, 1);
  options.config.pool.max_calls = 2;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  FakeChild& first = bench.start_child();
  serve(bench, client, first);
  bench.call(client, "\"slow\"");
  bench.advance(seconds(1));
  bench.call(client, "\"next\"");
  const auto ids = first.take_ids();
  ASSERT_THAT(ids, SizeIs(1)) << "it takes no more calls";
  EXPECT_EQ(bench.status().queued, 1U);
  first.answer(ids[0]);
  bench.advance(seconds(1));
  EXPECT_THAT(first.ends(), SizeIs(1));
  first.exit(0);
  bench.advance(seconds(1));
  ASSERT_EQ(bench.launcher.launched(), 2U);
  FakeChild& second = bench.start_child();
  second.answer(second.take_ids().at(0));
  EXPECT_THAT(client.answers, SizeIs(3));
  EXPECT_EQ(faults(client), 0);
}

TEST(Replacement, OneAfterTheOtherWhereThereIsNoRoom) {
  backend::BackendOptions options = worn_options(2, 2);
  options.config.pool.max_age = minutes(10);
  BackendBench bench(options);
  bench.child(0).start();
  bench.child(1).start();
  bench.advance(minutes(10) + seconds(1));
  const size_t asked = bench.child(0).ends().size() + bench.child(1).ends().size();
  EXPECT_EQ(asked, 1U) << "one serves on";
  FakeChild& first = bench.child(bench.child(0).ends().empty() ? 1 : 0);
  FakeChild& other = bench.child(bench.child(0).ends().empty() ? 0 : 1);
  bench.advance(seconds(5));
  EXPECT_THAT(other.ends(), IsEmpty());
  first.exit(0);
  bench.advance(seconds(1));
  ASSERT_EQ(bench.launcher.launched(), 3U);
  bench.advance(seconds(2));
  EXPECT_THAT(other.ends(), IsEmpty()) << "nobody else serves yet";
  bench.start_child();
  bench.advance(seconds(2));
  EXPECT_THAT(other.ends(), SizeIs(1));
  EXPECT_EQ(bench.observer.replaced, (std::vector{ReplaceReason::age, ReplaceReason::age}));
}

TEST(Replacement, ForItsMemoryAsLastSeen) {
  backend::BackendOptions options = worn_options(1, 2);
  options.config.pool.max_memory = 1000;
  BackendBench bench(options);
  FakeChild& first = bench.start_child();
  first.use_memory(1000);
  bench.settle();
  EXPECT_EQ(bench.launcher.launched(), 1U);
  EXPECT_EQ(bench.status().children.at(0).memory, 1000U);
  first.use_memory(1001);
  bench.settle();
  ASSERT_EQ(bench.launcher.launched(), 2U);
  EXPECT_EQ(bench.status().children.at(0).replaced_for, ReplaceReason::memory);
  FakeChild& second = bench.start_child();
  bench.advance(seconds(1));
  EXPECT_THAT(first.ends(), SizeIs(1));
  EXPECT_THAT(*bench.log.find("child replaced"), HasSubstr("raise pool.max_memory"));
  // A replacement later than that looks like a leak, so the log gives no advice.
  first.exit(0);
  bench.log.lines.clear();
  bench.advance(minutes(1));
  second.use_memory(1001);
  bench.settle();
  bench.start_child();
  bench.advance(seconds(1));
  ASSERT_NE(bench.log.find("child replaced"), nullptr);
  EXPECT_THAT(*bench.log.find("child replaced"), Not(HasSubstr("advice")));
}

// After the replacement a call may take the timeout in any case, but signs of life do not extend it
// for ever.
TEST(Replacement, ACallThatShowsSignsOfLifeHasTheTimeoutFromThenOn) {
  backend::BackendOptions options = worn_options(1, 2);
  options.config.pool.max_calls = 1;
  options.config.timeout = seconds(20);
  options.config.protocol = config::Protocol::mcp;
  options.config.isolation = config::Isolation::shared;
  BackendBench bench(options, std::make_unique<mcp::McpDialect>("1"));
  FakeClient client(bench.callers);
  FakeChild& first = bench.start_child();
  first.answer(first.take_ids().at(0), kHandshakeResult);
  first.take_lines();
  bench.send(client, R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",)"
                     R"("_meta":{"progressToken":"p"}}})");
  const std::string token = first.take_ids().at(0);
  bench.settle();
  FakeChild& second = bench.start_child();
  second.answer(second.take_ids().at(0), kHandshakeResult);
  for (int i = 0; i < 19; ++i) {
    bench.advance(seconds(1));
    first.say(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)" +
              token + R"(,"progress":1}})");
    ASSERT_THAT(first.ends(), IsEmpty()) << i;
  }
  bench.advance(seconds(3));
  EXPECT_THAT(first.ends(), SizeIs(1));
  first.exit(0);
  EXPECT_EQ(faults(client), 1);
}

// The old child is better than none, unless its memory grows.
TEST(Replacement, AServerThatCannotStartAnyMoreKeepsWhatRuns) {
  for (const bool grows : {false, true}) {
    backend::BackendOptions options = worn_options(1, 2);
    options.config.pool.max_calls = grows ? 0 : 1;
    options.config.pool.max_memory = grows ? 1000 : 0;
    options.config.pool.start_timeout = seconds(5);
    BackendBench bench(options);
    FakeClient client(bench.callers);
    FakeChild& first = bench.start_child();
    serve(bench, client, first);
    first.use_memory(5000);
    for (size_t tried = 1; tried < 4; ++tried) {
      bench.advance(seconds(2));
      if (bench.launcher.launched() > tried) {
        FakeChild& broken = bench.child(bench.launcher.launched() - 1);
        if (broken.running()) broken.fail_to_start("gone");
      }
    }
    bench.advance(seconds(10));
    EXPECT_EQ(first.ends().empty(), !grows);
  }
}

}  // namespace
}  // namespace stdgate::test
