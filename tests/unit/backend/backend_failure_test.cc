// Backend: children that die or do not start, once or repeatedly.

#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

backend::BackendOptions failing_options(uint32_t min, uint32_t max) {
  backend::BackendOptions options = plain_options();
  options.config.timeout = seconds(600);
  options.config.pool.min = min;
  options.config.pool.max = max;
  options.config.pool.max_in_flight = 4;
  options.config.pool.start_timeout = seconds(5);
  options.config.pool.backoff_min = milliseconds(100);
  options.config.pool.backoff_max = seconds(30);
  options.config.pool.breaker_failures = 3;
  return options;
}

TEST(BackendDeath, EachCallIsAnsweredAtOnceWithTheCause) {
  struct Case {
    pool::ExitStatus::Kind kind;
    int value;
    std::string text;
    ExitReason reason;
  };
  const std::vector<Case> cases = {
      {pool::ExitStatus::Kind::exited, 3, "the child exited with code 3", ExitReason::exit_nonzero},
      {pool::ExitStatus::Kind::exited, 0, "the child exited with code 0", ExitReason::exit_zero},
      {pool::ExitStatus::Kind::signaled, 9, "the child was killed by signal 9 (SIGKILL)",
       ExitReason::signal},
      {pool::ExitStatus::Kind::signaled, 63, "the child was killed by signal 63",
       ExitReason::signal},
  };
  for (const Case& c : cases) {
    BackendBench bench(failing_options(1, 1));
    FakeClient client(bench.callers);
    FakeChild& child = bench.start_child();
    bench.call(client, "\"x\"", 1);
    bench.call(client, "null", 2);
    if (c.kind == pool::ExitStatus::Kind::exited) {
      child.exit(c.value);
    } else {
      child.die(c.value);
    }
    const std::string tail = R"(,"error":{"code":-32004,"message":")" + c.text + "\"}}";
    const std::vector<std::string> expected = {R"({"jsonrpc":"2.0","id":"x")" + tail,
                                               R"({"jsonrpc":"2.0","id":null)" + tail};
    EXPECT_EQ(client.texts(), expected);
    EXPECT_EQ(client.answers[0].fault, rpc::Fault::child_failed);
    EXPECT_EQ(bench.observer.exits, std::vector<ExitReason>{c.reason});
    EXPECT_EQ(bench.observer.records.at(0).outcome, "child_failed");
    EXPECT_EQ(bench.status().in_flight, 0U);
  }
}

TEST(BackendDeath, TheQueueIsServedByTheNextChild) {
  BackendBench bench(failing_options(1, 1));
  FakeClient client(bench.callers);
  bench.start_child();
  for (session::Tag tag = 0; tag < 10; ++tag) bench.call(client, "1", tag);
  bench.child(0).die(11);
  EXPECT_EQ(client.answers.size(), 4U);
  EXPECT_EQ(bench.status().queued, 6U);
  EXPECT_EQ(bench.launcher.launched(), 1U) << "not before everybody has been told";
  bench.advance(pool::Breaker::kAtOnce);
  ASSERT_EQ(bench.launcher.launched(), 2U) << "the first to be lost is replaced without a wait";
  bench.start_child().die(11);
  EXPECT_EQ(client.answers.size(), 8U);
  EXPECT_EQ(bench.status().queued, 2U);
  bench.advance(milliseconds(49));
  EXPECT_EQ(bench.launcher.launched(), 2U) << "not before the backoff has passed";
  bench.advance(milliseconds(51));
  ASSERT_EQ(bench.launcher.launched(), 3U);
  FakeChild& next = bench.start_child();
  for (const std::string& id : next.take_ids()) next.answer(id);
  ASSERT_EQ(client.answers.size(), 10U);
  EXPECT_FALSE(client.answers[9].fault.has_value());
  const std::vector<StartReason> starts = {StartReason::minimum, StartReason::restart,
                                           StartReason::restart};
  EXPECT_EQ(bench.observer.starts, starts);
}

