#include "gateway/policy/rate_window.h"

#include <gtest/gtest.h>

namespace stdgate {
namespace {

using std::chrono::seconds;

constexpr TimePoint kWindowStart{seconds(1000)};
constexpr Duration kPatience = seconds(10);
constexpr size_t kRate = 100;

bool is_slow(policy::RateWindow& window, Duration after, uint64_t count, size_t rate = kRate) {
  return window.is_slow(kWindowStart + after, kPatience, rate, [count] { return count; });
}

TEST(RateWindow, TheRateIsEnoughAndOneByteLessIsNot) {
  for (const uint64_t count : {1999U, 2000U}) {
    policy::RateWindow window;
    window.begin(kWindowStart, 1000);
    EXPECT_EQ(window.due(kPatience), kWindowStart + kPatience);
    EXPECT_FALSE(is_slow(window, seconds(9), 1000));
    EXPECT_EQ(is_slow(window, seconds(10), count), count == 1999);
  }
}

TEST(RateWindow, EachWindowIsJudgedByItself) {
  policy::RateWindow window;
  window.begin(kWindowStart, 0);
  EXPECT_FALSE(is_slow(window, seconds(10), 1'000'000));
  EXPECT_EQ(window.due(kPatience), kWindowStart + seconds(20));
  EXPECT_TRUE(is_slow(window, seconds(20), 1'000'999));
}

TEST(RateWindow, ALateLookAsksForMore) {
  policy::RateWindow window;
  window.begin(kWindowStart, 0);
  EXPECT_TRUE(is_slow(window, seconds(15), 1499));
}

TEST(RateWindow, WithoutARateSomethingIsEnough) {
  policy::RateWindow window;
  window.begin(kWindowStart, 0);
  EXPECT_FALSE(is_slow(window, seconds(10), 1, 0));
  EXPECT_TRUE(is_slow(window, seconds(20), 1, 0));
}

TEST(RateWindow, ACountThatIsLookedAtLaterIsJudgedByHalfAWindowFirst) {
  policy::RateWindow window;
  window.begin_later(kWindowStart);
  EXPECT_EQ(window.due(kPatience), kWindowStart + seconds(5));
  EXPECT_FALSE(is_slow(window, seconds(5), 777));
  EXPECT_EQ(window.due(kPatience), kWindowStart + seconds(10));
  policy::RateWindow other = window;
  EXPECT_TRUE(is_slow(other, seconds(10), 777 + 499));
  EXPECT_FALSE(is_slow(window, seconds(10), 777 + 500));
  EXPECT_EQ(window.due(kPatience), kWindowStart + seconds(20));
}

}  // namespace
}  // namespace stdgate
