// Sessions: which clients receive a child's notifications, and which child receives a client's
// notifications.

#include "gateway/mcp/mcp_dialect.h"
#include "gateway/pool/dialect.h"
#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

backend::BackendOptions shared_options(uint32_t max, uint32_t max_in_flight = 8) {
  backend::BackendOptions options = plain_options();
  options.config.pool.max = max;
  options.config.pool.max_in_flight = max_in_flight;
  return options;
}

// --- From a child of a session --------------------------------------------------------------

TEST(SessionRoute, WhatASessionsChildSaysIsTheSessions) {
  BackendBench bench(session_options(4));
  FakeSession session(bench.callers);
  FakeSession other(bench.callers);
  FakeClient client(bench.callers);
  bench.open(session);
  bench.open(other);
  bench.child(0).start();
  bench.call(session, "1");
  const std::string id = bench.child(0).take_ids().at(0);
  const std::string odd = R"({ "method" : "n", "params":[1.0,"é"],  "jsonrpc":"2.0" })";
  bench.child(0).say(odd);
  bench.child(0).answer(id);
  bench.child(0).say(note_text("n"));
  EXPECT_THAT(session.take(), ElementsAre(odd, result_text("1"), note_text("n")))
      << "as it is, in its order, with and without a call";
  EXPECT_THAT(other.take(), IsEmpty());
  EXPECT_THAT(client.events, IsEmpty());
  EXPECT_EQ(bench.observer.notifications[Direction::to_client], 2);
  EXPECT_TRUE(bench.observer.dropped.empty());
}

TEST(SessionRoute, WhatOthersChildrenSayIsNoSessionsOfItsOwn) {
  backend::BackendOptions options = session_options(4);
  options.config.pool.warm = 1;
  BackendBench bench(options);
  FakeSession session(bench.callers);
  FakeClient client(bench.callers);
  bench.open(session);
  bench.call(client);
  for (size_t i = 0; i < 3; ++i) bench.child(i).start();
  bench.child(1).say(note_text("warm"));
  bench.child(2).say(note_text("shared"));
  EXPECT_THAT(session.take(), IsEmpty());
  EXPECT_EQ(bench.observer.dropped[DropReason::no_listener], 2);
}

// --- From a shared child --------------------------------------------------------------------

TEST(SessionRoute, ASharedChildIsHeardByEverySessionOfItsBackend) {
  BackendBench bench(shared_options(1));
  backend::BackendOptions options = shared_options(1);
  options.config.name = "other";
  backend::Backend other_backend(BackendId{1}, options,
                                 std::make_unique<pool::JsonRpcDialect>("$/cancelRequest"),
                                 bench.callers, bench.services);
  FakeSession one(bench.callers);
  FakeSession two(bench.callers);
  FakeSession left(bench.callers);
  FakeSession other(bench.callers);
  FakeClient client(bench.callers);
  bench.open(one);
  bench.open(two);
  bench.open(left);
  ASSERT_TRUE(other_backend.open_session(other.caller(), other, {}).has_value());
  bench.close(left);
  bench.call(one, "1");
  FakeChild& child = bench.start_child();
  child.say(note_text("n"));
  EXPECT_THAT(one.take(), ElementsAre(note_text("n")));
  EXPECT_THAT(two.take(), ElementsAre(note_text("n")));
  EXPECT_THAT(left.take(), IsEmpty());
  EXPECT_THAT(other.take(), IsEmpty());
  EXPECT_EQ(bench.observer.notifications[Direction::to_client], 1);
  bench.close(one);
  bench.close(two);
  child.say(note_text("n"));
  EXPECT_EQ(bench.observer.dropped[DropReason::no_listener], 1);
}

