// Deaths, floods and departures at each point of a modern client's call at a legacy child that
// asks. In each case the client is answered once, nothing is left behind, and the next call is
// served.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "gateway/mcp/bridge/trip_parking.h"
#include "tests/unit/mcp/trip_bench.h"

namespace stdgate::test {

namespace {

using testing::ElementsAre;

const std::string kAskAgain =
    R"({"jsonrpc":"2.0","id":8,"method":"elicitation/create","params":{"message":"why?"}})";

class TripEnds : public RoundTripsTest {
 public:
  // Checks that nothing of a call is left, and that another child serves the next call.
  void expect_next_call_served() {
    bench.advance(seconds(1));
    EXPECT_EQ(bench.backend.calls(), 0U);
    EXPECT_EQ(bench.status().parked_calls, 0U);
    EXPECT_EQ(bench.status().queued, 0U);
    FakeClient next(bench.callers);
    const size_t index = bench.launcher.launched();
    bench.call(next, "1");
    ASSERT_EQ(bench.launcher.launched(), index + 1);
    bench.greet(index);
    bench.child(index).answer(bench.child(index).take_ids().at(0), "{}");
    EXPECT_THAT(next.texts(), ElementsAre(HasSubstr(R"("result")")));
  }
  // Checks the number of the client's answers. The last answer says that the child has failed.
  void expect_failure(size_t answers) {
    bench.settle();
    ASSERT_EQ(client.answers.size(), answers);
    EXPECT_THAT(client.texts().back(), HasSubstr("-31502"));
  }
  void retry(const std::string& id) { bench.call(client, id, with_answer(needed)); }
};

INSTANTIATE_TEST_SUITE_P(Isolations, TripEnds,
                         testing::Values(config::Isolation::shared, config::Isolation::session));

TEST_P(TripEnds, ADeathBeforeTheGreetingIsAnswered) {
  bench.call(client, "1");
  bench.child(0).start();
  bench.child(0).die(9);
  expect_failure(1);
  expect_next_call_served();
}

TEST_P(TripEnds, ADeathBeforeAnythingIsAsked) {
  called().die(9);
  expect_failure(1);
  expect_next_call_served();
}

TEST_P(TripEnds, ADeathBetweenTheQuestionAndTheRound) {
  FakeChild& child = called();
  child.say(kAsk);
  child.die(9);
  expect_failure(1);
  expect_next_call_served();
}

TEST_P(TripEnds, ADeathAfterTheRetry) {
  FakeChild& child = parked();
  retry("2");
  child.die(9);
  expect_failure(2);
  retry("3");
  EXPECT_THAT(client.texts().at(2), HasSubstr("-32602"));
  expect_next_call_served();
}

TEST_P(TripEnds, ADeathInTheSecondRound) {
  FakeChild& child = parked();
  retry("2");
  child.say(kAskAgain);
  bench.settle();
  ASSERT_EQ(client.answers.size(), 2U);
  needed = needed_of(client.texts()[1]);
  child.die(9);
  bench.settle();
  retry("3");
  expect_failure(3);
  expect_next_call_served();
}

TEST_P(TripEnds, ADeathWhileMissingAnswersAreAskedFor) {
  FakeChild& child = parked();
  bench.call(client, "2", with_state(needed.state));
  bench.settle();
  ASSERT_EQ(client.answers.size(), 2U);
  needed = needed_of(client.texts()[1]);
  child.die(9);
  bench.settle();
  retry("3");
  expect_failure(3);
  expect_next_call_served();
}

// Two calls are parked, and a third call waits for one of their places.
class TripQueue : public TripEnds {
 public:
  TripQueue() {
    for (size_t index = 0; index < 3; ++index) {
      bench.call(*clients[index], "1");
      bench.greet(index);
      bench.child(index).take_lines();
      bench.child(index).say(kAsk);
      bench.settle();
    }
    EXPECT_TRUE(third.answers.empty());
  }
  void expect_others_unharmed() {
    EXPECT_EQ(bench.status().parked_calls, 2U);
    for (FakeClient* each : {&client, &other}) {
      bench.call(*each, "2", with_answer(needed_of(each->texts().at(0))));
    }
    for (const size_t index : {0, 1}) {
      const Texts lines = bench.child(index).take_lines();
      EXPECT_THAT(lines, ElementsAre(HasSubstr(R"("id":7,"result":{"action":"accept")")));
    }
  }
  FakeClient third{bench.callers};
  std::array<FakeClient*, 3> clients = {&client, &other, &third};
};

INSTANTIATE_TEST_SUITE_P(Isolations, TripQueue,
                         testing::Values(config::Isolation::shared, config::Isolation::session));

TEST_P(TripQueue, OneThatWaitsDies) {
  bench.child(2).die(9);
  bench.settle();
  EXPECT_THAT(third.texts(), ElementsAre(HasSubstr("-31502")));
  expect_others_unharmed();
}

TEST_P(TripQueue, OneThatIsParkedDiesAndGivesItsPlaceBack) {
  bench.child(0).die(9);
  bench.settle();
  EXPECT_EQ(third.answers.size(), 1U) << "it has the place";
  EXPECT_EQ(bench.status().parked_calls, 2U);
  EXPECT_EQ(bench.observer.parked_ends[ParkedEnd::failed], 1);
  const std::string answer = with_answer(needed_of(client.texts().at(0)));
  bench.call(other, "7", answer);
  EXPECT_THAT(other.texts().back(), HasSubstr("-31502")) << "anonymous clients are not told apart";
  bench.call(client, "8", answer);
  EXPECT_THAT(client.texts().back(), HasSubstr("-32602")) << "it is told once";
  bench.backend.check_invariants();
}

// The three calls were never parked at the same time: when a child dies, the place of its call
// passes on.
TEST_P(TripQueue, AllThatHaveDiedHearOfIt) {
  for (const size_t index : {0, 1, 2}) {
    bench.child(index).die(9);
    bench.settle();
  }
  EXPECT_EQ(bench.status().parked_calls, 0U);
  for (FakeClient* each : clients) {
    bench.call(*each, "2", with_answer(needed_of(each->texts().at(0))));
    EXPECT_THAT(each->texts().back(), HasSubstr("-31502"));
  }
}

TEST_P(TripQueue, WhatHasDiedExpiresToo) {
  bench.child(0).die(9);
  bench.advance(minutes(5));
  bench.call(client, "2", with_answer(needed_of(client.texts().at(0))));
  EXPECT_THAT(client.texts().back(), HasSubstr("-32602"));
}

TEST_P(TripQueue, OneThatWaitsLeaves) {
  bench.leave(third);
  bench.settle();
  EXPECT_FALSE(bench.child(2).ends().empty()) << "it has nobody to ask any more";
  expect_others_unharmed();
}

TEST_P(TripQueue, OneThatWaitsHasItsDeadline) {
  bench.advance(seconds(10));
  EXPECT_THAT(third.texts(), ElementsAre(HasSubstr("-31504")));
  expect_others_unharmed();
}

// The message must not blame the child.
TEST_P(TripQueue, OneThatWaitsInVainIsToldOfThePlaces) {
  const std::string why =
      "2 of 2 places of parked calls are taken; raise backends.fake.pool.parked";
  bench.advance(seconds(10));
  EXPECT_THAT(third.texts(), ElementsAre(HasSubstr("\"" + why + "\"")));
  EXPECT_EQ(bench.observer.records.back().detail, why);
}

TEST_P(TripQueue, ThatCallsWaitForPlacesIsLoggedOnce) {
  constexpr std::string_view kLine = "calls wait for places of parked calls";
  const std::string* const line = bench.log.find(kLine);
  ASSERT_NE(line, nullptr);
  EXPECT_THAT(*line, HasSubstr("raise backends.fake.pool.parked"));
  const auto is_of_it = [&](const std::string& each) { return each.starts_with(kLine); };
  bench.child(2).say(kAskAgain);
  bench.settle();
  EXPECT_EQ(std::ranges::count_if(bench.log.lines, is_of_it), 1) << "it is the same call";
}

// Other reasons for the end of a call are reported as usual.
TEST_P(TripEnds, AChildThatIsSlowIsToldAsSuch) {
  called();
  bench.advance(seconds(10));
  EXPECT_THAT(client.texts(),
              ElementsAre(HasSubstr("stdgate gave up: no answer and no sign of life for 10s")));
}

TEST_P(TripEnds, AShareOfThePlacesIsToldAsSuch) {
  const policy::Principal ada = named("ada");
  for (const size_t index : {0, 1}) {
    bench.call(index == 0 ? client : other, "1", "", kElicits, &ada);
    bench.greet(index);
    bench.child(index).take_lines();
    bench.child(index).say(kAsk);
    bench.settle();
  }
  bench.advance(seconds(10));
  EXPECT_THAT(other.texts(), ElementsAre(HasSubstr("this client has 1 of 1 places")));
}

// A parked call has no connection. The gateway does not know that the client has left, so the call
// stays parked.
TEST_P(TripQueue, TheClientsOfParkedCallsLeave) {
  bench.leave(client);
  bench.leave(other);
  bench.settle();
  expect_others_unharmed();
}

// --- Floods

TEST_P(TripEnds, MoreQuestionsThanASessionMayHaveAreRefused) {
  FakeChild& child = called();
  constexpr size_t kMore = 10;
  for (size_t id = 0; id < session::Session::kMaxAsks + kMore; ++id) {
    std::string text = kAsk;
    child.say(text.replace(text.find("\"id\":7"), 6, "\"id\":" + std::to_string(id)));
  }
  const Texts refused = child.take_lines();
  EXPECT_THAT(refused, testing::AllOf(testing::SizeIs(kMore), testing::Each(HasSubstr("-32603"))));
  bench.settle();
  ASSERT_EQ(client.answers.size(), 1U);
  child.die(9);
  bench.settle();
  bench.call(client, "2", with_state(needed_of(client.texts()[0]).state));
  expect_failure(2);
  expect_next_call_served();
}

TEST_P(TripEnds, MoreBytesOfQuestionsThanAMessageHasAreRefused) {
  FakeChild& child = called();
  const std::string filling(backend::BackendOptions().limits.message / 2, 'x');
  for (const char* id : {"1", "2", "3"}) {
    child.say(R"({"jsonrpc":"2.0","id":)" + std::string(id) +
              R"(,"method":"elicitation/create","params":{"message":")" + filling + "\"}}");
  }
  bench.settle();
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_LT(client.texts()[0].size(), 2 * filling.size());
  const Texts lines = child.take_lines();
  EXPECT_THAT(lines, testing::Each(HasSubstr("-32601")));
  EXPECT_FALSE(lines.empty());
}

// Guessed states do not use up the right state and take no memory, however many there are.
TEST_P(TripEnds, GuessedStatesUseNothingUp) {
  FakeChild& child = parked();
  const policy::Principal eve = named("eve");
  for (int i = 0; i < 1000; ++i) {
    bench.call(other, "9", with_state("state-" + std::to_string(i)), kElicits, &eve);
  }
  for (const std::string& text : other.texts()) EXPECT_THAT(text, HasSubstr("-32602"));
  EXPECT_EQ(other.answers.size(), 1000U);
  EXPECT_EQ(bench.launcher.launched(), 1U);
  EXPECT_TRUE(child.take_lines().empty());
  retry("2");
  EXPECT_EQ(child.take_lines().size(), 1U);
}

}  // namespace

