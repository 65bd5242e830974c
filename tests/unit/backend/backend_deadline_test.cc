// Backend: calls that end by their deadline, by a cancel of their client, or because the client
// leaves.

#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

backend::BackendOptions options_for(uint32_t max, uint32_t max_in_flight) {
  backend::BackendOptions options = plain_options();
  options.config.timeout = seconds(10);
  options.config.pool.min = options.config.pool.max = max;
  options.config.pool.max_in_flight = max_in_flight;
  options.config.pool.start_timeout = seconds(300);
  return options;
}

std::string cancel_of(const std::string& id) {
  return R"({"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":)" + id + "}}";
}

TEST(BackendDeadline, ARunningCallGetsTheFaultAndTheChildTheCancel) {
  BackendBench bench(options_for(1, 10));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  bench.call(client, "\"a\"", 1);
  bench.advance(seconds(4));
  bench.call(client, "\"b\"", 2);
  const auto ids = child.take_ids();

  bench.advance(seconds(6) - Duration{1});
  EXPECT_TRUE(client.answers.empty());
  bench.advance(Duration{1});
  EXPECT_THAT(client.texts(),
              ElementsAre(error_text("\"a\"", -32003,
                                     "stdgate gave up: no answer and no sign of life for 10s "
                                     "(backends.fake.timeout)")));
  EXPECT_EQ(client.answers[0].fault, rpc::Fault::timeout);
  EXPECT_EQ(child.take_lines(), std::vector<std::string>{cancel_of(ids[0])});

  child.answer(ids[0]);
  EXPECT_EQ(client.answers.size(), 1U) << "a late answer goes nowhere";
  EXPECT_EQ(bench.observer.dropped[DropReason::unknown_id], 1);

  bench.advance(seconds(4));
  ASSERT_EQ(client.answers.size(), 2U) << "each call has its own deadline";
  EXPECT_EQ(client.answers[1].tag, 2U);
  EXPECT_EQ(child.take_lines(), std::vector<std::string>{cancel_of(ids[1])});
  EXPECT_EQ(bench.status().in_flight, 0U);
}

TEST(BackendDeadline, AQueuedCallGetsTheFaultAndNoChildHearsOfIt) {
  BackendBench bench(options_for(1, 10));
  FakeClient client(bench.callers);
  bench.call(client, "1");
  bench.advance(seconds(1));
  bench.call(client, "2");
  bench.advance(seconds(9));
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(client.answers[0].fault, rpc::Fault::timeout);
  EXPECT_EQ(bench.status().queued, 1U);
  const auto& record = bench.observer.records.at(0);
  EXPECT_EQ(record.queued, Duration(seconds(10)));
  EXPECT_EQ(record.child, Duration{0});
  EXPECT_FALSE(record.reached_child);
  EXPECT_EQ(bench.start_child().take_ids().size(), 1U);
}

TEST(BackendDeadline, TimeInTheQueueCounts) {
  BackendBench bench(options_for(1, 10));
  FakeClient client(bench.callers);
  bench.call(client);
  bench.advance(seconds(7));
  FakeChild& child = bench.start_child();
  const auto ids = child.take_ids();
  bench.advance(seconds(3));
  ASSERT_EQ(client.answers.size(), 1U);
  const auto& record = bench.observer.records.at(0);
  EXPECT_EQ(record.outcome, "timeout");
  EXPECT_EQ(record.total, Duration(seconds(10)));
  EXPECT_EQ(record.queued, Duration(seconds(7)));
  EXPECT_EQ(record.child, Duration(seconds(3)));
  EXPECT_EQ(child.take_lines(), std::vector<std::string>{cancel_of(ids[0])});
}

TEST(BackendDeadline, MakesRoomForWhatWaits) {
  BackendBench bench(options_for(1, 1));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  bench.call(client, "1", 1);
  bench.advance(seconds(5));
  bench.call(client, "2", 2);
  EXPECT_EQ(child.take_ids().size(), 1U);
  bench.advance(seconds(5));
  const auto ids = child.take_ids();
  ASSERT_EQ(ids.size(), 1U);
  child.answer(ids[0]);
  ASSERT_EQ(client.answers.size(), 2U);
  EXPECT_EQ(client.answers[1].tag, 2U);
  EXPECT_FALSE(client.answers[1].fault.has_value());
}