TEST(BackendDeath, APoisonCallGetsOneStartWithoutAWaitInBackoffMax) {
  BackendBench bench(failing_options(1, 1));
  FakeClient client(bench.callers);
  bench.start_child();
  const TimePoint begin = bench.clock.now();
  // Each child answers one call and dies of the next, so the failures are not in a row.
  while (bench.clock.now() - begin < seconds(29)) {
    FakeChild& child = bench.child(bench.launcher.launched() - 1);
    bench.call(client, "1");
    child.answer(child.take_ids().at(0));
    bench.call(client, "2");
    child.die(11);
    ASSERT_EQ(bench.status().failures, 1U);
    const size_t before = bench.launcher.launched();
    const Duration wait = bench.status().retry_after;
    EXPECT_EQ(wait == pool::Breaker::kAtOnce, before == 1);
    EXPECT_GE(wait, before == 1 ? pool::Breaker::kAtOnce : Duration(milliseconds(50)));
    bench.advance(wait);
    ASSERT_EQ(bench.launcher.launched(), before + 1);
    bench.start_child();
  }
}

TEST(BackendDeath, ADrainingBackendReplacesAtOnceForWhatItHasTaken) {
  BackendBench bench(failing_options(1, 1));
  FakeClient client(bench.callers);
  bench.start_child();
  for (session::Tag tag = 0; tag < 5; ++tag) bench.call(client, "1", tag);
  bench.backend.drain();
  bench.child(0).die(9);
  bench.advance(pool::Breaker::kAtOnce);
  ASSERT_EQ(bench.launcher.launched(), 2U);
  FakeChild& next = bench.start_child();
  next.answer(next.take_ids().at(0));
  next.die(9);
  bench.advance(seconds(31));
  EXPECT_EQ(bench.launcher.launched(), 2U) << "nothing is left to do";
}

TEST(BackendDeath, AnEndingBackendReplacesNobody) {
  BackendBench bench(failing_options(1, 1));
  FakeClient client(bench.callers);
  bench.start_child();
  bench.child(0).die(9);
  bench.backend.end_children(seconds(1));
  bench.advance(seconds(31));
  EXPECT_EQ(bench.launcher.launched(), 1U);
}

TEST(BackendDeath, TouchesNoCallOfAnotherChild) {
  BackendBench bench(failing_options(2, 2));
  FakeClient client(bench.callers);
  bench.child(0).start();
  bench.child(1).start();
  for (session::Tag tag = 0; tag < 4; ++tag) bench.call(client, "1", tag);
  bench.child(0).die(9);
  EXPECT_EQ(client.answers.size(), 2U);
  for (const std::string& id : bench.child(1).take_ids()) bench.child(1).answer(id);
  ASSERT_EQ(client.answers.size(), 4U);
  EXPECT_FALSE(client.answers[3].fault.has_value());
}

TEST(BackendDeath, AnAnswerBeforeTheEndCounts) {
  BackendBench bench(failing_options(1, 1));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  bench.call(client);
  child.output(R"({"jsonrpc":"2.0","result":1,"id":)" + child.take_ids().at(0) + "}");
  EXPECT_TRUE(client.answers.empty()) << "the line is not complete";
  child.close_output();
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_FALSE(client.answers[0].fault.has_value());
  child.exit(0);
  EXPECT_EQ(client.answers.size(), 1U);
}

TEST(BackendDeath, ClosedOutputIsAnEndThatMayComeLate) {
  BackendBench bench(failing_options(1, 1));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  bench.call(client, "1", 1);
  child.close_output();
  bench.call(client, "2", 2);
  EXPECT_EQ(child.take_ids().size(), 1U) << "nobody would read the answer";
  EXPECT_EQ(child.ends(), std::vector<Duration>{bench.backend.grace()});
  bench.advance(milliseconds(100));
  EXPECT_EQ(child.ends().back(), Duration{0});
  child.die(9);
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_NE(client.answers[0].text.find("the child closed its output"), std::string::npos);
  EXPECT_EQ(bench.observer.exits, std::vector<ExitReason>{ExitReason::broken_output});
  EXPECT_EQ(bench.status().queued, 1U);
}

