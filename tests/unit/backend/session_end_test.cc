// Sessions with a child of their own: how a session and its child end, and what happens to the
// calls.

#include <functional>

#include "gateway/mcp/mcp_dialect.h"
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

TEST(SessionChildGone, MayExitLongAfterItsOutputWhenNobodyWaits) {
  BackendBench bench(session_options(2));
  FakeSession session(bench.callers);
  bench.open(session);
  FakeChild& child = bench.start_child();
  bench.call(session);
  child.answer(child.take_ids().at(0));
  child.close_output();
  bench.advance(seconds(1));
  child.exit(0);
  EXPECT_EQ(session.end, session::SessionEnd::finished);
  EXPECT_EQ(bench.status().failures, 0U);
}

TEST(SessionChildGone, ButDoesNotStayForEver) {
  BackendBench bench(session_options(2));
  FakeSession session(bench.callers);
  bench.open(session);
  FakeChild& child = bench.start_child();
  child.close_output();
  bench.advance(seconds(2));
  EXPECT_EQ(child.ends().back(), Duration{0});
  child.die(9);
  EXPECT_EQ(session.end, session::SessionEnd::failed);
  EXPECT_THAT(session.end_message, HasSubstr("closed its output"));
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

// --- Nothing comes after the end -------------------------------------------------------------

constexpr const char* kAsk = R"({"jsonrpc":"2.0","id":7,"method":"roots/list"})";
constexpr const char* kTakesBack =
    R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})";

// FakeSession fails the test if it is told anything after its end.
TEST(SessionOver, AChildThatTakesBackWhatItHasAskedIsNotHeard) {
  backend::BackendOptions options = session_options(1);
  options.config.protocol = config::Protocol::mcp;
  options.config.revive = true;
  BackendBench bench(options, std::make_unique<mcp::McpDialect>("1"));
  FakeSession session(bench.callers);
  session.held = session::ClientHold::nothing;  // the session gets its child at once
  bench.open(session);
  FakeChild& child = bench.start_child();
  // A greeting without params cannot be repeated to another child, so the session cannot be parked.
  bench.send(session, R"({"jsonrpc":"2.0","id":1,"method":"initialize"})");
  child.answer(child.take_ids().at(0), "{}");
  child.say(kAsk);
  EXPECT_THAT(session.take(), SizeIs(2));
  FakeSession next(bench.callers);
  next.held = session::ClientHold::nothing;
  EXPECT_FALSE(bench.open(next));
  ASSERT_EQ(session.end, session::SessionEnd::failed);
  // The child has been asked to end, and has not ended yet.
  child.say(kTakesBack);
  child.say(note_text("late"));
  child.say(R"({"jsonrpc":"2.0","id":8,"method":"roots/list"})");
  EXPECT_THAT(session.take(), IsEmpty());
  EXPECT_THAT(child.take_lines(), ElementsAre(HasSubstr("-32601")))
      << "it is told that nobody is there";
  bench.close(session);
  EXPECT_THAT(child.take_lines(), IsEmpty()) << "it has taken its other request back";
}

class SharedSessionOver : public testing::Test {
 protected:
  SharedSessionOver() {
    bench_.open(session_);
    bench_.child(0).start();
    bench_.child(0).answer(bench_.child(0).take_ids().at(0), R"({"protocolVersion":"2025-11-25"})");
    bench_.child(0).take_lines();
  }
  static backend::BackendOptions options() {
    backend::BackendOptions options = plain_options();
    options.config.protocol = config::Protocol::mcp;
    options.config.isolation = config::Isolation::shared;
    options.config.pool.min = options.config.pool.max = options.config.pool.max_in_flight = 1;
    options.config.pool.queue = 4;
    return options;
  }
  void end() { bench_.backend.end_sessions(session::SessionEnd::replaced, "not any more"); }

  BackendBench bench_{options(), std::make_unique<mcp::McpDialect>("1")};
  FakeSession session_{bench_.callers};
};

TEST_F(SharedSessionOver, WhatEverybodyIsToldIsNotForIt) {
  end();
  EXPECT_EQ(session_.end, session::SessionEnd::replaced);
  bench_.child(0).say(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
  EXPECT_EQ(bench_.observer.dropped[DropReason::no_listener], 1);
  EXPECT_THAT(session_.take(), IsEmpty());
}

TEST_F(SharedSessionOver, ItsCallUnderWayIsAnsweredButNothingIsAskedForIt) {
  bench_.call(session_, "1");
  end();
  const std::string id = bench_.child(0).take_ids().at(0);
  bench_.child(0).say(kAsk);
  EXPECT_THAT(bench_.child(0).take_lines(), ElementsAre(HasSubstr("-32601")));
  bench_.child(0).answer(id);
  EXPECT_THAT(session_.take(), ElementsAre(result_text("1")));
}

TEST_F(SharedSessionOver, ItIsNotToldToReadOrToWait) {
  end();
  FakeClient client(bench_.callers);
  for (const char* id : {"1", "2", "3", "4"}) bench_.call(client, id);
  ASSERT_GE(bench_.status().queued, 2U) << "others are told to wait";
}

TEST_F(SharedSessionOver, AnotherReloadDoesNotEndItAgain) {
  end();
  end();
  EXPECT_EQ(session_.end, session::SessionEnd::replaced);
}

// --- Idling ---------------------------------------------------------------------------------

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
