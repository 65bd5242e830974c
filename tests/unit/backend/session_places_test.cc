// Sessions with a child of their own beside calls without a session: which places each of them may
// use.

#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

TEST(SessionPlaces, SharedChildrenFinishTheirCallsAndMakePlace) {
  backend::BackendOptions options = lease_options(3);
  options.config.pool.max_in_flight = 1;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  for (session::Tag tag = 0; tag < 4; ++tag) bench.call(client, std::to_string(tag), tag);
  for (size_t i = 0; i < 3; ++i) bench.child(i).start();
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session));
  bench.call(session);
  EXPECT_EQ(bench.launcher.launched(), 3U);
  EXPECT_THAT(bench.child(0).ends(), IsEmpty());
  bench.child(0).answer(bench.child(0).take_ids().at(0), "0");
  EXPECT_THAT(bench.child(0).ends(), ElementsAre(seconds(2)));
  EXPECT_THAT(bench.child(0).take_ids(), IsEmpty()) << "what waits goes to those that stay";
  bench.child(1).answer(bench.child(1).take_ids().at(0), "1");
  EXPECT_EQ(bench.child(1).take_ids().size(), 1U);
  EXPECT_THAT(bench.child(1).ends(), IsEmpty());
  EXPECT_THAT(bench.child(2).ends(), IsEmpty());
  bench.child(0).exit(0);
  ASSERT_EQ(bench.launcher.launched(), 4U);
  EXPECT_EQ(bench.start_child().take_ids().size(), 1U);
  EXPECT_EQ(bench.observer.exits, std::vector{ExitReason::asked});
  EXPECT_THAT(client.texts(), ElementsAre(result_text("0", "0"), result_text("1", "1")));
}

TEST(SessionPlaces, ForTwoSessionsTwoGo) {
  backend::BackendOptions options = lease_options(4);
  options.config.pool.max_in_flight = 1;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  for (int i = 0; i < 4; ++i) bench.call(client);
  for (size_t i = 0; i < 4; ++i) bench.child(i).start();
  FakeSession one(bench.callers);
  FakeSession two(bench.callers);
  ASSERT_FALSE(bench.open(one));
  ASSERT_FALSE(bench.open(two));
  for (size_t i = 0; i < 4; ++i) {
    bench.child(i).answer(bench.child(i).take_ids().at(0));
    EXPECT_EQ(bench.child(i).ends().size(), i < 2 ? 1U : 0U) << i;
  }
}

TEST(SessionPlaces, ForTheWarmChildThatTakesThePlaceOfTheTakenOne) {
  backend::BackendOptions options = lease_options(3, 1);
  options.config.pool.max_in_flight = 1;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  for (int i = 0; i < 3; ++i) bench.call(client);
  ASSERT_EQ(bench.launcher.launched(), 3U);
  for (size_t i = 0; i < 3; ++i) bench.child(i).start();
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session));
  bench.child(1).answer(bench.child(1).take_ids().at(0));
  EXPECT_THAT(bench.child(1).ends(), ElementsAre(seconds(2)));
  bench.child(1).exit(0);
  ASSERT_EQ(bench.launcher.launched(), 4U);
  bench.child(3).start();
  EXPECT_THAT(bench.child(3).take_lines(), IsEmpty()) << "though a call waits";
}

TEST(SessionPlaces, OfASessionThatHasLostItsChildIsFree) {
  backend::BackendOptions options = lease_options(3);
  options.config.pool.max_in_flight = 1;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session));
  bench.start_child().exit(0);
  for (int i = 0; i < 3; ++i) bench.call(client);
  EXPECT_EQ(bench.launcher.launched(), 4U);
  bench.close(session);
  EXPECT_EQ(bench.launcher.launched(), 4U);
}

TEST(SessionPlaces, ForTheMinimumToo) {
  backend::BackendOptions options = lease_options(1);
  options.config.pool.min = 1;
  BackendBench bench(options);
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session));
  EXPECT_THAT(bench.child(0).ends(), ElementsAre(seconds(2)));
  bench.child(0).exit(0);
  bench.start_child().exit(0);
  EXPECT_EQ(bench.launcher.launched(), 3U);
  bench.close(session);
  EXPECT_EQ(bench.launcher.launched(), 3U);
}

TEST(SessionPlaces, KeptForOtherCallsAreLentWhileThereAreNone) {
  backend::BackendOptions options = lease_options(2);
  options.config.pool.min = 1;
  options.config.pool.idle_timeout = seconds(60);
  BackendBench bench(options);
  bench.start_child();
  FakeSession first(bench.callers);
  FakeSession second(bench.callers);
  ASSERT_FALSE(bench.open(first));
  bench.start_child();
  EXPECT_THAT(bench.child(0).ends(), IsEmpty());
  ASSERT_FALSE(bench.open(second));
  EXPECT_THAT(bench.child(0).ends(), ElementsAre(seconds(2)));
  bench.child(0).exit(0);
  EXPECT_EQ(bench.launcher.launched(), 3U);
  bench.close(second);
  bench.child(2).exit(0);
  EXPECT_EQ(bench.launcher.launched(), 4U) << "the minimum again";
}

TEST(SessionPlaces, KeptForOtherCallsStayForATimeAfterTheLastOne) {
  backend::BackendOptions options = lease_options(2);
  options.config.pool.min = 1;
  options.config.pool.idle_timeout = seconds(60);
  BackendBench bench(options);
  bench.start_child();
  FakeClient client(bench.callers);
  bench.call(client);
  bench.child(0).answer(bench.child(0).take_ids().at(0));
  FakeSession first(bench.callers);
  FakeSession second(bench.callers);
  ASSERT_FALSE(bench.open(first));
  bench.start_child();
  const auto obstacle = bench.open(second);
  ASSERT_TRUE(obstacle);
  EXPECT_THAT(obstacle->message,
              HasSubstr("1 of 1 children have a session, and 1 of 2 children kept for calls "
                        "without a session (pool.min)"));
  bench.advance(seconds(59));
  EXPECT_TRUE(bench.open(second));
  bench.advance(seconds(1));
  EXPECT_FALSE(bench.open(second));
}

