// Backend: idle children, shutdown, and the status that it reports.

#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

backend::BackendOptions idle_options(uint32_t min, uint32_t max) {
  backend::BackendOptions options = plain_options();
  options.config.timeout = seconds(10);
  options.config.pool.min = min;
  options.config.pool.max = max;
  options.config.pool.max_in_flight = 2;
  options.config.pool.idle_timeout = seconds(60);
  return options;
}

TEST(BackendIdle, ChildrenAboveTheMinimumAreEnded) {
  BackendBench bench(idle_options(1, 3));
  FakeClient client(bench.callers);
  bench.start_child();
  for (size_t i = 0; i < 6; ++i) {
    bench.call(client);
    if (bench.launcher.launched() > i / 2 + 1) bench.start_child();
  }
  ASSERT_EQ(bench.launcher.launched(), 3U);
  bench.child(1).start();
  bench.child(2).start();
  for (size_t i = 0; i < 3; ++i) answer_all(bench.child(i));
  bench.advance(seconds(60) - Duration{1});
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(bench.child(i).ends().empty());
  bench.advance(Duration{1});
  size_t ended = 0;
  for (size_t i = 0; i < 3; ++i) ended += bench.child(i).ends().size();
  EXPECT_EQ(ended, 2U);
  for (size_t i = 0; i < 3; ++i) {
    if (!bench.child(i).ends().empty()) {
      EXPECT_EQ(bench.child(i).ends()[0], bench.backend.grace());
      bench.child(i).exit(0);
    }
  }
  bench.advance(seconds(1000));
  EXPECT_EQ(bench.launcher.running(), 1U) << "the minimum is kept";
  EXPECT_EQ(bench.launcher.launched(), 3U);
  const std::vector<ExitReason> asked(2, ExitReason::asked);
  EXPECT_EQ(bench.observer.exits, asked);
  EXPECT_EQ(bench.status().failures, 0U);
}

TEST(BackendIdle, WorkPutsItOff) {
  BackendBench bench(idle_options(0, 1));
  FakeClient client(bench.callers);
  bench.call(client);
  FakeChild& child = bench.start_child();
  answer_all(child);
  for (int i = 0; i < 5; ++i) {
    bench.advance(seconds(50));
    bench.call(client);
    answer_all(child);
  }
  EXPECT_TRUE(child.ends().empty());
  bench.advance(seconds(60));
  EXPECT_EQ(child.ends().size(), 1U);
}

TEST(BackendIdle, AChildWithACallIsNotIdle) {
  backend::BackendOptions options = idle_options(0, 1);
  options.config.timeout = seconds(600);
  BackendBench bench(options);
  FakeClient client(bench.callers);
  bench.call(client);
  FakeChild& child = bench.start_child();
  bench.advance(seconds(500));
  EXPECT_TRUE(child.ends().empty());
  answer_all(child);
  bench.advance(seconds(60));
  EXPECT_EQ(child.ends().size(), 1U);
}

TEST(BackendIdle, BeginsAlsoWithACallThatWasGivenUp) {
  {
    BackendBench bench(idle_options(0, 1));
    FakeClient client(bench.callers);
    bench.call(client);
    FakeChild& child = bench.start_child();
    bench.advance(seconds(10));
    ASSERT_EQ(client.answers.size(), 1U) << "timed out";
    bench.advance(seconds(60));
    EXPECT_EQ(child.ends().size(), 1U);
  }
  {
    BackendBench bench(idle_options(0, 1));
    FakeClient client(bench.callers);
    bench.call(client);
    FakeChild& child = bench.start_child();
    bench.leave(client);
    bench.advance(seconds(60));
    EXPECT_EQ(child.ends().size(), 1U);
  }
}

TEST(BackendIdle, AChildThatWasAskedToGoHasItsWholeGrace) {
  BackendBench bench(idle_options(0, 1));
  FakeClient client(bench.callers);
  bench.call(client);
  FakeChild& child = bench.start_child();
  answer_all(child);
  bench.advance(seconds(60));
  ASSERT_EQ(child.ends(), std::vector<Duration>{bench.backend.grace()});
  child.close_output();
  bench.advance(seconds(1));
  EXPECT_EQ(child.ends(), std::vector<Duration>{bench.backend.grace()});
  child.exit(0);
  EXPECT_EQ(bench.observer.exits, std::vector<ExitReason>{ExitReason::asked});
}

