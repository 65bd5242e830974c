// Sessions with a child of their own: which session gets a child, when, and how many children there
// may be.

#include <deque>

#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

size_t leased(const BackendBench& bench) {
  size_t count = 0;
  for (const pool::ChildStatus& child : bench.status().children) count += child.leased ? 1 : 0;
  return count;
}

TEST(SessionLease, EachSessionHasAChildOfItsOwn) {
  BackendBench bench(lease_options(4));
  FakeSession one(bench.callers);
  FakeSession two(bench.callers);
  EXPECT_EQ(bench.launcher.launched(), 0U);
  ASSERT_FALSE(bench.open(one));
  ASSERT_FALSE(bench.open(two));
  EXPECT_NE(one.id, two.id);
  EXPECT_EQ(bench.observer.sessions, 2);
  EXPECT_EQ(bench.status().sessions, 2U);
  EXPECT_THAT(bench.observer.starts, ElementsAre(StartReason::demand, StartReason::demand));
  bench.child(0).start();
  bench.child(1).start();
  EXPECT_EQ(leased(bench), 2U);
  bench.call(two, "7");
  bench.call(one, "7");
  bench.child(0).answer(bench.child(0).take_ids().at(0), "\"one\"");
  bench.child(1).answer(bench.child(1).take_ids().at(0), "\"two\"");
  EXPECT_THAT(one.take(), ElementsAre(result_text("7", "\"one\"")));
  EXPECT_THAT(two.take(), ElementsAre(result_text("7", "\"two\"")));
}

TEST(SessionLease, MessagesWaitInTheirOrderForTheChild) {
  BackendBench bench(lease_options(2));
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session));
  bench.send(session, request_text("1", "first"));
  EXPECT_EQ(bench.send(session, note_text("second")), backend::Admission::delivered);
  bench.send(session, request_text("2", "third"));
  EXPECT_EQ(bench.status().queued, 3U);
  EXPECT_EQ(bench.backend.calls(), 3U);
  FakeChild& child = bench.start_child();
  const auto lines = child.take_lines();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_NE(lines[0].find("first"), std::string::npos);
  EXPECT_EQ(lines[1], note_text("second"));
  EXPECT_NE(lines[2].find("third"), std::string::npos);
  EXPECT_EQ(bench.status().queued, 0U);
  EXPECT_EQ(bench.status().queued_bytes, 0U);
}

TEST(SessionLease, NobodyOvertakesWhatWaitsForABusyChild) {
  backend::BackendOptions options = lease_options(2);
  options.config.pool.max_in_flight = 1;
  BackendBench bench(options);
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session));
  FakeChild& child = bench.start_child();
  bench.call(session, "1");
  const auto first = child.take_ids();
  bench.send(session, note_text("between"));
  bench.call(session, "2");
  bench.send(session, note_text("last"));
  EXPECT_THAT(child.take_lines(), IsEmpty());
  child.answer(first.at(0));
  EXPECT_EQ(child.take_line(), note_text("between"));
  const auto second = child.take_ids();
  ASSERT_EQ(second.size(), 1U);
  child.answer(second[0]);
  EXPECT_THAT(child.take_lines(), ElementsAre(note_text("last")));
  EXPECT_THAT(session.take(), ElementsAre(result_text("1"), result_text("2")));
}

TEST(SessionLease, AChildWhoseStdinIsFullGetsTheRestWhenItReads) {
  BackendBench bench(lease_options(2));
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session));
  FakeChild& child = bench.start_child();
  child.stop_reading();
  const std::string big(pool::ChildLink::kHighWatermark, 'x');
  bench.send(session, note_text("big", "[\"" + big + "\"]"));
  child.take_lines();
  bench.call(session);
  bench.send(session, note_text("n"));
  EXPECT_THAT(child.take_lines(), IsEmpty());
  EXPECT_EQ(bench.status().queued, 2U);
  child.drain_stdin();
  EXPECT_EQ(child.take_lines().size(), 2U);
}

// --- Warm children --------------------------------------------------------------------------

