// Sessions with a child of their own: how a session ends, how its child does, and what becomes of
// the calls.

#include <functional>

#include "gateway/lsp/lsp_dialect.h"
#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

std::vector<std::string> outcomes(const BackendBench& bench) {
  std::vector<std::string> outcomes;
  for (const auto& record : bench.observer.records) outcomes.push_back(record.outcome);
  return outcomes;
}

// --- The client leaves ----------------------------------------------------------------------

TEST(SessionClose, ItsCallsAreCancelledAndItsChildDismissed) {
  backend::BackendOptions options = session_options(3);
  options.config.pool.max_in_flight = 1;
  BackendBench bench(options);
  FakeSession session(bench.callers);
  FakeSession other(bench.callers);
  bench.open(session);
  bench.open(other);
  bench.child(0).start();
  bench.child(1).start();
  bench.call(session, "1");
  bench.call(session, "2");
  bench.send(session, note_text("n"));
  bench.call(other, "3");
  const std::string id = bench.child(0).take_ids().at(0);
  bench.close(session);
  EXPECT_THAT(bench.child(0).ends(), ElementsAre(seconds(1))) << "half of grace, twice";
  EXPECT_THAT(outcomes(bench), ElementsAre("cancelled", "cancelled"));
  EXPECT_EQ(bench.observer.sessions, 1);
  EXPECT_EQ(bench.backend.calls(), 1U);
  EXPECT_EQ(bench.status().queued, 0U);
  bench.child(0).answer(id);
  bench.child(0).say(note_text("late"));
  bench.child(0).say("good bye");
  EXPECT_THAT(bench.log.lines, Each(Not(StartsWith("child output dropped"))))
      << "one that has been asked to go may say anything";
  EXPECT_EQ(bench.observer.dropped[DropReason::unknown_id], 1);
  EXPECT_EQ(bench.observer.dropped[DropReason::no_listener], 1);
  EXPECT_THAT(session.take(), IsEmpty());
  EXPECT_FALSE(session.end.has_value());
  EXPECT_THAT(bench.child(1).ends(), IsEmpty());
  bench.child(0).exit(0);
  EXPECT_EQ(bench.observer.exits, std::vector{ExitReason::asked});
  EXPECT_EQ(bench.status().failures, 0U);
  bench.child(1).answer(bench.child(1).take_ids().at(0));
  EXPECT_THAT(other.take(), ElementsAre(result_text("3")));
}

TEST(SessionClose, BeforeTheChildIsReady) {
  BackendBench bench(session_options(2));
  FakeSession session(bench.callers);
  bench.open(session);
  bench.call(session);
  bench.close(session);
  EXPECT_THAT(bench.child(0).ends(), ElementsAre(seconds(1)));
  EXPECT_THAT(outcomes(bench), ElementsAre("cancelled"));
  bench.child(0).start();
  EXPECT_THAT(bench.child(0).take_lines(), IsEmpty());
  bench.child(0).die(15);
  EXPECT_EQ(bench.launcher.launched(), 1U);
  EXPECT_EQ(bench.status().failures, 0U);
}

TEST(SessionClose, BeforeThereIsAChild) {
  BackendBench bench(session_options(1));
  FakeSession old(bench.callers);
  FakeSession session(bench.callers);
  bench.open(old);
  bench.start_child();
  bench.close(old);
  bench.open(session);
  bench.call(session);
  bench.close(session);
  EXPECT_THAT(outcomes(bench), ElementsAre("cancelled"));
  bench.child(0).exit(0);
  EXPECT_EQ(bench.launcher.launched(), 1U) << "nobody waits for a child any more";
}

TEST(SessionClose, ASecondTimeDoesNothing) {
  BackendBench bench(session_options(2));
  FakeSession session(bench.callers);
  FakeSession next(bench.callers);
  bench.open(session);
  bench.close(session);
  bench.open(next);
  ASSERT_EQ(session.id.index, next.id.index);
  bench.close(session);
  bench.backend.hold_child(session.id, true);
  EXPECT_EQ(bench.observer.sessions, 1);
  EXPECT_EQ(bench.status().sessions, 1U);
  bench.child(0).exit(0);
  FakeChild& child = bench.start_child();
  EXPECT_TRUE(child.is_read());
}

// --- The child goes -------------------------------------------------------------------------

