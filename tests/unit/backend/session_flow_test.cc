// Sessions and back-pressure: the child's output is held for a slow client, and the client's input
// for a full queue.

#include <functional>

#include "gateway/mcp/mcp_dialect.h"
#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

// --- The child waits ------------------------------------------------------------------------

TEST(SessionHold, BeforeTheChildExists) {
  BackendBench bench(session_options(1));
  FakeSession old(bench.callers);
  FakeSession session(bench.callers);
  bench.open(old);
  bench.close(old);
  bench.open(session);
  bench.backend.hold_child(session.id, true);
  EXPECT_TRUE(bench.child(0).is_read()) << "it is another one's";
  bench.child(0).exit(0);
  FakeChild& child = bench.start_child();
  EXPECT_FALSE(child.is_read());
  bench.backend.hold_child(session.id, false);
  EXPECT_TRUE(child.is_read());
}

TEST(SessionHold, BeforeTheChildExistsAndNoMore) {
  BackendBench bench(session_options(1));
  FakeSession old(bench.callers);
  FakeSession session(bench.callers);
  bench.open(old);
  bench.close(old);
  bench.open(session);
  bench.backend.hold_child(session.id, true);
  bench.backend.hold_child(session.id, false);
  bench.child(0).exit(0);
  EXPECT_TRUE(bench.start_child().is_read());
}

TEST(SessionHold, OfItsOwnChildOnly) {
  BackendBench bench(session_options(4));
  FakeSession session(bench.callers);
  FakeSession other(bench.callers);
  bench.open(session);
  bench.open(other);
  bench.child(0).start();
  bench.child(1).start();
  bench.backend.hold_child(session.id, true);
  bench.backend.hold_child(session.id, true);
  EXPECT_FALSE(bench.child(0).is_read());
  EXPECT_TRUE(bench.child(1).is_read());
  bench.backend.hold_child(session.id, false);
  EXPECT_TRUE(bench.child(0).is_read());
}

TEST(SessionHold, EndsWithTheSession) {
  BackendBench bench(session_options(2));
  FakeSession session(bench.callers);
  bench.open(session);
  FakeChild& child = bench.start_child();
  bench.backend.hold_child(session.id, true);
  bench.close(session);
  EXPECT_TRUE(child.is_read()) << "else its end would never be told";
  bench.backend.hold_child(session.id, true);
  EXPECT_TRUE(child.is_read());
}

TEST(SessionHold, OfAChildThatHasGone) {
  BackendBench bench(session_options(2));
  FakeSession session(bench.callers);
  bench.open(session);
  bench.start_child().die(9);
  bench.backend.hold_child(session.id, true);
  bench.close(session);
  FakeSession next(bench.callers);
  bench.open(next);
  bench.advance(seconds(1));
  ASSERT_EQ(bench.launcher.launched(), 2U);
  EXPECT_TRUE(bench.start_child().is_read());
}

TEST(SessionHold, SharedChildrenNeverWait) {
  BackendBench bench(plain_options());
  FakeSession session(bench.callers);
  bench.open(session);
  bench.call(session);
  FakeChild& child = bench.start_child();
  bench.backend.hold_child(session.id, true);
  EXPECT_TRUE(child.is_read());
}

TEST(SessionHold, SilenceOfAHeldChildIsNotItsOwn) {
  backend::BackendOptions options = session_options(2);
  options.config.max_time = seconds(11);
  BackendBench bench(options);
  FakeSession session(bench.callers);
  bench.open(session);
  FakeChild& child = bench.start_child();
  bench.advance(seconds(1));
  bench.backend.hold_child(session.id, true);
  for (int i = 0; i < 4; ++i) bench.call(session);
  bench.advance(seconds(9));
  for (int i = 0; i < 4; ++i) bench.call(session);
  bench.advance(seconds(2));
  EXPECT_EQ(session.take().size(), 4U) << "the calls have their max_time all the same";
  // The child's output is read later, so the child may not be judged right after the hold either.
  bench.backend.hold_child(session.id, false);
  bench.advance(seconds(9));
  EXPECT_EQ(session.take().size(), 4U);
  EXPECT_TRUE(child.ends().empty());
  for (int i = 0; i < 3; ++i) bench.call(session);
  bench.advance(seconds(10));
  EXPECT_THAT(child.ends(), ElementsAre(seconds(2))) << "but this time it is";
}

