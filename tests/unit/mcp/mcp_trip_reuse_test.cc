// Which child a modern client's next call gets: a legacy server may remember what it was told, so
// calls one after the other find the same one.

#include "tests/unit/mcp/trip_bench.h"

namespace stdgate::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class TripReuse : public RoundTripsTest {
 public:
  // The call in flight at this child is answered; nothing else happens.
  void answer(size_t index) {
    const Texts ids = bench.child(index).take_ids();
    ASSERT_THAT(ids, SizeIs(1));
    bench.child(index).answer(ids[0], "{}");
  }
  void call_here(FakeClient& from, const std::string& id) {
    bench.call(from, id, "", kElicits, &ada);
  }
  // Two calls of one client at a time: they have the children 0 and 1.
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

// An answer is with its client at once, whose next call may come in the same turn.
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
  // It is ended when it has idled since its last call.
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
      call_here(client, "3");  // at the child 1
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

// Whichever others there are.
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