TEST(BackendDeath, ClosedOutputFollowedByItsExitSaysWhy) {
  BackendBench bench(failing_options(1, 1));
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  bench.call(client);
  child.close_output();
  child.exit(7);
  EXPECT_NE(client.answers.at(0).text.find("exited with code 7"), std::string::npos);
  EXPECT_EQ(bench.observer.exits, std::vector<ExitReason>{ExitReason::exit_nonzero});
}

// --- Starts that fail ------------------------------------------------------------------------

TEST(BackendStart, AFailureFailsWhatWaitsAtOnce) {
  backend::BackendOptions options = failing_options(0, 1);
  options.config.expose_fault_details = true;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  bench.call(client, "1");
  bench.send(client, R"({"jsonrpc":"2.0","method":"note"})");
  bench.call(client, "2");
  bench.child(0).fail_to_start("exec: no such file");
  ASSERT_EQ(client.answers.size(), 2U);
  EXPECT_EQ(client.answers[0].text,
            R"({"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":)"
            R"("the child could not be started",)"
            R"("data":{"detail":"could not be started: exec: no such file"}}})");
  EXPECT_EQ(client.answers[1].fault, rpc::Fault::child_failed);
  EXPECT_EQ(bench.observer.dropped[DropReason::overloaded], 1) << "the notification";
  EXPECT_EQ(bench.observer.exits, std::vector<ExitReason>{ExitReason::start_failed});
  EXPECT_EQ(bench.status().queued_bytes, 0U);
}

TEST(BackendStart, CaughtTextStaysInTheLogUnlessAskedFor) {
  BackendBench bench(failing_options(0, 1));
  FakeClient client(bench.callers);
  bench.call(client);
  bench.child(0).fail_to_start("exec: /secret/path");
  EXPECT_EQ(client.answers.at(0).text.find("secret"), std::string::npos);
  EXPECT_NE(bench.observer.records.at(0).detail.find("/secret/path"), std::string::npos);
}

TEST(BackendStart, AChildThatTakesTooLongIsEnded) {
  BackendBench bench(failing_options(0, 1));
  FakeClient client(bench.callers);
  bench.call(client);
  bench.advance(seconds(5) - Duration{1});
  EXPECT_TRUE(bench.child(0).ends().empty());
  bench.advance(Duration{1});
  EXPECT_EQ(bench.child(0).ends(), std::vector<Duration>{Duration{0}});
  bench.child(0).start();
  EXPECT_TRUE(bench.child(0).take_lines().empty()) << "too late";
  bench.child(0).die(9);
  EXPECT_NE(client.answers.at(0).text.find("did not get ready in time"), std::string::npos);
  EXPECT_EQ(bench.observer.exits, std::vector<ExitReason>{ExitReason::start_timeout});
}

TEST(BackendStart, ACommandThatFetchesItsPackageHasLonger) {
  struct Case {
    std::vector<std::string> command;
    bool is_confined;
    Duration start;
  };
  const Case cases[] = {{{"npx", "-y", "some-server"}, false, minutes(2) + seconds(5)},
                        {{"/usr/bin/uvx", "some-server"}, false, minutes(2) + seconds(5)},
                        {{"npx", "--offline", "some-server"}, false, seconds(5)},
                        {{"npx", "-y", "some-server"}, true, seconds(5)},
                        {{"some-server"}, false, seconds(5)}};
  for (const Case& c : cases) {
    backend::BackendOptions options = failing_options(0, 1);
    options.config.command = c.command;
    options.config.pool.fetch_timeout = minutes(2);
    options.config.sandbox.used = c.is_confined;
    options.config.sandbox.network.access = config::NetworkAccess::none;
    BackendBench bench(options);
    FakeClient client(bench.callers);
    bench.call(client);
    bench.advance(c.start - Duration{1});
    EXPECT_TRUE(bench.child(0).ends().empty()) << c.command[0];
    bench.advance(Duration{1});
    EXPECT_EQ(bench.child(0).ends(), std::vector<Duration>{Duration{0}}) << c.command[0];
  }
}