TEST(SessionHold, DoesNotOutlastTheGateway) {
  BackendBench bench(session_options(2));
  FakeSession session(bench.callers);
  bench.open(session);
  FakeChild& child = bench.start_child();
  bench.backend.hold_child(session.id, true);
  bench.backend.drain();
  bench.backend.end_children(seconds(2));
  EXPECT_TRUE(child.is_read()) << "else its end would never be told";
  bench.backend.hold_child(session.id, false);
  bench.backend.hold_child(session.id, true);
  EXPECT_TRUE(child.is_read());
}

// --- The client waits -----------------------------------------------------------------------

// `queue` messages may wait, and the child works on one call at a time.
backend::BackendOptions queueing(config::Isolation isolation, uint32_t queue) {
  backend::BackendOptions options = session_options(1);
  options.config.isolation = isolation;
  options.config.pool.max_in_flight = 1;
  options.config.pool.queue = queue;
  return options;
}

class SessionReading : public testing::TestWithParam<config::Isolation> {};
INSTANTIATE_TEST_SUITE_P(Both, SessionReading,
                         testing::Values(config::Isolation::shared, config::Isolation::session));

TEST_P(SessionReading, StopsAtHalfOfTheQueueAndGoesOnAtAQuarter) {
  BackendBench bench(queueing(GetParam(), 8));
  FakeSession session(bench.callers);
  bench.open(session);
  for (int i = 0; i < 3; ++i) bench.call(session);
  EXPECT_TRUE(session.reading);
  bench.send(session, note_text("n"));
  EXPECT_FALSE(session.reading) << "notifications count";
  for (int i = 0; i < 4; ++i) bench.call(session);
  EXPECT_TRUE(session.take().empty()) << "there is room for twice as much";
  bench.call(session, "\"9\"");
  EXPECT_THAT(session.take(), ElementsAre(testing::HasSubstr(R"("id":"9","error")")));
  EXPECT_EQ(bench.send(session, note_text("n")), backend::Admission::refused_overloaded);
  FakeChild& child = bench.start_child();
  for (size_t queued : {7, 6, 5, 3, 2, 1, 0}) {  // the notification leaves the queue with a call
    EXPECT_EQ(bench.status().queued, queued);
    EXPECT_EQ(session.reading, queued <= 2);
    child.answer(child.take_ids().at(0));
  }
}

TEST_P(SessionReading, CountsBytesToo) {
  backend::BackendOptions options = queueing(GetParam(), 100);
  const std::string note = note_text("n");
  options.config.pool.queue_bytes = 8 * note.size();
  BackendBench bench(options);
  FakeSession session(bench.callers);
  bench.open(session);
  for (int i = 0; i < 3; ++i) bench.send(session, note);
  EXPECT_TRUE(session.reading);
  bench.send(session, note);
  EXPECT_FALSE(session.reading);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(bench.send(session, note), backend::Admission::delivered);
  EXPECT_EQ(bench.send(session, note), backend::Admission::refused_overloaded);
  bench.start_child();
  EXPECT_TRUE(session.reading);
  EXPECT_EQ(bench.status().queued_bytes, 0U);
}

TEST_P(SessionReading, GoesOnWhenDeadlinesEmptyTheQueue) {
  BackendBench bench(queueing(GetParam(), 4));
  FakeSession session(bench.callers);
  bench.open(session);
  for (int i = 0; i < 2; ++i) bench.call(session);
  EXPECT_FALSE(session.reading);
  bench.advance(seconds(10));
  EXPECT_EQ(session.take().size(), 2U);
  EXPECT_TRUE(session.reading);
}