TEST(BackendCancel, IsPassedOnAndTheAnswerIsStillDue) {
  BackendBench bench(options_for(1, 10));
  FakeClient client(bench.callers);
  FakeClient other(bench.callers);
  FakeChild& child = bench.start_child();
  bench.call(other, "1");
  bench.call(client, "1");
  bench.call(client, "\"1\"");
  const auto ids = child.take_ids();
  EXPECT_EQ(bench.send(client, cancel_of("1")), backend::Admission::delivered);
  EXPECT_EQ(child.take_lines(), std::vector<std::string>{cancel_of(ids[1])})
      << "the caller's own, not the equal id of another";
  child.answer(ids[1]);
  EXPECT_EQ(client.answers.size(), 1U);

  for (const char* id : {"1", "1.0", "2", "null"}) {
    EXPECT_EQ(bench.send(client, cancel_of(id)), backend::Admission::dropped) << id;
  }
  EXPECT_EQ(bench.observer.dropped[DropReason::unknown_cancel], 4);
  EXPECT_TRUE(child.take_lines().empty());
  EXPECT_TRUE(other.answers.empty());
}

TEST(BackendLeave, CallsAreCancelledAndNeverAnswered) {
  BackendBench bench(options_for(1, 3));
  FakeClient client(bench.callers);
  FakeClient other(bench.callers);
  FakeChild& child = bench.start_child();
  bench.call(client, "1");
  bench.call(other, "1");
  bench.call(client, "2");
  bench.call(other, "2");   // queued
  bench.call(client, "3");  // queued
  bench.call(other, "3");   // queued
  const auto ids = child.take_ids();
  bench.leave(client);

  const auto lines = child.take_lines();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0], cancel_of(ids[0]));
  EXPECT_EQ(lines[1], cancel_of(ids[2]));
  EXPECT_EQ(bench.status().queued, 0U) << "the others' calls take the places";
  EXPECT_EQ(bench.status().in_flight, 3U);
  ASSERT_EQ(bench.observer.records.size(), 3U);
  for (const auto& record : bench.observer.records) {
    EXPECT_EQ(record.outcome, "cancelled");
    EXPECT_EQ(record.bytes_out, 0U);
    EXPECT_EQ(record.detail, "the client has left");
  }
  EXPECT_FALSE(bench.observer.records[0].reached_child) << "queued ones come first";
  EXPECT_TRUE(bench.observer.records[1].reached_child);

  child.answer(ids[0]);
  child.answer(ids[2]);
  EXPECT_EQ(bench.observer.dropped[DropReason::unknown_id], 2);
  EXPECT_TRUE(client.answers.empty());
  child.answer(ids[1]);
  EXPECT_EQ(other.answers.size(), 1U);
}

TEST(BackendLeave, AnOriginThatIsUsedAgainGetsNothingOfTheOld) {
  BackendBench bench(options_for(1, 10));
  FakeChild& child = bench.start_child();
  {
    FakeClient client(bench.callers);
    bench.call(client, "1");
  }  // the client leaves without a cancel
  std::vector<std::unique_ptr<FakeClient>> later;
  for (int i = 0; i < 1000; ++i) later.push_back(std::make_unique<FakeClient>(bench.callers));
  child.answer(child.take_ids().at(0));
  for (const auto& client : later) EXPECT_TRUE(client->answers.empty());
  EXPECT_EQ(bench.observer.dropped[DropReason::caller_gone], 1);
  EXPECT_EQ(bench.observer.records.size(), 1U);
}

// --- Children that have stopped answering ----------------------------------------------------