TEST(BackendStart, AMissingProgramIsToldBeforeAnybodyCalls) {
  for (const uint32_t min : {0U, 1U}) {
    BackendBench bench(failing_options(min, 1));
    bench.launcher.missing = "program \"x\" not found";
    EXPECT_FALSE(bench.status().ready);
    EXPECT_EQ(bench.status().reason, "program \"x\" not found");
    bench.backend.start();
    ASSERT_NE(bench.log.find("children cannot start"), nullptr);
    EXPECT_NE(bench.log.find("children cannot start")->find("program \"x\""), std::string::npos);
    bench.launcher.missing.clear();
    EXPECT_EQ(bench.status().ready, min == 0) << "it has come meanwhile";
  }
}

TEST(BackendStart, AProgramThatHasRunOnceIsNotLookedForAgain) {
  BackendBench bench(failing_options(1, 1));
  bench.start_child();
  bench.launcher.missing = "program \"x\" not found";
  EXPECT_TRUE(bench.status().ready);
}

TEST(BackendStart, TheLogSaysWhatAChildThatFailedToStartHasSaidLast) {
  BackendBench bench(failing_options(1, 1));
  bench.child(0).write_stderr("one");
  bench.child(0).write_stderr("two");
  bench.child(0).fail_to_start("exec");
  ASSERT_NE(bench.log.find("child ended"), nullptr);
  EXPECT_NE(bench.log.find("child ended")->find("stderr=one | two"), std::string::npos);
}

TEST(BackendStart, AFailureWhileAnotherChildLivesLeavesTheQueue) {
  BackendBench bench(failing_options(1, 2));
  FakeClient client(bench.callers);
  bench.start_child();
  for (session::Tag tag = 0; tag < 5; ++tag) bench.call(client, "1", tag);
  ASSERT_EQ(bench.launcher.launched(), 2U);
  bench.child(1).fail_to_start("fork");
  EXPECT_TRUE(client.answers.empty());
  EXPECT_EQ(bench.status().queued, 1U);
  bench.child(0).answer(bench.child(0).take_ids().at(0));
  EXPECT_EQ(bench.status().queued, 0U);
}

// --- The breaker -----------------------------------------------------------------------------

// Lets the newest child fail, and advances time until the next child is launched.
void fail_next_start(BackendBench& bench) {
  ASSERT_TRUE(bench.child(bench.launcher.launched() - 1).running());
  bench.child(bench.launcher.launched() - 1).exit(1);
  const size_t before = bench.launcher.launched();
  const TimePoint limit = bench.clock.now() + pool::Breaker::kMaxUnasked + seconds(1);
  while (bench.launcher.launched() == before && bench.clock.now() < limit) {
    bench.advance(milliseconds(10));
  }
  ASSERT_EQ(bench.launcher.launched(), before + 1) << "no further start";
}

// Like fail_next_start(), for a backend without a minimum: a client calls as soon as a call can
// start a child.
void fail_next_asked_start(BackendBench& bench, FakeClient& client) {
  bench.child(bench.launcher.launched() - 1).exit(1);
  const size_t before = bench.launcher.launched();
  bench.advance(bench.status().retry_after);
  EXPECT_EQ(bench.launcher.launched(), before) << "nobody has asked for it";
  bench.call(client);
  ASSERT_EQ(bench.launcher.launched(), before + 1) << "no further start";
}

