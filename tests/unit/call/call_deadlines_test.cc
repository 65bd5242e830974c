#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "gateway/call/call_store.h"

namespace stdgate {
namespace {

TimePoint at(int64_t time) { return TimePoint(Duration(time)); }

class CallDeadlinesTest : public testing::Test {
 protected:
  call::CallPtr call(int64_t deadline) {
    call::CallPtr call = calls_.take();
    call->deadline = at(deadline);
    calls_.deadlines().add(*call);
    return call;
  }
  std::vector<int64_t> due(int64_t now) {
    std::vector<int64_t> times;
    for (const call::Call* call : calls_.deadlines().take_due(at(now))) {
      times.push_back(call->deadline.time_since_epoch().count());
    }
    return times;
  }

  call::CallStore calls_;
};

TEST_F(CallDeadlinesTest, EachIsDueAtItsOwnTime) {
  std::vector<call::CallPtr> kept;
  for (const int64_t deadline : {30, 10, 50, 20, 40}) kept.push_back(call(deadline));
  EXPECT_EQ(calls_.deadlines().next(), at(10));
  EXPECT_TRUE(due(9).empty());
  EXPECT_EQ(due(10), std::vector<int64_t>{10});
  EXPECT_EQ(calls_.deadlines().next(), at(20));
  EXPECT_EQ(due(40), (std::vector<int64_t>{30, 20, 40})) << "in the order of their admission";
  EXPECT_EQ(due(100), std::vector<int64_t>{50});
  EXPECT_EQ(calls_.deadlines().next(), std::nullopt);
}

TEST_F(CallDeadlinesTest, ThoseDueTogetherAreInTheOrderOfTheirAdmission) {
  std::vector<call::CallPtr> kept;
  for (int i = 0; i < 100; ++i) kept.push_back(call(7));
  const auto expired = calls_.deadlines().take_due(at(7));
  ASSERT_EQ(expired.size(), kept.size());
  for (size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(expired[i], kept[i].get());
}

TEST_F(CallDeadlinesTest, ACallWithoutADeadlineIsNotInIt) {
  const call::CallPtr call = calls_.take();
  calls_.deadlines().add(*call);
  EXPECT_EQ(calls_.deadlines().size(), 0U);
  calls_.deadlines().remove(*call);
}

TEST_F(CallDeadlinesTest, ACallThatIsGivenBackLeavesIt) {
  call::CallPtr early = call(1);
  const call::CallPtr late = call(2);
  early.reset();
  EXPECT_EQ(calls_.deadlines().next(), at(2));
  EXPECT_EQ(calls_.deadlines().size(), 1U);
  const call::CallPtr again = calls_.take();
  EXPECT_EQ(again->heap_place, call::Call::kNoPlace);
}

TEST_F(CallDeadlinesTest, AnyHistoryKeepsTheEarliestFirst) {
  std::mt19937_64 random(11);
  std::vector<call::CallPtr> kept;
  const auto earliest = [&kept] {
    const auto least = std::min_element(kept.begin(), kept.end(), [](const auto& a, const auto& b) {
      return a->deadline < b->deadline;
    });
    return (*least)->deadline;
  };
  for (int step = 0; step < 20'000; ++step) {
    if (kept.size() < 300 && (kept.empty() || random() % 2 == 0)) {
      kept.push_back(call(static_cast<int64_t>(random() % 1000)));
    } else {
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(random() % kept.size()));
    }
    ASSERT_EQ(calls_.deadlines().size(), kept.size());
    if (!kept.empty()) {
      ASSERT_EQ(calls_.deadlines().next(), earliest());
    }
    if (step % 100 == 0) calls_.deadlines().check_invariants();
  }
}

}  // namespace
}  // namespace stdgate
