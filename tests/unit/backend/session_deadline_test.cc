// Sessions with a child of their own: deadlines, hanging children, drain and shutdown.

#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

backend::BackendOptions one_at_a_time(uint32_t max) {
  backend::BackendOptions options = session_options(max);
  options.config.pool.max_in_flight = 1;
  return options;
}

TEST(SessionDeadline, OnTheChildAndInItsQueue) {
  BackendBench bench(one_at_a_time(2));
  FakeSession session(bench.callers);
  bench.open(session);
  FakeChild& child = bench.start_child();
  bench.call(session, "1");
  bench.advance(seconds(1));
  bench.call(session, "2");
  bench.advance(seconds(1));
  bench.send(session, note_text("n"));
  bench.call(session, "3");
  const std::string id = child.take_ids().at(0);
  bench.advance(seconds(8));
  EXPECT_THAT(session.take(), ElementsAre(HasSubstr(R"("id":1,"error":{"code":-32003)")));
  EXPECT_EQ(child.take_line(), note_text("$/cancelRequest", "{\"id\":" + id + "}"));
  EXPECT_EQ(child.take_ids().size(), 1U) << "the second has the child now";
  child.output(" ");
  bench.advance(seconds(1));
  EXPECT_THAT(session.take(), ElementsAre(HasSubstr(R"("id":2,"error":{"code":-32003)")));
  const auto lines = child.take_lines();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[0], HasSubstr("$/cancelRequest"));
  EXPECT_EQ(lines[1], note_text("n"));
  bench.advance(seconds(1));
  EXPECT_THAT(session.take(), ElementsAre(HasSubstr(R"("id":3,"error":{"code":-32003)")));
  child.answer(id);
  EXPECT_THAT(session.take(), IsEmpty());
}

TEST(SessionDeadline, WhileTheChildStarts) {
  BackendBench bench(one_at_a_time(2));
  FakeSession session(bench.callers);
  bench.open(session);
  bench.call(session);
  bench.advance(seconds(10));
  EXPECT_EQ(session.take().size(), 1U);
  EXPECT_EQ(bench.status().queued, 0U);
  EXPECT_THAT(bench.start_child().take_lines(), IsEmpty());
}

TEST(SessionDeadline, WhileThereIsNoChild) {
  BackendBench bench(one_at_a_time(1));
  FakeSession old(bench.callers);
  FakeSession session(bench.callers);
  bench.open(old);
  bench.close(old);
  bench.open(session);
  bench.call(session, "1");
  bench.advance(seconds(4));
  bench.call(session, "2");
  bench.advance(seconds(6));
  EXPECT_THAT(session.take(), ElementsAre(HasSubstr(R"("id":1,"error":{"code":-32003)")));
  bench.advance(seconds(4));
  EXPECT_THAT(session.take(), ElementsAre(HasSubstr(R"("id":2,"error":{"code":-32003)")));
  bench.child(0).exit(0);
  EXPECT_THAT(bench.start_child().take_lines(), IsEmpty());
}

TEST(SessionDeadline, OfSeveralSessionsEachAtItsTime) {
  BackendBench bench(one_at_a_time(4));
  FakeSession one(bench.callers);
  FakeSession two(bench.callers);
  bench.open(one);
  bench.open(two);
  bench.call(one);
  bench.advance(seconds(3));
  bench.call(two);
  bench.child(0).start();
  bench.child(1).start();
  bench.advance(seconds(7));
  EXPECT_EQ(one.take().size(), 1U);
  EXPECT_THAT(two.take(), IsEmpty());
  bench.advance(seconds(3));
  EXPECT_EQ(two.take().size(), 1U);
}

// --- Hung children --------------------------------------------------------------------------

TEST(SessionHungChild, IsEndedAfterThreeSilentDeadlines) {
  backend::BackendOptions options = session_options(2);
  options.config.pool.max_in_flight = 4;
  BackendBench bench(options);
  FakeSession session(bench.callers);
  bench.open(session);
  FakeChild& child = bench.start_child();
  for (const char* id : {"1", "2", "3"}) {
    bench.advance(seconds(1));
    bench.call(session, id);
  }
  bench.advance(seconds(1));
  bench.call(session, "4");
  bench.call(session, "5");
  bench.advance(seconds(8));
  EXPECT_EQ(session.take().size(), 2U);
  EXPECT_THAT(child.ends(), IsEmpty());
  bench.advance(seconds(1));
  EXPECT_THAT(child.ends(), ElementsAre(seconds(2)));
  const auto answers = session.take();
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_THAT(answers[0], HasSubstr(R"("id":3,"error":{"code":-32003)"));
  EXPECT_THAT(answers[1], HasSubstr("stopped answering"));
  EXPECT_THAT(answers[2], HasSubstr("stopped answering"));
  EXPECT_FALSE(session.end.has_value()) << "its child is still there";
  bench.call(session, "6");
  child.die(15);
  EXPECT_EQ(session.end, session::SessionEnd::failed);
  EXPECT_EQ(session.take().size(), 1U);
  EXPECT_EQ(bench.observer.exits, std::vector{ExitReason::hung});
}

TEST(SessionHungChild, IsFoundAlsoWhenItDoesNotRead) {
  BackendBench bench(one_at_a_time(2));
  FakeSession session(bench.callers);
  bench.open(session);
  FakeChild& child = bench.start_child();
  child.stop_reading();
  const std::string big(pool::ChildLink::kHighWatermark, 'x');
  bench.send(session, note_text("big", "[\"" + big + "\"]"));
  bench.advance(seconds(1));
  for (const char* id : {"1", "2", "3"}) bench.call(session, id);
  bench.advance(seconds(10));
  EXPECT_EQ(session.take().size(), 3U);
  EXPECT_THAT(child.ends(), ElementsAre(seconds(2)));
}