// The child that a modern client's next call gets. A legacy server may remember earlier messages,
// so successive calls get the same child.

namespace {

using testing::IsEmpty;
using testing::SizeIs;

class TripReuse : public RoundTripsTest {
 public:
  // Answers the call in flight at this child, without advancing time.
  void answer(size_t index) {
    const Texts ids = bench.child(index).take_ids();
    ASSERT_THAT(ids, SizeIs(1));
    bench.child(index).answer(ids[0], "{}");
  }
  void call_here(FakeClient& from, const std::string& id) {
    bench.call(from, id, "", kElicits, &ada);
  }
  // Sends two calls of one client at the same time. They get the children 0 and 1.
  void call_twice() {
    call_here(client, "1");
    call_here(client, "2");
    bench.greet(0);
    bench.greet(1);
  }

  const policy::Principal ada = named("ada");
  const policy::Principal bob = named("bob");
};

INSTANTIATE_TEST_SUITE_P(Isolations, TripReuse,
                         testing::Values(config::Isolation::shared, config::Isolation::session));

// The client receives its answer at once, so its next call may come in the same turn.
TEST_P(TripReuse, CallsRightAfterTheAnswerFindTheSameChild) {
  call_here(client, "1");
  bench.greet(0);
  for (int i = 2; i < 8; ++i) {
    answer(0);
    call_here(client, std::to_string(i));
    if (i % 2 == 0) bench.settle();
  }
  answer(0);
  EXPECT_THAT(client.answers, SizeIs(7));
  EXPECT_EQ(bench.launcher.launched(), 1U);
  bench.settle();
  bench.backend.check_invariants();
  // The child is ended when it has been idle since its last call.
  bench.advance(minutes(5) - kGather - milliseconds(1));
  EXPECT_THAT(bench.child(0).ends(), IsEmpty());
  bench.advance(milliseconds(1));
  EXPECT_THAT(bench.child(0).ends(), Not(IsEmpty()));
}

TEST_P(TripReuse, AChildThatHasAskedInVainIsLeftAlone) {
  call_here(client, "1");
  bench.greet(0);
  const std::string id = bench.child(0).take_ids().at(0);
  bench.child(0).say(kAsk);
  bench.child(0).answer(id, "{}");
  EXPECT_THAT(client.answers, SizeIs(1));
  call_here(client, "2");
  EXPECT_EQ(bench.launcher.launched(), 2U);
  bench.settle();
  EXPECT_THAT(bench.child(0).ends(), Not(IsEmpty()));
}

TEST_P(TripReuse, OfSeveralTheOneUsedLast) {
  for (const bool is_second_last : {true, false}) {
    bench.settle();
    if (is_second_last) {
      call_twice();
    } else {
      call_here(client, "3");  // served by child 1
      call_here(client, "4");
    }
    answer(is_second_last ? 0 : 1);
    answer(is_second_last ? 1 : 0);
    call_here(client, "5");
    answer(is_second_last ? 1 : 0);
    bench.settle();
    call_here(client, "6");
    answer(is_second_last ? 1 : 0);
  }
  EXPECT_EQ(bench.launcher.launched(), 2U);
}

// A client's own child is preferred, whichever other children are idle.
TEST_P(TripReuse, AClientsOwnGoesBeforeAnothersOne) {
  call_here(client, "1");
  bench.call(other, "1", "", kElicits, &bob);
  bench.greet(0);
  bench.greet(1);
  answer(0);
  answer(1);
  bench.settle();
  for (int i = 2; i < 5; ++i) {
    call_here(client, std::to_string(i));
    answer(0);
    bench.call(other, std::to_string(i), "", kElicits, &bob);
    answer(1);
  }
  EXPECT_EQ(bench.launcher.launched(), 2U);
}

}  // namespace

}  // namespace stdgate::test