TEST(SessionPlaces, TheIdleOneGoesFirst) {
  backend::BackendOptions options = lease_options(2);
  options.config.pool.max_in_flight = 1;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  bench.call(client);
  bench.call(client);
  bench.child(0).start();
  bench.child(1).start();
  bench.child(1).answer(bench.child(1).take_ids().at(0));
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session));
  EXPECT_THAT(bench.child(0).ends(), IsEmpty());
  EXPECT_THAT(bench.child(1).ends(), ElementsAre(seconds(2)));
}

TEST(SessionPlaces, OneThatRetiresGoesAlsoWhenItsCallsAreGivenUp) {
  struct Row {
    const char* what;
    void (*give_up)(BackendBench& bench, FakeClient& client);
  };
  const std::vector<Row> rows = {
      {"deadline", [](BackendBench& bench, FakeClient&) { bench.advance(seconds(10)); }},
      {"left", [](BackendBench& bench, FakeClient& client) { bench.leave(client); }},
      {"broken answer",
       [](BackendBench& bench, FakeClient&) {
         bench.child(0).say(R"({"jsonrpc":"2.0","id":)" + bench.child(0).take_ids().at(0) + "}");
       }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    BackendBench bench(lease_options(1));
    FakeClient client(bench.callers);
    bench.call(client);
    bench.start_child();
    FakeSession session(bench.callers);
    ASSERT_FALSE(bench.open(session));
    EXPECT_THAT(bench.child(0).ends(), IsEmpty());
    row.give_up(bench, client);
    EXPECT_EQ(bench.child(0).ends().size(), 1U);
  }
}

TEST(SessionPlaces, CallsAreRefusedWhenSessionsHaveAllChildren) {
  BackendBench bench(lease_options(1));
  FakeClient client(bench.callers);
  bench.call(client, "\"waits\"");
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session));
  ASSERT_EQ(client.answers.size(), 1U) << "what waited can wait for nothing any more";
  bench.call(client, "\"comes\"");
  ASSERT_EQ(client.answers.size(), 2U);
  for (const FakeClient::Answer& answer : client.answers) {
    EXPECT_EQ(answer.fault, rpc::Fault::overloaded);
    EXPECT_EQ(answer.retry_after, seconds(1));
  }
  EXPECT_EQ(bench.send(client, note_text("n")), backend::Admission::refused_overloaded);
  bench.close(session);
  bench.child(0).exit(0);
  bench.call(client);
  FakeChild& child = bench.start_child();
  child.answer(child.take_ids().at(0));
  EXPECT_EQ(client.answers.size(), 3U);
}

TEST(SessionPlaces, TheMinimumIsKeptForCalls) {
  backend::BackendOptions options = lease_options(3);
  options.config.pool.min = 2;
  BackendBench bench(options);
  EXPECT_EQ(bench.launcher.launched(), 2U);
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session));
  EXPECT_EQ(bench.launcher.launched(), 3U);
  FakeClient client(bench.callers);
  bench.call(client);
  for (size_t i = 0; i < 3; ++i) bench.child(i).start();
  EXPECT_EQ(bench.child(0).take_ids().size(), 1U);
  EXPECT_THAT(bench.child(2).take_lines(), IsEmpty());
}

TEST(SessionPlaces, AChildThatItsSessionHasLostIsNotReplacedForNobody) {
  BackendBench bench(lease_options(3));
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session));
  bench.start_child();
  bench.child(0).die(11);
  bench.advance(seconds(600));
  EXPECT_EQ(bench.launcher.launched(), 1U) << "nobody needs one";
  EXPECT_TRUE(bench.status().ready) << bench.status().reason;
  bench.close(session);
  FakeSession next(bench.callers);
  ASSERT_FALSE(bench.open(next));
  EXPECT_EQ(bench.launcher.launched(), 2U);
}

TEST(SessionPlaces, ABackendWhoseChildrenDieAllIsTriedAgainByTheNextSession) {
  backend::BackendOptions options = lease_options(3);
  options.config.pool.breaker_failures = 2;
  BackendBench bench(options);
  for (size_t i = 0; i < 2; ++i) {
    FakeSession session(bench.callers);
    ASSERT_FALSE(bench.open(session));
    bench.advance(seconds(60));
    bench.start_child();
    bench.advance(seconds(1));
    bench.child(i).die(11);
    bench.close(session);
  }
  EXPECT_FALSE(bench.status().ready);
  FakeSession early(bench.callers);
  EXPECT_TRUE(bench.open(early)) << "not yet";
  bench.advance(bench.status().retry_after);
  ASSERT_EQ(bench.launcher.launched(), 2U) << "nobody needs one";
  EXPECT_TRUE(bench.status().ready);
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session));
  ASSERT_EQ(bench.launcher.launched(), 3U);
  FakeSession other(bench.callers);
  EXPECT_TRUE(bench.open(other)) << "one at a time";
  FakeChild& child = bench.start_child();
  EXPECT_FALSE(bench.status().ready) << "it has shown nothing yet";
  bench.call(session);
  child.answer(child.take_ids().at(0));
  EXPECT_TRUE(bench.status().ready);
}

}  // namespace
}  // namespace stdgate::test