TEST(BackendHungChild, IsReplacedAfterThreeSilentDeadlines) {
  BackendBench bench(options_for(1, 10));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  for (int i = 0; i < 2; ++i) {
    bench.call(client);
    bench.advance(seconds(10));
    EXPECT_TRUE(child.ends().empty());
  }
  bench.call(client, "1", 1);
  bench.advance(seconds(9));
  bench.call(client, "2", 2);
  bench.advance(seconds(1));
  EXPECT_EQ(child.ends(), std::vector<Duration>{bench.backend.grace()});
  ASSERT_EQ(client.answers.size(), 4U);
  EXPECT_EQ(client.answers[2].tag, 1U);
  EXPECT_EQ(client.answers[2].fault, rpc::Fault::timeout);
  EXPECT_EQ(client.answers[3].tag, 2U);
  EXPECT_EQ(client.answers[3].fault, rpc::Fault::child_failed) << "it was to wait for a hung child";

  bench.call(client, "3", 3);
  child.die(9);
  EXPECT_EQ(bench.observer.exits, std::vector<ExitReason>{ExitReason::hung});
  bench.advance(seconds(1));
  ASSERT_EQ(bench.launcher.launched(), 2U);
  FakeChild& next = bench.start_child();
  next.answer(next.take_ids().at(0));
  EXPECT_EQ(client.answers.back().tag, 3U);
  EXPECT_FALSE(client.answers.back().fault.has_value());
}

TEST(BackendHungChild, OutputBetweenTheDeadlinesIsASignOfLife) {
  BackendBench bench(options_for(1, 10));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  for (int i = 0; i < 10; ++i) {
    bench.call(client);
    bench.advance(seconds(10));
    if (i % 2 == 1) child.output(" ");
  }
  EXPECT_TRUE(child.ends().empty());
}

TEST(BackendHungChild, SlowCallsOfATalkingChildDoNotCount) {
  BackendBench bench(options_for(1, 20));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  for (int i = 0; i < 5; ++i) bench.call(client, "\"slow\"");
  for (int i = 0; i < 19; ++i) {
    bench.advance(milliseconds(500));
    bench.call(client, "\"quick\"");
    child.answer(child.take_ids().back());
  }
  bench.advance(milliseconds(500));
  EXPECT_EQ(client.answers.size(), 19U + 5U) << "five have timed out at once";
  EXPECT_TRUE(child.ends().empty()) << "it has just spoken";
}

TEST(BackendHungChild, CancelledCallsNeedNoAnswer) {
  BackendBench bench(options_for(1, 20));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  for (int i = 0; i < 5; ++i) {
    bench.call(client);
    bench.send(client, cancel_of("1"));
    bench.advance(seconds(10));
  }
  EXPECT_EQ(client.answers.size(), 5U);
  EXPECT_EQ(bench.observer.dropped[DropReason::unknown_cancel], 0);
  EXPECT_TRUE(child.ends().empty());
}

TEST(BackendHungChild, IsFoundAlsoWhenItHasNoRoomForCalls) {
  BackendBench bench(options_for(1, 10));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  child.stop_reading();
  bench.send(client, R"({"jsonrpc":"2.0","id":1,"method":"m","params":[")" +
                         std::string(2 << 20, 'x') + "\"]}");
  for (int i = 0; i < 3; ++i) {
    bench.advance(milliseconds(1));
    bench.call(client);
  }
  EXPECT_EQ(bench.status().queued, 3U) << "its stdin is full";
  bench.advance(seconds(10));
  EXPECT_EQ(client.answers.size(), 4U);
  EXPECT_EQ(child.ends().size(), 1U);
}

TEST(BackendHungChild, AChildThatReadsIsNotHung) {
  BackendBench bench(options_for(1, 10));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  const std::string large =
      R"({"jsonrpc":"2.0","id":1,"method":"m","params":[")" + std::string(2 << 20, 'x') + "\"]}";
  for (int i = 0; i < 6; ++i) {
    child.stop_reading();
    bench.send(client, large);
    bench.call(client);
    bench.advance(seconds(5));
    child.drain_stdin();
    bench.advance(seconds(5));
  }
  EXPECT_TRUE(child.ends().empty());
}

}  // namespace
}  // namespace stdgate::test