TEST(BackendBreaker, OpensRefusesTriesAndCloses) {
  BackendBench bench(failing_options(0, 4));
  FakeClient client(bench.callers);
  bench.call(client);
  bench.child(0).exit(1);
  EXPECT_EQ(client.answers.at(0).fault, rpc::Fault::child_failed);
  for (int failures = 2; failures <= 3; ++failures) {
    bench.call(client);
    bench.advance(seconds(1));
    bench.child(bench.launcher.launched() - 1).exit(1);
  }
  ASSERT_EQ(bench.launcher.launched(), 3U);
  EXPECT_TRUE(bench.status().breaker_open);
  EXPECT_TRUE(bench.observer.breaker_open);
  EXPECT_FALSE(bench.status().ready);
  EXPECT_EQ(bench.status().reason, "the child exited with code 1");
  EXPECT_EQ(bench.status().failures, 3U);

  client.answers.clear();
  bench.call(client);
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(client.answers[0].fault, rpc::Fault::overloaded);
  EXPECT_GE(client.answers[0].retry_after, Duration(seconds(1)));
  EXPECT_EQ(bench.send(client, R"({"jsonrpc":"2.0","method":"note"})"),
            backend::Admission::refused_overloaded);
  EXPECT_EQ(bench.launcher.launched(), 3U) << "a refused call starts nothing";

  bench.advance(milliseconds(400));
  ASSERT_EQ(bench.launcher.launched(), 3U) << "nobody calls";
  EXPECT_TRUE(bench.status().ready) << "the next call is the trial";
  EXPECT_EQ(bench.status().state, pool::BackendState::failing);
  EXPECT_EQ(bench.status().reason,
            "the child exited with code 1; it is started again with the next call");
  client.answers.clear();
  bench.call(client);
  ASSERT_EQ(bench.launcher.launched(), 4U);
  EXPECT_TRUE(client.answers.empty()) << "it waits for the trial";
  EXPECT_FALSE(bench.status().ready);
  bench.call(client);
  EXPECT_EQ(client.answers.size(), 1U) << "refused while the trial lasts";
  FakeChild& child = bench.start_child();
  child.answer(child.take_ids().at(0));
  EXPECT_TRUE(bench.status().ready);
  EXPECT_EQ(bench.status().state, pool::BackendState::ready);
  ASSERT_EQ(client.answers.size(), 2U);
  EXPECT_FALSE(client.answers[1].fault.has_value());
  EXPECT_EQ(bench.status().failures, 0U);
}

TEST(BackendBreaker, ARefusalGivesTheWaitThatIsLeft) {
  BackendBench bench(failing_options(1, 1));
  FakeClient client(bench.callers);
  for (int i = 0; i < 9; ++i) fail_next_start(bench);
  bench.child(bench.launcher.launched() - 1).exit(1);  // the tenth: the wait is 15 s to 30 s
  const Duration wait = bench.status().retry_after;
  EXPECT_GE(wait, Duration(seconds(15)));
  EXPECT_LE(wait, Duration(seconds(30)));
  bench.call(client);
  EXPECT_EQ(client.answers.at(0).retry_after, wait);
  EXPECT_EQ(bench.observer.records.at(0).detail, "the child exited with code 1");
}

TEST(BackendBreaker, BoundsAStormOfRestarts) {
  BackendBench bench(failing_options(4, 4));
  EXPECT_EQ(bench.launcher.launched(), 4U);
  // For ten minutes, every child dies as soon as it is launched.
  size_t dead = 0;
  for (int tick = 0; tick < 600 * 100; ++tick) {
    for (; dead < bench.launcher.launched(); ++dead) bench.child(dead).exit(1);
    bench.advance(milliseconds(10));
  }
  EXPECT_LE(bench.launcher.launched(), 4U + 14U);
  EXPECT_GE(bench.launcher.launched(), 4U + 10U);
}

TEST(BackendBreaker, WhoCallsNeedNotWaitAsLongAsIfNobodyDid) {
  BackendBench bench(failing_options(1, 1));
  FakeClient client(bench.callers);
  for (int i = 0; i < 11; ++i) fail_next_start(bench);
  bench.child(bench.launcher.launched() - 1).exit(1);
  const size_t launched = bench.launcher.launched();
  bench.advance(seconds(30));
  EXPECT_EQ(bench.launcher.launched(), launched);
  EXPECT_FALSE(bench.status().ready);
  bench.call(client);
  EXPECT_EQ(bench.launcher.launched(), launched + 1);
  FakeChild& child = bench.start_child();
  child.answer(child.take_ids().at(0));
  EXPECT_FALSE(client.answers.at(0).fault.has_value());
}

