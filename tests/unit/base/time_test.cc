#include "gateway/base/time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "gateway/base/log.h"
#include "tests/fuzz/random_seed.h"

namespace stdgate {

// Timers: which timers fire, when, and in which order.

namespace {

TimePoint at(int64_t ns) { return TimePoint(Duration(ns)); }

class TimersTest : public testing::Test {
 protected:
  // A timer that records its number.
  std::unique_ptr<Timer> noting(int number) {
    return std::make_unique<Timer>(queue_, [this, number] { fired_.push_back(number); });
  }

  TimerQueue queue_;
  std::vector<int> fired_;
};

TEST_F(TimersTest, NothingArmed) {
  EXPECT_EQ(queue_.next_due(), std::nullopt);
  queue_.run_due(at(100));
  const auto timer = noting(1);
  EXPECT_FALSE(timer->armed());
  timer->disarm();
  EXPECT_EQ(queue_.next_due(), std::nullopt);
}

TEST_F(TimersTest, FiresOnceWhenDueAndNotBefore) {
  const auto timer = noting(1);
  timer->arm(at(10));
  EXPECT_TRUE(timer->armed());
  EXPECT_EQ(timer->due(), at(10));
  EXPECT_EQ(queue_.next_due(), at(10));
  EXPECT_TRUE(fired_.empty());
  queue_.run_due(at(9));
  EXPECT_TRUE(fired_.empty());
  queue_.run_due(at(10));
  EXPECT_EQ(fired_, std::vector{1});
  EXPECT_FALSE(timer->armed());
  EXPECT_EQ(queue_.next_due(), std::nullopt);
  queue_.run_due(at(1000));
  EXPECT_EQ(fired_, std::vector{1});
}

TEST_F(TimersTest, InOrderOfTime) {
  std::vector<std::unique_ptr<Timer>> timers;
  for (const int due : {50, 10, 40, 20, 30, 60}) {
    timers.push_back(noting(due));
    timers.back()->arm(at(due));
  }
  queue_.run_due(at(35));
  EXPECT_EQ(fired_, (std::vector{10, 20, 30}));
  EXPECT_EQ(queue_.next_due(), at(40));
  queue_.run_due(at(100));
  EXPECT_EQ(fired_, (std::vector{10, 20, 30, 40, 50, 60}));
}

TEST_F(TimersTest, ArmingAgainMoves) {
  const auto a = noting(1);
  const auto b = noting(2);
  a->arm(at(10));
  b->arm(at(20));
  a->arm(at(30));
  EXPECT_EQ(queue_.next_due(), at(20));
  b->arm(at(5));
  EXPECT_EQ(queue_.next_due(), at(5));
  queue_.run_due(at(29));
  EXPECT_EQ(fired_, std::vector{2});
  queue_.run_due(at(30));
  EXPECT_EQ(fired_, (std::vector{2, 1}));
}

TEST_F(TimersTest, ArmingByATimeMovesOnlyTowardsThePresent) {
  const auto timer = noting(1);
  timer->arm_by(TimePoint::max());
  EXPECT_FALSE(timer->armed());
  for (const auto& [due, then] : {std::pair{20, 20}, {30, 20}, {10, 10}}) {
    timer->arm_by(at(due));
    EXPECT_EQ(queue_.next_due(), at(then)) << due;
  }
  queue_.run_due(at(10));
  EXPECT_EQ(fired_, std::vector{1});
  timer->arm_by(at(30));
  EXPECT_EQ(queue_.next_due(), at(30)) << "it has fired";
}

TEST_F(TimersTest, ADisarmedOrDestroyedTimerIsSilent) {
  const auto a = noting(1);
  auto b = noting(2);
  const auto c = noting(3);
  a->arm(at(10));
  b->arm(at(11));
  c->arm(at(12));
  a->disarm();
  EXPECT_FALSE(a->armed());
  b.reset();
  EXPECT_EQ(queue_.next_due(), at(12));
  queue_.run_due(at(20));
  EXPECT_EQ(fired_, std::vector{3});
}

TEST_F(TimersTest, ACallbackDisarmsOneThatIsDueToo) {
  const auto victim = noting(2);
  Timer killer(queue_, [&] {
    fired_.push_back(1);
    EXPECT_TRUE(victim->armed());
    victim->disarm();
    EXPECT_FALSE(victim->armed());
  });
  const auto last = noting(3);
  killer.arm(at(1));
  victim->arm(at(2));
  last->arm(at(3));
  queue_.run_due(at(10));
  EXPECT_EQ(fired_, (std::vector{1, 3}));
}

TEST_F(TimersTest, ACallbackDestroysOneThatIsDueToo) {
  auto victim = noting(2);
  Timer killer(queue_, [&] { victim.reset(); });
  killer.arm(at(1));
  victim->arm(at(2));
  queue_.run_due(at(10));
  EXPECT_TRUE(fired_.empty());
}

TEST_F(TimersTest, ACallbackMovesOneThatIsDueToo) {
  const auto victim = noting(2);
  Timer mover(queue_, [&] { victim->arm(at(20)); });
  mover.arm(at(1));
  victim->arm(at(2));
  queue_.run_due(at(10));
  EXPECT_TRUE(fired_.empty());
  EXPECT_EQ(queue_.next_due(), at(20));
  queue_.run_due(at(20));
  EXPECT_EQ(fired_, std::vector{2});
}

TEST_F(TimersTest, WhatACallbackArmsForNowFiresInTheNextRun) {
  int runs = 0;
  std::unique_ptr<Timer> self;
  self = std::make_unique<Timer>(queue_, [&] {
    EXPECT_FALSE(self->armed());
    ++runs;
    self->arm(at(5));
  });
  self->arm(at(5));
  queue_.run_due(at(10));
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(self->armed());
  queue_.run_due(at(10));
  EXPECT_EQ(runs, 2);
}

TEST_F(TimersTest, ACallbackDestroysItsOwnTimer) {
  std::unique_ptr<Timer> self;
  self = std::make_unique<Timer>(queue_, [this, &self] {
    fired_.push_back(1);
    self.reset();
  });
  const auto other = noting(2);
  self->arm(at(1));
  other->arm(at(2));
  queue_.run_due(at(10));
  EXPECT_EQ(self, nullptr);
  EXPECT_EQ(fired_, (std::vector{1, 2}));
}

TEST_F(TimersTest, RandomUseAgainstAList) {
  constexpr size_t kTimers = 40;
  std::mt19937_64 random(test::random_seed());
  std::vector<std::unique_ptr<Timer>> timers(kTimers);
  std::vector<std::optional<int64_t>> model(kTimers);  // due times of the armed timers
  for (size_t i = 0; i < kTimers; ++i) timers[i] = noting(static_cast<int>(i));
  int64_t now = 0;
  for (int step = 0; step < 20000; ++step) {
    const size_t i = random() % kTimers;
    switch (random() % 4) {
      case 0:
        timers[i]->disarm();
        model[i].reset();
        break;
      case 1:
        timers[i] = noting(static_cast<int>(i));
        model[i].reset();
        break;
      case 2:
        now += static_cast<int64_t>(random() % 10);
        queue_.run_due(at(now));
        break;
      default:
        model[i] = now + 1 + static_cast<int64_t>(random() % 100);
        timers[i]->arm(at(*model[i]));
    }
    int64_t last_due = 0;
    for (const int fired : fired_) {
      auto& due = model[static_cast<size_t>(fired)];
      ASSERT_TRUE(due && *due <= now && *due >= last_due);
      last_due = *due;
      due.reset();
    }
    fired_.clear();
    const auto earliest = std::min_element(model.begin(), model.end(), [](auto& a, auto& b) {
      return a.value_or(INT64_MAX) < b.value_or(INT64_MAX);
    });
    ASSERT_TRUE(!*earliest || **earliest > now);
    ASSERT_EQ(queue_.next_due(), *earliest ? std::optional(at(**earliest)) : std::nullopt);
  }
}

}  // namespace

// RateLimit: a number of events per second, and a count of the rest.

namespace {

using std::chrono::milliseconds;

TEST(RateLimit, AllowsItsNumberAWindow) {
  struct Case {
    Duration at;
    bool allowed;
  };
  const std::vector<Case> cases = {
      {milliseconds(0), true},     {milliseconds(1), true},     {milliseconds(2), false},
      {milliseconds(999), false},  {milliseconds(1000), true},  {milliseconds(1500), true},
      {milliseconds(1999), false}, {milliseconds(9000), true},  {milliseconds(9000), true},
      {milliseconds(9000), false}, {milliseconds(10000), true},
  };
  RateLimit limit(2);
  constexpr TimePoint kStart{std::chrono::hours(1)};
  for (const Case& c : cases) EXPECT_EQ(limit.allow(kStart + c.at), c.allowed) << c.at.count();
  EXPECT_EQ(limit.take_suppressed(), 4U);
  EXPECT_EQ(limit.take_suppressed(), 0U);
}

TEST(RateLimit, NoneIsNone) {
  RateLimit limit(0);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(limit.allow(TimePoint{std::chrono::hours(i)}));
  EXPECT_EQ(limit.take_suppressed(), 3U);
}

}  // namespace

}  // namespace stdgate