TEST(SessionChildGone, CallsAreFaultedOnceAndTheSessionEnds) {
  struct Row {
    const char* what;
    std::function<void(BackendBench&)> happen;
    ExitReason reason;
    const char* message;
  };
  const std::vector<Row> rows = {
      {"killed", [](BackendBench& b) { b.child(0).die(9); }, ExitReason::signal, "signal 9"},
      {"exit 3", [](BackendBench& b) { b.child(0).exit(3); }, ExitReason::exit_nonzero, "code 3"},
      {"exit 0", [](BackendBench& b) { b.child(0).exit(0); }, ExitReason::exit_zero, "code 0"},
      {"output closed",
       [](BackendBench& b) {
         b.child(0).close_output();
         b.advance(milliseconds(100));
         EXPECT_THAT(b.child(0).ends(), ElementsAre(seconds(2), seconds(0)));
         b.child(0).die(9);
       },
       ExitReason::broken_output, "closed its output"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    backend::BackendOptions options = session_options(2);
    options.config.pool.max_in_flight = 2;
    BackendBench bench(options);
    FakeSession session(bench.callers);
    bench.open(session);
    bench.start_child();
    for (const char* id : {"1", "2", "3"}) bench.call(session, id);
    row.happen(bench);
    EXPECT_THAT(outcomes(bench), ElementsAre("child_failed", "child_failed", "child_failed"));
    EXPECT_EQ(session.take().size(), 3U);
    EXPECT_EQ(session.end, session::SessionEnd::failed);
    EXPECT_THAT(session.end_message, HasSubstr(row.message));
    EXPECT_EQ(bench.observer.exits, std::vector{row.reason});
    EXPECT_EQ(bench.status().failures, 1U);
    EXPECT_EQ(bench.observer.sessions, 1) << "it is there until its client closes it";

    bench.call(session, "4");
    const auto answers = session.take();
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_THAT(answers[0], HasSubstr("child has gone"));
    EXPECT_EQ(bench.send(session, note_text("n")), backend::Admission::refused_overloaded);
    bench.advance(seconds(20));
    EXPECT_EQ(bench.backend.calls(), 0U);
    bench.close(session);
    EXPECT_THAT(session.take(), IsEmpty());
    EXPECT_EQ(bench.observer.started, 4U);
    EXPECT_EQ(bench.observer.records.size(), 4U);
  }
}

TEST(SessionChildGone, OnItsOwnAccountWithNothingToDoIsNoFailure) {
  BackendBench bench(session_options(2));
  FakeSession session(bench.callers);
  bench.open(session);
  FakeChild& child = bench.start_child();
  bench.call(session);
  child.answer(child.take_ids().at(0));
  child.exit(0);
  EXPECT_EQ(session.end, session::SessionEnd::finished);
  EXPECT_EQ(bench.status().failures, 0U);
  EXPECT_EQ(bench.launcher.launched(), 1U);
}

TEST(SessionChildGone, WithACallInFlightIsAFailure) {
  BackendBench bench(session_options(2));
  FakeSession session(bench.callers);
  bench.open(session);
  FakeChild& child = bench.start_child();
  bench.call(session);
  child.exit(0);
  EXPECT_THAT(outcomes(bench), ElementsAre("child_failed"));
  EXPECT_EQ(session.end, session::SessionEnd::failed);
  EXPECT_EQ(bench.status().failures, 1U);
}

TEST(SessionChildGone, WithACallThatWaitsForItIsAFailure) {
  BackendBench bench(session_options(2));
  FakeSession session(bench.callers);
  bench.open(session);
  FakeChild& child = bench.start_child();
  child.stop_reading();
  const std::string big(pool::ChildLink::kHighWatermark, 'x');
  bench.send(session, note_text("big", "[\"" + big + "\"]"));
  bench.call(session);
  ASSERT_EQ(bench.status().queued, 1U);
  child.exit(0);
  EXPECT_THAT(outcomes(bench), ElementsAre("child_failed"));
  EXPECT_EQ(session.end, session::SessionEnd::failed);
  EXPECT_EQ(bench.status().failures, 1U);
}

TEST(SessionChildGone, ItsPlaceIsFreeAtOnce) {
  BackendBench bench(session_options(1));
  FakeSession session(bench.callers);
  FakeSession next(bench.callers);
  bench.open(session);
  bench.start_child().exit(0);
  EXPECT_FALSE(bench.open(next));
  bench.close(session);
}

TEST(SessionChildGone, AWarmOneThatEndsIsAFailure) {
  backend::BackendOptions options = session_options(3);
  options.config.pool.warm = 1;
  BackendBench bench(options);
  bench.start_child().exit(0);
  EXPECT_EQ(bench.status().failures, 1U);
  EXPECT_EQ(bench.launcher.launched(), 1U) << "not at once";
  bench.advance(seconds(1));
  EXPECT_EQ(bench.launcher.launched(), 2U);
}

// --- Idling ---------------------------------------------------------------------------------

TEST(SessionIdle, TheTrialThatNobodyWantsIsEnded) {
  backend::BackendOptions options = session_options(4);
  options.config.protocol = config::Protocol::lsp;
  options.config.pool.idle_timeout = seconds(10);
  BackendBench bench(options, std::make_unique<lsp::LspDialect>());
  FakeSession session(bench.callers);
  bench.open(session);
  bench.child(0).fail_to_start("no");
  bench.close(session);
  bench.advance(seconds(1));
  FakeChild& trial = bench.start_child();
  ASSERT_EQ(bench.launcher.launched(), 2U);
  bench.advance(seconds(9));
  EXPECT_THAT(trial.ends(), IsEmpty());
  bench.advance(seconds(1));
  EXPECT_THAT(trial.ends(), ElementsAre(seconds(2)));
  trial.exit(0);
  EXPECT_EQ(bench.status().failures, 0U);
  EXPECT_EQ(bench.launcher.launched(), 2U);
}

TEST(SessionIdle, LeasedAndWantedWarmChildrenStay) {
  backend::BackendOptions options = session_options(6);
  options.config.pool.warm = 1;
  options.config.pool.idle_timeout = seconds(10);
  BackendBench bench(options);
  FakeSession session(bench.callers);
  bench.open(session);
  FakeClient client(bench.callers);
  bench.call(client);
  ASSERT_EQ(bench.launcher.launched(), 3U);
  for (size_t i = 0; i < 3; ++i) bench.child(i).start();
  bench.child(2).answer(bench.child(2).take_ids().at(0));
  bench.advance(seconds(60));
  EXPECT_THAT(bench.child(0).ends(), IsEmpty()) << "leased";
  EXPECT_THAT(bench.child(1).ends(), IsEmpty()) << "warm";
  EXPECT_THAT(bench.child(2).ends(), ElementsAre(seconds(2))) << "shared";
}

}  // namespace
}  // namespace stdgate::test