TEST(SessionReadingOwn, GoesOnWhenDeadlinesEmptyTheQueueBeforeThereIsAChild) {
  BackendBench bench(queueing(config::Isolation::session, 4));
  FakeSession old(bench.callers);
  FakeSession session(bench.callers);
  bench.open(old);
  bench.close(old);  // its child has not ended yet
  bench.open(session);
  for (int i = 0; i < 2; ++i) bench.call(session);
  EXPECT_FALSE(session.reading);
  bench.advance(seconds(10));
  EXPECT_EQ(session.take().size(), 2U);
  EXPECT_TRUE(session.reading);
}

TEST_P(SessionReading, GoesOnWhenCancelsEmptyTheQueue) {
  BackendBench bench(queueing(GetParam(), 4), std::make_unique<mcp::McpDialect>("1"));
  FakeSession session(bench.callers);
  bench.open(session);
  for (const char* id : {"1", "2"}) bench.call(session, id);
  EXPECT_FALSE(session.reading);
  bench.send(session, note_text("notifications/cancelled", R"({"requestId":1})"));
  EXPECT_TRUE(session.reading);
  EXPECT_EQ(session.cancelled.size(), 1U);
  EXPECT_EQ(bench.status().queued, 1U);
}

// The session that continues first may fill the queue again before the other sessions send
// anything.
TEST(SessionReadingShared, EachTimeAnotherSessionGoesOnFirst) {
  BackendBench bench(queueing(config::Isolation::shared, 4));
  FakeClient client(bench.callers);
  std::vector<std::unique_ptr<FakeSession>> sessions;
  std::vector<size_t> order;
  for (size_t i = 0; i < 3; ++i) {
    sessions.push_back(std::make_unique<FakeSession>(bench.callers));
    sessions.back()->on_reading = [&order, i](bool reading) {
      if (reading) order.push_back(i);
    };
    bench.open(*sessions.back());
  }
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 2; ++i) bench.call(client);
    bench.advance(seconds(10));  // both time out
  }
  ASSERT_THAT(order, SizeIs(12));
  EXPECT_NE(order[0], order[3]);
  EXPECT_NE(order[3], order[6]);
  EXPECT_NE(order[6], order[0]);
  EXPECT_EQ(order[9], order[0]);
}

TEST(SessionReadingShared, AllSessionsAreToldAndThoseThatOpenMeanwhile) {
  BackendBench bench(queueing(config::Isolation::shared, 4));
  FakeClient client(bench.callers);
  FakeSession one(bench.callers);
  FakeSession two(bench.callers);
  bench.open(one);
  bench.open(two);
  for (int i = 0; i < 2; ++i) bench.call(client);
  EXPECT_FALSE(one.reading);
  EXPECT_FALSE(two.reading);
  FakeSession three(bench.callers);
  bench.open(three);
  EXPECT_FALSE(three.reading);
  bench.close(two);
  bench.leave(client);
  EXPECT_TRUE(one.reading);
  EXPECT_FALSE(two.reading) << "one that is closed is told nothing";
  EXPECT_TRUE(three.reading);
}

TEST(SessionReadingOwn, IsNobodyElsesBusiness) {
  backend::BackendOptions options = queueing(config::Isolation::session, 4);
  options.config.pool.max = 3;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  FakeSession one(bench.callers);
  FakeSession two(bench.callers);
  bench.open(one);
  // Waiting calls without a session do not stop clients that have a session.
  for (int i = 0; i < 3; ++i) bench.call(client);
  EXPECT_TRUE(one.reading);
  bench.open(two);
  EXPECT_TRUE(two.reading) << "opened while the others' queue is half full";
  for (int i = 0; i < 2; ++i) bench.call(one);
  EXPECT_FALSE(one.reading);
  EXPECT_TRUE(two.reading);
}

}  // namespace
}  // namespace stdgate::test