TEST(SessionRoute, AStreamWithTheSoleCallHearsItToo) {
  BackendBench bench(shared_options(1));
  FakeSession session(bench.callers);
  FakeClient client(bench.callers);
  bench.open(session);
  bench.send(client, request_text("1"), 5, true);
  FakeChild& child = bench.start_child();
  child.say(note_text("n"));
  EXPECT_THAT(session.take(), ElementsAre(note_text("n")));
  EXPECT_THAT(client.events, ElementsAre(Pair(5, note_text("n"))));
  bench.call(session);
  child.say(note_text("n"));
  EXPECT_EQ(client.events.size(), 1U);
  EXPECT_EQ(session.take().size(), 1U);
}

// --- Progress -------------------------------------------------------------------------------

std::string call_with_token(const std::string& id, const std::string& token) {
  return R"({"jsonrpc":"2.0","id":)" + id +
         R"(,"method":"tools/call","params":{"_meta":{"progressToken":)" + token + "}}}";
}

std::string progress(const std::string& token) {
  return note_text("notifications/progress", R"({"progressToken":)" + token + R"(,"progress":1})");
}

class SharedMcp : public testing::Test {
 protected:
  SharedMcp() {
    bench_.open(one_);
    bench_.open(two_);
    child_ = &bench_.start_child();
    child_->answer(child_->take_ids().at(0), R"({"protocolVersion":"2025-06-18"})");
    child_->take_lines();
  }

  static backend::BackendOptions options() {
    backend::BackendOptions options = shared_options(1);
    options.config.pool.min = 1;
    return options;
  }

  BackendBench bench_{options(), std::make_unique<mcp::McpDialect>("1")};
  FakeSession one_{bench_.callers};
  FakeSession two_{bench_.callers};
  FakeClient client_{bench_.callers};
  FakeChild* child_ = nullptr;
};

TEST_F(SharedMcp, ProgressGoesToTheCallsSessionUnderItsOwnToken) {
  bench_.send(one_, call_with_token("1", "\"t\""));
  bench_.send(two_, call_with_token("1", "\"t\""));
  bench_.send(client_, call_with_token("1", "7"), 3, true);
  const auto ids = child_->take_ids();
  ASSERT_EQ(ids.size(), 3U);
  child_->say(progress(ids[1]));
  EXPECT_THAT(one_.take(), IsEmpty());
  EXPECT_THAT(two_.take(), ElementsAre(progress("\"t\"")));
  child_->say(progress(ids[2]));
  EXPECT_THAT(client_.events, ElementsAre(Pair(3, progress("7"))));
  child_->say(progress(ids[0]));
  child_->answer(ids[0]);
  EXPECT_THAT(one_.take(), ElementsAre(progress("\"t\""), result_text("1")));
  EXPECT_THAT(two_.take(), IsEmpty());
  child_->say(progress(ids[0]));
  child_->say(progress("\"t\""));
  EXPECT_THAT(one_.take(), IsEmpty()) << "the call is over";
  EXPECT_EQ(bench_.observer.dropped[DropReason::no_listener], 2);
  EXPECT_EQ(bench_.observer.notifications[Direction::to_client], 3);
}

TEST_F(SharedMcp, ProgressOfASessionThatHasLeftIsDropped) {
  bench_.send(one_, call_with_token("1", "1"));
  const std::string id = child_->take_ids().at(0);
  bench_.close(one_);
  child_->say(progress(id));
  EXPECT_THAT(one_.take(), IsEmpty());
  EXPECT_THAT(two_.take(), IsEmpty());
  EXPECT_EQ(bench_.observer.dropped[DropReason::no_listener], 1);
}