// --- Shutdown --------------------------------------------------------------------------------

TEST(BackendDrain, RefusesNewCallsAndFinishesTheOthers) {
  BackendBench bench(idle_options(1, 1));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  for (session::Tag tag = 0; tag < 3; ++tag) bench.call(client, "1", tag);
  bench.backend.drain();
  EXPECT_FALSE(bench.status().ready);
  EXPECT_EQ(bench.status().reason, "shutting down");
  bench.call(client, "1", 9);
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(client.answers[0].tag, 9U);
  EXPECT_EQ(client.answers[0].fault, rpc::Fault::overloaded);
  EXPECT_EQ(bench.send(client, R"({"jsonrpc":"2.0","method":"note"})"),
            backend::Admission::refused_overloaded);
  EXPECT_EQ(bench.backend.calls(), 3U);
  answer_all(child);
  answer_all(child);
  EXPECT_EQ(client.answers.size(), 4U);
  EXPECT_EQ(bench.backend.calls(), 0U);
  bench.backend.end_children(seconds(2));
  EXPECT_EQ(child.ends(), std::vector<Duration>{seconds(2)});
  EXPECT_TRUE(bench.backend.has_children());
  child.exit(0);
  EXPECT_FALSE(bench.backend.has_children());
  bench.advance(seconds(100));
  EXPECT_EQ(bench.launcher.launched(), 1U) << "nothing is started any more";
}

TEST(BackendDrain, AQueuedCallStillGetsAChild) {
  BackendBench bench(idle_options(0, 1));
  FakeClient client(bench.callers);
  bench.call(client);
  bench.backend.drain();
  answer_all(bench.start_child());
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_FALSE(client.answers[0].fault.has_value());
}

TEST(BackendDrain, FailsWhatIsLeft) {
  BackendBench bench(idle_options(1, 1));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  for (session::Tag tag = 0; tag < 5; ++tag) bench.call(client, "1", tag);
  bench.backend.drain();
  bench.backend.fail_calls(rpc::faults::shutting_down());
  ASSERT_EQ(client.answers.size(), 5U);
  for (const auto& answer : client.answers) EXPECT_EQ(answer.fault, rpc::Fault::overloaded);
  EXPECT_EQ(bench.backend.calls(), 0U);
  answer_all(child);
  EXPECT_EQ(client.answers.size(), 5U) << "late";
}

TEST(BackendDrain, EndedChildrenAreNotReplacedWhateverWaits) {
  BackendBench bench(idle_options(2, 2));
  FakeClient client(bench.callers);
  bench.child(0).start();
  bench.child(1).start();
  for (session::Tag tag = 0; tag < 6; ++tag) bench.call(client, "1", tag);
  bench.backend.drain();
  bench.backend.end_children(Duration{0});
  bench.child(0).die(9);
  bench.child(1).die(9);
  EXPECT_EQ(client.answers.size(), 6U);
  bench.advance(seconds(100));
  EXPECT_EQ(bench.launcher.launched(), 2U);
  EXPECT_FALSE(bench.backend.has_children());
}

// --- Status ----------------------------------------------------------------------------------

TEST(BackendStatusReport, NamesWhatIsMissing) {
  BackendBench bench(idle_options(1, 1));
  EXPECT_FALSE(bench.status().ready);
  EXPECT_EQ(bench.status().reason, "no child is ready yet");
  EXPECT_EQ(bench.status().children.at(0).state, ChildState::starting);
  bench.start_child();
  EXPECT_TRUE(bench.status().ready);
  EXPECT_EQ(bench.status().reason, "");

  BackendBench lazy(idle_options(0, 1));
  EXPECT_TRUE(lazy.status().ready) << "children come with the calls";
  EXPECT_TRUE(lazy.status().children.empty());
}