TEST(SessionHungChild, TheWaitOfOneSessionSaysNothingAboutAnothersChild) {
  BackendBench bench(one_at_a_time(2));
  FakeSession old(bench.callers);
  FakeSession session(bench.callers);
  FakeClient client(bench.callers);
  bench.call(client);
  bench.start_child();
  bench.child(0).stop_reading();
  bench.open(old);
  bench.close(old);
  bench.open(session);
  bench.child(0).answer(bench.child(0).take_ids().at(0));
  const std::string big(pool::ChildLink::kHighWatermark, 'x');
  bench.send(client, note_text("big", "[\"" + big + "\"]"));
  bench.advance(seconds(1));
  for (const char* id : {"1", "2", "3"}) bench.call(session, id);
  bench.advance(seconds(10));
  EXPECT_EQ(session.take().size(), 3U);
  EXPECT_THAT(bench.child(0).ends(), IsEmpty());
}

// --- Drain and shutdown ---------------------------------------------------------------------

TEST(SessionDrain, FinishesWhatIsThereAndTakesNoMore) {
  BackendBench bench(one_at_a_time(1));
  FakeSession old(bench.callers);
  FakeSession session(bench.callers);
  bench.open(old);
  bench.close(old);
  bench.open(session);
  bench.call(session, "1");
  bench.backend.drain();
  FakeSession late(bench.callers);
  const auto refusal = bench.open(late);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_THAT(refusal->message, HasSubstr("shutting down"));
  EXPECT_EQ(bench.observer.sessions, 1);
  bench.call(session, "2");
  EXPECT_THAT(session.take(), ElementsAre(HasSubstr(R"("id":2,"error":{"code":-32005)")));
  EXPECT_EQ(bench.send(session, note_text("n")), backend::Admission::refused_overloaded);
  bench.child(0).exit(0);
  ASSERT_EQ(bench.launcher.launched(), 2U) << "what has been accepted still gets its child";
  FakeChild& child = bench.start_child();
  child.answer(child.take_ids().at(0));
  EXPECT_THAT(session.take(), ElementsAre(result_text("1")));
  EXPECT_EQ(bench.backend.calls(), 0U);
  bench.close(session);
  child.exit(0);
  EXPECT_FALSE(bench.backend.has_children());
  EXPECT_EQ(bench.launcher.launched(), 2U);
}

TEST(SessionDrain, OpeningWithoutALeaseIsRefusedToo) {
  BackendBench bench(plain_options());
  bench.backend.drain();
  FakeSession session(bench.callers);
  EXPECT_TRUE(bench.open(session).has_value());
  EXPECT_EQ(bench.observer.sessions, 0);
  EXPECT_EQ(bench.status().sessions, 0U);
}

TEST(SessionDrain, NoChildIsKeptWarm) {
  backend::BackendOptions options = session_options(3);
  options.config.pool.warm = 1;
  BackendBench bench(options);
  bench.backend.drain();
  bench.start_child().exit(1);
  bench.advance(seconds(40));
  EXPECT_EQ(bench.launcher.launched(), 1U);
}

TEST(SessionShutdown, EndsSessionsWithTheirChildrenAndThoseWithoutAtOnce) {
  backend::BackendOptions options = one_at_a_time(3);
  options.config.pool.breaker_failures = 100;
  BackendBench bench(options);
  FakeSession one(bench.callers);
  FakeSession two(bench.callers);
  bench.open(one);
  bench.start_child();
  FakeSession failed(bench.callers);
  bench.open(failed);
  bench.child(1).fail_to_start("no");
  bench.close(failed);
  bench.open(two);  // waits for the pause to end
  ASSERT_EQ(bench.launcher.launched(), 2U);
  bench.call(one, "1");
  bench.call(one, "2");
  bench.call(two, "3");
  bench.backend.drain();
  bench.backend.fail_calls(rpc::faults::overloaded("enough"));
  EXPECT_EQ(one.take().size(), 2U);
  EXPECT_EQ(two.take().size(), 1U);
  EXPECT_EQ(bench.backend.calls(), 0U);
  bench.backend.end_children(seconds(2));
  EXPECT_EQ(two.end, session::SessionEnd::failed);
  EXPECT_THAT(two.end_message, HasSubstr("shutting down"));
  EXPECT_FALSE(one.end.has_value());
  EXPECT_THAT(bench.child(0).ends(), ElementsAre(seconds(2)));
  bench.child(0).exit(0);
  EXPECT_EQ(one.end, session::SessionEnd::failed);
  EXPECT_THAT(one.end_message, HasSubstr("shutting down"));
  EXPECT_FALSE(bench.backend.has_children());
  bench.advance(seconds(60));
  EXPECT_EQ(bench.launcher.launched(), 2U);
  bench.close(one);
  bench.close(two);
  EXPECT_EQ(bench.observer.sessions, 0);
  EXPECT_EQ(bench.observer.records.size(), 3U);
}

TEST(SessionShutdown, ACallInTheQueueIsFaultedWhenItsChildIsEnded) {
  BackendBench bench(one_at_a_time(2));
  FakeSession session(bench.callers);
  bench.open(session);
  bench.start_child();
  bench.call(session, "1");
  bench.call(session, "2");
  bench.backend.end_children(seconds(0));
  bench.child(0).die(9);
  EXPECT_EQ(session.take().size(), 2U);
  EXPECT_EQ(bench.backend.calls(), 0U);
}

}  // namespace
}  // namespace stdgate::test