TEST(SessionMcp, TokensAndGreetingsOfASessionsChildPassAsTheyAre) {
  BackendBench bench(session_options(2), std::make_unique<mcp::McpDialect>("1"));
  FakeSession session(bench.callers);
  session.held = session::ClientHold::nothing;  // the session gets its child at once
  bench.open(session);
  FakeChild& child = bench.start_child();
  EXPECT_THAT(child.take_lines(), IsEmpty()) << "its client greets it";
  bench.call(session, "0");
  bench.send(session, request_text("1", "initialize"));
  bench.send(session, note_text("notifications/initialized"));
  bench.send(session, call_with_token("2", "\"t\""));
  const auto lines = child.take_lines();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[1], request_text(id_in(lines[1]), "initialize"));
  EXPECT_EQ(lines[2], note_text("notifications/initialized"));
  EXPECT_EQ(lines[3], call_with_token(id_in(lines[3]), "\"t\""));
  child.answer(id_in(lines[1]), R"({"protocolVersion":"x"})");
  child.say(progress("\"t\""));
  EXPECT_THAT(session.take(),
              ElementsAre(result_text("1", R"({"protocolVersion":"x"})"), progress("\"t\"")));
}

// --- From a client --------------------------------------------------------------------------

// Two shared children that run.
class SessionNote : public testing::Test {
 protected:
  explicit SessionNote(uint32_t max_in_flight = 4) : bench_(options(max_in_flight)) {
    bench_.child(0).start();
    bench_.child(1).start();
    bench_.open(session_);
  }

  static backend::BackendOptions options(uint32_t max_in_flight) {
    backend::BackendOptions options = shared_options(2, max_in_flight);
    options.config.pool.min = 2;
    return options;
  }

  // The session sends a notification. Returns the index of the child that received it.
  int receiver() {
    bench_.send(session_, note_text("n"));
    int receiver = -1;
    for (int i = 0; i < 2; ++i) {
      for (const std::string& line : bench_.child(i).take_lines()) {
        if (line == note_text("n")) receiver = i;
      }
    }
    return receiver;
  }

  BackendBench bench_;
  FakeSession session_{bench_.callers};
  FakeClient client_{bench_.callers};
};

TEST_F(SessionNote, GoesToTheChildWithItsCallThoughAnotherHasLessToDo) {
  bench_.call(client_);
  const std::string id = bench_.child(0).take_ids().at(0);
  EXPECT_EQ(receiver(), 1) << "without a call, to whoever has the least to do";
  bench_.call(session_);
  const std::string own = bench_.child(1).take_ids().at(0);
  bench_.child(0).answer(id);
  EXPECT_EQ(receiver(), 1);
  bench_.child(1).answer(own);
  EXPECT_EQ(receiver(), 0);
}

TEST_F(SessionNote, GoesToTheChildThatAsks) {
  bench_.call(session_);
  const std::string call = bench_.child(0).take_ids().at(0);
  bench_.child(0).say(request_text("\"q\"", "ask"));
  const std::string ask = id_in(session_.take().at(0));
  bench_.child(0).answer(call);
  bench_.call(client_);
  bench_.call(session_);
  ASSERT_EQ(bench_.child(1).take_ids().size(), 1U);
  EXPECT_EQ(receiver(), 0);
  bench_.send(session_, result_text(ask));
  EXPECT_EQ(receiver(), 1);
}

TEST_F(SessionNote, DoesNotLookForAChildThatHasAskedAndGone) {
  bench_.call(session_);
  bench_.child(0).say(request_text("\"q\"", "ask"));
  bench_.child(0).die(9);
  bench_.advance(std::chrono::seconds(1));
  ASSERT_EQ(bench_.launcher.launched(), 3U);
  bench_.call(session_);
  ASSERT_EQ(bench_.child(1).take_ids().size(), 1U);
  bench_.child(2).start();
  EXPECT_EQ(receiver(), 1) << "the new one has less to do, but not the call";
}

class SessionNoteToFullChildren : public SessionNote {
 protected:
  SessionNoteToFullChildren() : SessionNote(1) {}
};

TEST_F(SessionNoteToFullChildren, GoesToAnotherRatherThanWait) {
  bench_.call(session_);
  EXPECT_EQ(receiver(), 1);
  bench_.call(client_);
  EXPECT_EQ(receiver(), -1) << "now there is no other";
  EXPECT_EQ(bench_.status().queued, 1U);
}

}  // namespace
}  // namespace stdgate::test