TEST(SessionWarm, ATakenChildIsReplaced) {
  BackendBench bench(lease_options(6, 2));
  EXPECT_THAT(bench.observer.starts, ElementsAre(StartReason::minimum, StartReason::minimum));
  bench.child(0).start();
  bench.child(1).start();
  EXPECT_EQ(leased(bench), 0U);
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session));
  EXPECT_EQ(bench.launcher.launched(), 3U);
  EXPECT_EQ(leased(bench), 1U);
  bench.call(session);
  EXPECT_EQ(bench.child(0).take_ids().size(), 1U) << "it does not wait for a start";
}

TEST(SessionWarm, AStartingOneIsTakenToo) {
  BackendBench bench(lease_options(6, 1));
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session));
  EXPECT_EQ(bench.launcher.launched(), 2U);
  bench.call(session);
  bench.child(0).start();
  EXPECT_EQ(bench.child(0).take_ids().size(), 1U);
}

TEST(SessionWarm, OneThatGoesIsNotTaken) {
  BackendBench bench(lease_options(6, 1));
  bench.child(0).start();
  bench.child(0).close_output();
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session));
  ASSERT_EQ(bench.launcher.launched(), 3U) << "one for the session, one kept warm";
  bench.call(session);
  bench.child(1).start();
  EXPECT_EQ(bench.child(1).take_ids().size(), 1U);
}

TEST(SessionWarm, SharedCallsDoNotUseThem) {
  BackendBench bench(lease_options(3, 1));
  bench.child(0).start();
  FakeClient client(bench.callers);
  bench.call(client);
  EXPECT_EQ(bench.launcher.launched(), 2U);
  bench.child(1).start();
  EXPECT_THAT(bench.child(0).take_lines(), IsEmpty());
  EXPECT_EQ(bench.child(1).take_ids().size(), 1U);
}

TEST(SessionWarm, NoMoreThanThePlacesThatAreLeft) {
  BackendBench bench(lease_options(3, 2));
  FakeSession one(bench.callers);
  FakeSession two(bench.callers);
  ASSERT_FALSE(bench.open(one));
  ASSERT_FALSE(bench.open(two));
  EXPECT_EQ(bench.launcher.launched(), 3U) << "one of them warm";
  for (size_t i = 0; i < 3; ++i) bench.child(i).start();
  bench.close(two);
  EXPECT_EQ(bench.launcher.launched(), 3U);
  bench.child(1).exit(0);
  EXPECT_EQ(bench.launcher.launched(), 4U);
  FakeSession three(bench.callers);
  ASSERT_FALSE(bench.open(three));
  EXPECT_EQ(bench.launcher.launched(), 4U);
}

// --- Limits ---------------------------------------------------------------------------------

TEST(SessionLimit, PlacesForSessions) {
  struct Row {
    config::Protocol protocol;
    uint32_t max;
    uint32_t min;
    size_t places;
  };
  const std::vector<Row> rows = {
      {config::Protocol::jsonrpc, 1, 0, 1}, {config::Protocol::jsonrpc, 1, 1, 1},
      {config::Protocol::jsonrpc, 2, 0, 2}, {config::Protocol::jsonrpc, 4, 0, 4},
      {config::Protocol::jsonrpc, 4, 1, 4}, {config::Protocol::jsonrpc, 4, 3, 4},
      {config::Protocol::mcp, 4, 0, 4},     {config::Protocol::mcp, 4, 2, 4},
      {config::Protocol::lsp, 1, 0, 1},     {config::Protocol::lsp, 4, 0, 4},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE("max " + std::to_string(row.max) + ", min " + std::to_string(row.min));
    backend::BackendOptions options = lease_options(row.max);
    options.config.protocol = row.protocol;
    options.config.pool.min = row.min;
    options.config.pool.queue = 0;  // no call may wait
    BackendBench bench(options);
    std::deque<FakeSession> sessions;
    for (size_t i = 0; i < row.places; ++i) {
      ASSERT_FALSE(bench.open(sessions.emplace_back(bench.callers))) << i;
    }
    for (uint32_t i = 0; i < row.min; ++i) {
      if (!bench.child(i).ends().empty()) bench.child(i).exit(0);  // the child's place was lent
    }
    FakeSession late(bench.callers);
    const auto refusal = bench.open(late);
    ASSERT_TRUE(refusal.has_value());
    EXPECT_EQ(refusal->fault, rpc::Fault::overloaded);
    EXPECT_EQ(refusal->retry_after, seconds(1));
    EXPECT_EQ(bench.observer.sessions, static_cast<int>(row.places));
    EXPECT_EQ(bench.status().sessions, row.places);
    bench.close(sessions.front());
    EXPECT_FALSE(bench.open(late)) << "a closed session leaves its place";
    EXPECT_LE(bench.status().children.size(), row.max);
  }
}