namespace stdgate::mcp {

namespace {

constexpr TimePoint kNow{std::chrono::seconds(100)};

TripRound lost(uint64_t trip) { return {trip, 1, kNow + std::chrono::seconds(1)}; }

// Few calls may be parked at a time, but their places pass on as soon as their children have ended.
TEST(LostTrips, AreKeptForSomeClientsWhateverTheirLimit) {
  LostTrips trips(1);
  for (uint64_t trip = 0; trip < LostTrips::kLeast; ++trip) {
    trips.add(lost(trip), rpc::faults::child_failed("gone"));
  }
  EXPECT_TRUE(trips.take(lost(0), kNow).has_value());
  EXPECT_FALSE(trips.take(lost(0), kNow).has_value()) << "told once";
  for (const uint64_t trip : {1000, 1001}) trips.add(lost(trip), rpc::faults::child_failed("gone"));
  EXPECT_FALSE(trips.take(lost(1), kNow).has_value()) << "the oldest is forgotten";
  EXPECT_TRUE(trips.take(lost(2), kNow).has_value());
}

TEST(LostTrips, AreKeptUntilTheirStatesEnd) {
  LostTrips trips(1);
  trips.add(lost(1), rpc::faults::child_failed("gone"));
  EXPECT_FALSE(trips.take(lost(1), lost(1).expires).has_value());
}

}  // namespace

}  // namespace stdgate::mcp