TEST(BackendStatusReport, CountsCallsQueueAndChildren) {
  BackendBench bench(idle_options(1, 1));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  bench.advance(seconds(3));
  for (int i = 0; i < 5; ++i) bench.call(client);
  child.stop_reading();
  child.answer(child.take_ids().at(0));
  const pool::BackendStatus status = bench.status();
  EXPECT_EQ(status.name, "fake");
  EXPECT_EQ(status.in_flight, 2U);
  EXPECT_EQ(status.queued, 2U);
  EXPECT_EQ(status.queued_bytes,
            2 * std::string(R"({"jsonrpc":"2.0","id":1,"method":"m"})").size());
  ASSERT_EQ(status.children.size(), 1U);
  EXPECT_EQ(status.children[0].number, 1U);
  EXPECT_EQ(status.children[0].pid, child.pid());
  EXPECT_EQ(status.children[0].state, ChildState::busy);
  EXPECT_EQ(status.children[0].in_flight, 2U);
  EXPECT_EQ(status.children[0].calls, 3U);
  EXPECT_EQ(status.children[0].unsent_bytes, child.unsent());
  EXPECT_EQ(status.children[0].age, Duration(seconds(3)));
  EXPECT_EQ(bench.backend.calls(), 4U);
}

TEST(BackendRecord, TimesAndBytesAreExact) {
  BackendBench bench(idle_options(0, 1));
  FakeClient client(bench.callers);
  const std::string request = R"({"jsonrpc":"2.0","id":"long id","method":"m"})";
  bench.send(client, request);
  bench.advance(milliseconds(1500));
  FakeChild& child = bench.start_child();
  bench.advance(milliseconds(250));
  answer_all(child);
  ASSERT_EQ(bench.observer.records.size(), 1U);
  const auto& record = bench.observer.records[0];
  EXPECT_EQ(record.method, "m");
  EXPECT_EQ(record.outcome, "ok");
  EXPECT_EQ(record.total, Duration(milliseconds(1750)));
  EXPECT_EQ(record.queued, Duration(milliseconds(1500)));
  EXPECT_EQ(record.child, Duration(milliseconds(250)));
  EXPECT_TRUE(record.reached_child);
  EXPECT_EQ(record.id, "\"long id\"");
  EXPECT_EQ(record.bytes_in, request.size());
  EXPECT_EQ(record.bytes_out, client.answers.at(0).text.size());
  EXPECT_EQ(record.detail, "");
  EXPECT_EQ(bench.observer.started, 1U);
}

TEST(BackendRecord, ChildStatesAddUp) {
  BackendBench bench(idle_options(2, 2));
  FakeClient client(bench.callers);
  bench.child(0).start();
  EXPECT_EQ(bench.observer.states[ChildState::starting], 1);
  EXPECT_EQ(bench.observer.states[ChildState::ready], 1);
  bench.call(client);
  bench.call(client);
  EXPECT_EQ(bench.observer.states[ChildState::busy], 1);
  bench.child(0).die(9);
  bench.child(1).fail_to_start("no");
  EXPECT_EQ(bench.observer.states[ChildState::starting], 0);
  EXPECT_EQ(bench.observer.states[ChildState::ready], 0);
  EXPECT_EQ(bench.observer.states[ChildState::busy], 0);
}

// A waiting call takes each place that an answer frees, before the child's state is reported.
TEST(BackendRecord, AChildThatIsFilledAgainAtOnceStaysBusy) {
  BackendBench bench(idle_options(1, 1));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  for (int i = 0; i < 5; ++i) bench.call(client);
  EXPECT_EQ(bench.observer.states[ChildState::busy], 1);
  const size_t changes = bench.observer.state_changes;
  std::vector<std::string> ids;
  const auto answer_oldest = [&] {
    for (const std::string& id : child.take_ids()) ids.push_back(id);
    child.answer(ids.at(0));
    ids.erase(ids.begin());
  };
  for (int i = 0; i < 3; ++i) answer_oldest();
  EXPECT_EQ(bench.observer.state_changes, changes);
  while (client.answers.size() < 5) answer_oldest();
  EXPECT_EQ(bench.observer.states[ChildState::busy], 0);
  EXPECT_EQ(bench.observer.states[ChildState::ready], 1);
  EXPECT_EQ(bench.observer.state_changes, changes + 1);
}

}  // namespace
}  // namespace stdgate::test