TEST(SessionLimit, SessionsOfASharedBackend) {
  backend::BackendOptions options = plain_options();
  options.config.pool.sessions = 2;
  BackendBench bench(options);
  FakeSession one(bench.callers);
  FakeSession two(bench.callers);
  FakeSession three(bench.callers);
  EXPECT_FALSE(bench.open(one));
  EXPECT_FALSE(bench.open(two));
  const auto refusal = bench.open(three);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->fault, rpc::Fault::overloaded);
  EXPECT_EQ(refusal->retry_after, seconds(1));
  EXPECT_EQ(bench.observer.sessions, 2);
  bench.close(one);
  EXPECT_FALSE(bench.open(three));
  EXPECT_EQ(bench.observer.sessions, 2);
}

TEST(SessionLimit, ARefusedLeaseLeavesTheSessionsPlace) {
  backend::BackendOptions options = lease_options(1);
  options.config.pool.sessions = 2;
  BackendBench bench(options);
  FakeSession one(bench.callers);
  FakeSession two(bench.callers);
  EXPECT_FALSE(bench.open(one));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(bench.open(two).has_value());
  bench.close(one);
  EXPECT_FALSE(bench.open(two));
}

TEST(SessionLimit, ANewSessionWaitsUntilTheOldChildHasGone) {
  BackendBench bench(lease_options(1));
  FakeSession one(bench.callers);
  FakeSession two(bench.callers);
  ASSERT_FALSE(bench.open(one));
  bench.start_child();
  bench.close(one);
  ASSERT_FALSE(bench.open(two));
  bench.call(two, "\"w\"");
  EXPECT_EQ(bench.launcher.launched(), 1U) << "never more children than max";
  bench.child(0).exit(0);
  ASSERT_EQ(bench.launcher.launched(), 2U);
  FakeChild& child = bench.start_child();
  child.answer(child.take_ids().at(0));
  EXPECT_THAT(two.take(), ElementsAre(result_text("\"w\"")));
}

TEST(SessionLimit, WhoHasWaitedLongestIsServedFirst) {
  BackendBench bench(lease_options(3));
  std::deque<FakeSession> sessions;
  for (int i = 0; i < 2; ++i) {
    bench.open(sessions.emplace_back(bench.callers));
    bench.start_child();
  }
  // Of the two new sessions, the second gets the lower index.
  bench.close(sessions[1]);
  bench.close(sessions[0]);
  FakeClient client(bench.callers);
  bench.call(client);  // takes the third place
  FakeSession early(bench.callers);
  FakeSession late(bench.callers);
  ASSERT_FALSE(bench.open(early));
  ASSERT_FALSE(bench.open(late));
  ASSERT_GT(early.id.index, late.id.index);
  bench.call(early, "\"early\"");
  bench.call(late, "\"late\"");
  bench.child(0).exit(0);
  ASSERT_EQ(bench.launcher.launched(), 4U);
  FakeChild& child = bench.start_child();
  child.answer(child.take_ids().at(0));
  EXPECT_THAT(early.take(), ElementsAre(result_text("\"early\"")));
}

}  // namespace
}  // namespace stdgate::test
