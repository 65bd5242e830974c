// Sessions with a child of their own: children that cannot be started, and the breaker.
#include "gateway/lsp/lsp_dialect.h"
#include "tests/support/backend_fixture.h"

namespace stdgate::test {

namespace {

TEST(SessionStart, AFailureEndsTheSessionThatTheChildWasFor) {
  BackendBench bench(session_options(4));
  FakeSession one(bench.callers);
  FakeSession two(bench.callers);
  FakeSession three(bench.callers);
  bench.open(one);
  bench.open(two);
  bench.call(one, "1");
  bench.call(two, "2");
  bench.child(0).fail_to_start("no such file");
  EXPECT_EQ(one.end, session::SessionEnd::failed);
  EXPECT_THAT(one.end_message, HasSubstr("could not be started"));
  EXPECT_EQ(one.take().size(), 1U);
  EXPECT_FALSE(two.end.has_value());
  EXPECT_EQ(bench.status().failures, 1U);
  // The next session waits for the pause to end, and for the starting child to become ready.
  EXPECT_FALSE(bench.open(three));
  bench.advance(seconds(1));
  EXPECT_EQ(bench.launcher.launched(), 2U);
  bench.child(1).start();
  ASSERT_EQ(bench.launcher.launched(), 3U);
  EXPECT_EQ(bench.observer.starts.back(), StartReason::restart);
  bench.call(three);
  EXPECT_EQ(bench.start_child().take_ids().size(), 1U);
}

TEST(SessionStart, AChildThatHasCrashedIsToldOf) {
  BackendBench bench(session_options(4));
  EXPECT_EQ(bench.status().state, pool::BackendState::unstarted);
  FakeSession session(bench.callers);
  bench.open(session);
  bench.start_child().exit(3);
  bench.close(session);
  const pool::BackendStatus status = bench.status();
  EXPECT_TRUE(status.ready) << "one session's child says little about the backend";
  EXPECT_EQ(status.state, pool::BackendState::failing);
  EXPECT_THAT(status.reason, HasSubstr("exited with code 3"));
}

TEST(SessionStart, OneThatTakesTooLong) {
  BackendBench bench(session_options(2));
  FakeSession session(bench.callers);
  bench.open(session);
  bench.advance(seconds(30));
  EXPECT_THAT(bench.child(0).ends(), ElementsAre(seconds(0)));
  bench.child(0).die(9);
  EXPECT_EQ(session.end, session::SessionEnd::failed);
  EXPECT_EQ(bench.observer.exits, std::vector{ExitReason::start_timeout});
}

TEST(SessionStart, CallsWaitForNoSharedChildThatCannotStartWhileSessionsHaveTheirs) {
  backend::BackendOptions options = session_options(3);
  options.config.pool.breaker_failures = 3;
  BackendBench bench(options);
  FakeSession session(bench.callers);
  bench.open(session);
  bench.start_child();
  FakeClient client(bench.callers);
  bench.call(client);
  bench.child(1).fail_to_start("no");
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(client.answers[0].fault, rpc::Fault::child_failed);
  EXPECT_FALSE(session.end.has_value());
  // Calls do not wait either when the breaker has opened, although the session's child runs.
  for (size_t i = 2; i < 4; ++i) {
    bench.call(client);
    bench.advance(seconds(1));
    bench.child(i).fail_to_start("no");
  }
  ASSERT_EQ(client.answers.size(), 3U);
  EXPECT_EQ(client.answers[2].fault, rpc::Fault::overloaded);
}

class SessionBreaker : public testing::Test {
 protected:
  static backend::BackendOptions options(config::Protocol protocol) {
    backend::BackendOptions options = session_options(4);
    options.config.protocol = protocol;
    options.config.pool.breaker_failures = 2;
    return options;
  }

  // Causes two failures in a row while another session waits.
  void trip() {
    FakeSession one(bench_.callers);
    FakeSession two(bench_.callers);
    FakeSession waiting(bench_.callers);
    bench_.open(one);
    bench_.child(0).fail_to_start("no");
    bench_.open(two);
    bench_.open(waiting);
    bench_.call(waiting);
    bench_.advance(seconds(1));
    ASSERT_EQ(bench_.launcher.launched(), 2U);
    bench_.child(1).fail_to_start("no");
    EXPECT_EQ(two.end, session::SessionEnd::failed);
    EXPECT_THAT(two.end_message, HasSubstr("could not be started"));
    EXPECT_EQ(waiting.end, session::SessionEnd::failed);
    EXPECT_THAT(waiting.end_message, HasSubstr("keeps failing"));
    ASSERT_EQ(bench_.observer.records.size(), 1U);
    EXPECT_EQ(bench_.observer.records[0].outcome, "overloaded");
    EXPECT_EQ(waiting.take().size(), 1U);
    for (FakeSession* session : {&one, &two, &waiting}) bench_.close(*session);
  }