TEST(BackendBreaker, AChildThatRunsForAMomentIsNoRecovery) {
  BackendBench bench(failing_options(1, 1));
  for (int i = 0; i < 4; ++i) {
    bench.start_child();
    EXPECT_EQ(bench.status().ready, i == 0);
    bench.advance(seconds(1));
    bench.child(bench.launcher.launched() - 1).exit(1);
    EXPECT_FALSE(bench.status().ready);
    bench.advance(seconds(1));
  }
  bench.start_child();
  EXPECT_EQ(bench.status().state, pool::BackendState::failing);
  EXPECT_FALSE(bench.observer.breaker_open) << "no call is refused";
  bench.advance(seconds(5));
  EXPECT_TRUE(bench.status().ready);
  EXPECT_EQ(bench.status().state, pool::BackendState::ready);
}

TEST(BackendBreaker, TheMinimumIsFilledUpOnceAChildWorks) {
  BackendBench bench(failing_options(2, 4));
  FakeClient client(bench.callers);
  size_t dead = 0;
  const auto kill = [&] {
    for (; dead < bench.launcher.launched(); ++dead) bench.child(dead).exit(1);
  };
  for (int i = 0; i < 20; ++i) {  // until the wait is long
    kill();
    bench.advance(std::chrono::minutes(10));
  }
  kill();
  ASSERT_TRUE(bench.observer.breaker_open);
  bench.advance(seconds(31));
  bench.call(client);
  FakeChild& child = bench.start_child();
  const size_t before = bench.launcher.launched();
  EXPECT_EQ(bench.status().children.size(), 1U);
  child.answer(child.take_ids().at(0));
  bench.advance(milliseconds(1));
  EXPECT_EQ(bench.launcher.launched(), before + 1);
}

TEST(BackendBreaker, ManyChildrenThatDieTogetherAreOneFailure) {
  BackendBench bench(failing_options(4, 4));
  FakeClient client(bench.callers);
  for (size_t i = 0; i < 4; ++i) bench.child(i).start();
  for (size_t i = 0; i < 4; ++i) bench.child(i).die(9);
  EXPECT_EQ(bench.status().failures, 1U);
  EXPECT_FALSE(bench.status().breaker_open);
  EXPECT_FALSE(bench.observer.breaker_open);
  bench.call(client);
  EXPECT_TRUE(client.answers.empty()) << "it waits for the next child";
  bench.advance(pool::Breaker::kAtOnce);
  ASSERT_EQ(bench.launcher.launched(), 5U) << "one at a time, and at once";
  bench.advance(milliseconds(100));
  EXPECT_EQ(bench.launcher.launched(), 5U);
}

TEST(BackendBreaker, AFailedBackendWithoutAMinimumIsStartedForCallsAlone) {
  BackendBench bench(failing_options(0, 1));
  FakeClient client(bench.callers);
  bench.call(client);
  FakeChild& child = bench.start_child();
  child.answer(child.take_ids().at(0));
  child.die(9);
  EXPECT_FALSE(bench.status().ready);
  bench.advance(std::chrono::hours(1));
  ASSERT_EQ(bench.launcher.launched(), 1U);
  // The backend reports that it is ready, because clients would send no calls to a backend that is
  // not.
  EXPECT_TRUE(bench.status().ready);
  bench.call(client);
  ASSERT_EQ(bench.launcher.launched(), 2U);
}

TEST(BackendBreaker, ATrialThatIdlesOutWasASuccess) {
  backend::BackendOptions options = failing_options(0, 1);
  options.config.pool.idle_timeout = seconds(60);
  BackendBench bench(options);
  FakeClient client(bench.callers);
  bench.call(client);
  for (int i = 0; i < 5; ++i) fail_next_asked_start(bench, client);
  EXPECT_TRUE(bench.status().breaker_open);
  FakeChild& child = bench.start_child();
  bench.leave(client);
  bench.advance(seconds(60));
  ASSERT_EQ(child.ends().size(), 1U) << "idle";
  child.exit(0);
  const size_t launched = bench.launcher.launched();
  bench.advance(seconds(100));
  EXPECT_EQ(bench.launcher.launched(), launched) << "no work, no child";
  EXPECT_TRUE(bench.status().ready);
  client.answers.clear();
  bench.call(client);
  EXPECT_TRUE(client.answers.empty()) << "the call waits for a child and is not refused";
}

