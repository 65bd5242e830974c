// Clients without a session that send and leave from within an answer, while sessions of the same
// backend open, close and lose their children.

#include <utility>

#include "gateway/mcp/mcp_dialect.h"
#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

// The client leaves from within its first answer.
void leave_on_answer(BackendBench& bench, FakeClient& client) {
  client.after_reply = [&](const FakeClient::Answer&) { bench.leave(client); };
}

TEST(SessionReentry, AClientLeavesASharedChildThatSessionsUse) {
  backend::BackendOptions options = plain_options();
  options.config.pool.max = 1;
  options.config.pool.max_in_flight = 2;
  BackendBench bench(options);
  FakeSession session(bench.callers);
  FakeClient client(bench.callers);
  bench.open(session);
  leave_on_answer(bench, client);
  bench.call(client, "1");
  bench.call(session, "2");
  bench.call(client, "3");
  bench.call(session, "4");
  answer_all(bench.start_child());
  EXPECT_THAT(client.answers, SizeIs(1));
  EXPECT_THAT(session.take(), ElementsAre(result_text("2"), result_text("4")));
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST(SessionReentry, TheOpeningOfASessionFailsWhatAClientHasWaiting) {
  backend::BackendOptions options = session_options(1);
  BackendBench bench(options);
  FakeClient client(bench.callers);
  FakeSession session(bench.callers);
  client.after_reply = [&](const FakeClient::Answer& answer) {
    if (answer.tag < 5) bench.call(client, "1", answer.tag + 5);
    bench.leave(client);
  };
  for (session::Tag tag = 0; tag < 3; ++tag) bench.call(client, "1", tag);
  ASSERT_FALSE(bench.open(session));
  EXPECT_EQ(bench.backend.calls(), 0U);
  EXPECT_EQ(bench.observer.started, bench.observer.records.size());
  bench.call(session);
  bench.child(0).die(9);
  answer_all(bench.start_child());
  EXPECT_THAT(session.take(), SizeIs(1));
}

TEST(SessionReentry, AClientSendsAndLeavesWhileASharedChildRetires) {
  backend::BackendOptions options = session_options(1);
  options.config.pool.max_in_flight = 4;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  FakeSession session(bench.callers);
  bench.call(client, "1");
  bench.call(client, "2");
  bench.start_child();
  ASSERT_FALSE(bench.open(session));
  leave_on_answer(bench, client);
  const auto ids = bench.child(0).take_ids();
  bench.child(0).answer(ids.at(0));
  EXPECT_THAT(bench.child(0).ends(), SizeIs(1)) << "its last call has been withdrawn";
  bench.child(0).exit(0);
  bench.call(session);
  answer_all(bench.start_child());
  EXPECT_THAT(session.take(), SizeIs(1));
}

TEST(SessionReentry, AMassFailureOfOtherCallsLosesWaitingSessionsOnce) {
  backend::BackendOptions options = session_options(3);
  options.config.pool.breaker_failures = 2;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  FakeSession failed(bench.callers);
  FakeSession waiting(bench.callers);
  bench.open(failed);
  bench.child(0).fail_to_start("no");
  bench.close(failed);
  ASSERT_FALSE(bench.open(waiting));
  bench.call(waiting, "1");
  for (session::Tag tag = 0; tag < 3; ++tag) bench.call(client, "1", tag);
  leave_on_answer(bench, client);
  bench.advance(seconds(1));
  ASSERT_EQ(bench.launcher.launched(), 2U);
  FakeSession third(bench.callers);
  ASSERT_FALSE(bench.open(third));
  bench.child(1).fail_to_start("no");
  EXPECT_EQ(waiting.end, session::SessionEnd::failed);
  EXPECT_EQ(third.end, session::SessionEnd::failed);
  EXPECT_THAT(waiting.take(), SizeIs(1));
  EXPECT_EQ(bench.backend.calls(), 0U);
  EXPECT_EQ(bench.observer.started, bench.observer.records.size());
}

TEST(SessionReentry, DeadlinesOfClientsAndSessionsTogether) {
  backend::BackendOptions options = session_options(2);
  options.config.pool.max_in_flight = 2;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  FakeSession session(bench.callers);
  bench.open(session);
  for (const char* id : {"1", "2", "3"}) {
    bench.call(session, id);
    bench.call(client, id);
  }
  bench.child(0).start();
  bench.child(1).start();
  bench.child(0).output(" ");
  bench.child(1).output(" ");
  client.after_reply = [&](const FakeClient::Answer&) {
    client.after_reply = nullptr;
    bench.call(client, "\"next\"");
    bench.leave(client);
  };
  bench.advance(seconds(10));
  EXPECT_THAT(session.take(), SizeIs(3));
  EXPECT_EQ(bench.backend.calls(), 0U);
  EXPECT_EQ(bench.observer.started, 7U);
  EXPECT_EQ(bench.observer.records.size(), 7U);
}

TEST(SessionReentry, AnAnswerFromTheHandshakeInTheMiddleOfACancel) {
  // The cancel of one call makes room for the queue, whose first call the gateway answers itself.
  backend::BackendOptions options = plain_options();
  options.config.pool.max = 1;
  options.config.pool.max_in_flight = 1;
  BackendBench bench(options, std::make_unique<mcp::McpDialect>("1"));
  FakeSession session(bench.callers);
  FakeClient client(bench.callers);
  bench.open(session);
  bench.call(session, "1");
  FakeChild& child = bench.start_child();
  child.answer(child.take_ids().at(0), R"({"protocolVersion":"2025-06-18"})");
  bench.send(client, request_text("2", "initialize"));
  bench.call(client, "3");
  bench.call(session, "4");
  leave_on_answer(bench, client);
  child.take_lines();
  bench.send(session, note_text("notifications/cancelled", R"({"requestId":1})"));
  EXPECT_THAT(session.cancelled, SizeIs(1));
  EXPECT_THAT(client.answers, SizeIs(1));
  answer_all(child);
  EXPECT_THAT(session.take(), ElementsAre(result_text("4")));
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST(SessionReentry, AChildSpeaksOnInTheSameReadAfterItsLastClientHasLeft) {
  backend::BackendOptions options = plain_options();
  options.config.pool.max = 1;
  BackendBench bench(options);
  FakeSession session(bench.callers);
  FakeClient client(bench.callers);
  bench.open(session);
  leave_on_answer(bench, client);
  bench.call(client, "1");
  bench.call(client, "2");
  FakeChild& child = bench.start_child();
  const auto ids = child.take_ids();
  child.output(result_text(ids[0]) + "\n" + result_text(ids[1]) + "\n" + note_text("n") + "\n" +
               request_text("1", "ask") + "\n");
  EXPECT_THAT(client.answers, SizeIs(1));
  EXPECT_THAT(session.take(), ElementsAre(note_text("n")));
  EXPECT_EQ(bench.observer.dropped[DropReason::unknown_id], 1);
}

}  // namespace
}  // namespace stdgate::test