  BackendBench bench_{options(config::Protocol::jsonrpc)};
};

TEST_F(SessionBreaker, LosesWhatWaitsAndRefusesTheNext) {
  trip();
  FakeSession session(bench_.callers);
  const auto refusal = bench_.open(session);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->fault, rpc::Fault::overloaded);
  EXPECT_THAT(refusal->message, HasSubstr("keeps failing"));
  EXPECT_GE(refusal->retry_after, seconds(1));
  bench_.advance(refusal->retry_after);
  ASSERT_EQ(bench_.launcher.launched(), 2U) << "nobody needs a child";
  EXPECT_FALSE(bench_.open(session)) << "this one is the trial";
  ASSERT_EQ(bench_.launcher.launched(), 3U);
  FakeSession other(bench_.callers);
  EXPECT_TRUE(bench_.open(other).has_value());
  bench_.start_child();
  EXPECT_FALSE(bench_.open(other));
}

TEST_F(SessionBreaker, LosesNobodyWhoMayStillHaveAChild) {
  FakeSession served(bench_.callers);
  FakeSession failed(bench_.callers);
  FakeSession waiting(bench_.callers);
  bench_.open(served);
  bench_.start_child();
  bench_.open(failed);
  bench_.child(1).fail_to_start("no");
  bench_.close(failed);
  FakeSession next(bench_.callers);
  bench_.open(next);
  bench_.open(waiting);
  bench_.advance(seconds(1));
  bench_.child(2).fail_to_start("no");
  ASSERT_EQ(bench_.status().failures, 2U);
  EXPECT_FALSE(waiting.end.has_value()) << "the backend works for others";
  bench_.advance(seconds(1));
  ASSERT_EQ(bench_.launcher.launched(), 4U);
  bench_.call(waiting);
  EXPECT_EQ(bench_.start_child().take_ids().size(), 1U);
}

TEST(SessionBreakerLsp, TheTrialIsAChildThatASessionCanHave) {
  backend::BackendOptions options = session_options(4);
  options.config.protocol = config::Protocol::lsp;
  options.config.pool.breaker_failures = 1;
  options.config.pool.idle_timeout = seconds(10);
  BackendBench bench(options, std::make_unique<lsp::LspDialect>());
  FakeSession session(bench.callers);
  bench.open(session);
  bench.child(0).fail_to_start("no");
  bench.close(session);
  EXPECT_TRUE(bench.open(session).has_value());
  bench.advance(seconds(1));
  EXPECT_EQ(bench.launcher.launched(), 1U);
  ASSERT_FALSE(bench.open(session));
  EXPECT_EQ(bench.launcher.launched(), 2U);
  bench.start_child();
  bench.call(session);
  EXPECT_EQ(bench.child(1).take_ids().size(), 1U);
}

}  // namespace

// How often a client may open a session that takes a child.

namespace {

const ClientAddress kClient = ClientAddress::unix_user(1);
const ClientAddress kOther = ClientAddress::unix_user(2);

TEST(SessionStartLimit, ABurstAndNotOneMore) {
  BackendBench bench(session_options(100));
  bench.limit_session_starts(2, 5);
  std::vector<std::unique_ptr<FakeSession>> sessions;
  const auto open = [&](const ClientAddress& client) {
    sessions.push_back(std::make_unique<FakeSession>(bench.callers));
    return bench.open(*sessions.back(), client);
  };
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(open(kClient));
  const auto refused = open(kClient);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->fault, rpc::Fault::rate_limited);
  EXPECT_EQ(refused->retry_after, milliseconds(500));
  EXPECT_EQ(bench.launcher.launched(), 5U);
  EXPECT_FALSE(open(kOther));
  EXPECT_FALSE(open({}));
  bench.advance(milliseconds(500));
  EXPECT_FALSE(open(kClient));
  EXPECT_TRUE(open(kClient));
}

TEST(SessionStartLimit, ClosingASessionGivesNothingBack) {
  BackendBench bench(session_options(10));
  bench.limit_session_starts(1, 3);
  size_t refused = 0;
  for (int i = 0; i < 100; ++i) {
    FakeSession session(bench.callers);
    if (bench.open(session, kClient)) {
      ++refused;
    } else {
      bench.close(session);
    }
  }
  EXPECT_EQ(refused, 97U);
  EXPECT_LE(bench.launcher.launched(), 3U);
}

TEST(SessionStartLimit, WhatIsRefusedForOtherReasonsIsNotCounted) {
  backend::BackendOptions options = session_options(1);
  BackendBench bench(std::move(options));
  bench.limit_session_starts(1, 2);
  FakeSession first(bench.callers);
  EXPECT_FALSE(bench.open(first, kClient));
  for (int i = 0; i < 10; ++i) {
    FakeSession session(bench.callers);
    const auto refused = bench.open(session, kClient);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->fault, rpc::Fault::overloaded);
  }
}

TEST(SessionStartLimit, SessionsThatShareChildrenAreNotLimited) {
  BackendBench bench(plain_options());
  bench.limit_session_starts(1, 1);
  for (int i = 0; i < 20; ++i) {
    FakeSession session(bench.callers);
    EXPECT_FALSE(bench.open(session, kClient));
    bench.close(session);
  }
}

}  // namespace

}  // namespace stdgate::test