TEST(BackendBreaker, AStableChildsDeathStartsTheCountAnew) {
  BackendBench bench(failing_options(1, 1));
  for (int i = 0; i < 2; ++i) fail_next_start(bench);
  EXPECT_EQ(bench.status().failures, 2U);
  bench.start_child();
  bench.advance(seconds(30));
  bench.child(bench.launcher.launched() - 1).die(9);
  EXPECT_EQ(bench.status().failures, 1U);
}

// --- What is kept about exits ----------------------------------------------------------------

TEST(BackendExits, HowAChildEndedIsKept) {
  backend::BackendOptions options = failing_options(1, 1);
  options.hide_secrets = [](std::string_view text) {
    return text == "the key is sesame" ? std::string("the key is hidden") : std::string(text);
  };
  BackendBench bench(options);
  EXPECT_TRUE(bench.status().exits.empty());
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  bench.call(client, "1", 1);
  child.write_stderr("the key is sesame");
  child.write_stderr("<script>");
  bench.advance(milliseconds(1500));
  child.exit(3);
  bench.advance(milliseconds(250));
  const std::vector<pool::ChildExit> exits = bench.status().exits;
  ASSERT_EQ(exits.size(), 1U);
  EXPECT_EQ(exits[0].number, 1U);
  EXPECT_EQ(exits[0].pid, child.pid());
  EXPECT_EQ(exits[0].reason, ExitReason::exit_nonzero);
  EXPECT_TRUE(exits[0].failed);
  EXPECT_EQ(exits[0].detail, "exited with code 3");
  EXPECT_EQ(exits[0].last_words, (std::vector<std::string>{"the key is hidden", "<script>"}));
  EXPECT_EQ(exits[0].in_flight, 1U);
  EXPECT_EQ(exits[0].lived, milliseconds(1500));
  EXPECT_EQ(exits[0].age, milliseconds(250));
}

TEST(BackendExits, AsManyAreKeptOfThoseThatFailedAndOfOthers) {
  constexpr size_t kMost = pool::ExitJournal::kMaxOfAKind;
  std::vector<pool::ChildExit> exits;
  const auto add = [&exits](uint64_t number, bool failed) {
    pool::ChildExit exit;
    exit.number = number;
    exit.failed = failed;
    exit.age = milliseconds(100 - number);
    exits.push_back(std::move(exit));
  };
  for (uint64_t number = 1; number <= kMost + 1; ++number) add(number, false);
  for (uint64_t number = 11; number <= 11 + kMost; ++number) add(number, true);
  pool::ExitJournal::keep_last(exits);
  ASSERT_EQ(exits.size(), 2 * kMost);
  EXPECT_EQ(exits.front().number, 11 + kMost);
  EXPECT_EQ(exits[kMost - 1].number, 12U) << "the oldest that failed goes";
  EXPECT_EQ(exits.back().number, 2U) << "and the oldest of the others";
}

TEST(BackendExits, OneMoreThanAreKeptPushesOutTheOldest) {
  BackendBench bench(failing_options(1, 1));
  for (size_t i = 0; i <= pool::ExitJournal::kMaxOfAKind; ++i) {
    ASSERT_TRUE(bench.launcher.launched() > i);
    bench.start_child().exit(1);
    bench.advance(std::chrono::seconds(60));
  }
  const std::vector<pool::ChildExit> exits = bench.status().exits;
  ASSERT_EQ(exits.size(), pool::ExitJournal::kMaxOfAKind);
  EXPECT_EQ(exits.front().number, pool::ExitJournal::kMaxOfAKind + 1);
  EXPECT_EQ(exits.back().number, 2U);
}

}  // namespace
}  // namespace stdgate::test
