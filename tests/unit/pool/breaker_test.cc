// Breaker: waits, jitter, tripping.

#include "gateway/pool/breaker.h"

#include <gtest/gtest.h>

#include <vector>

namespace stdgate {
namespace {

using std::chrono::milliseconds;

constexpr TimePoint kNow{std::chrono::hours(1)};

PoolConfig config() {
  PoolConfig config;
  config.backoff_min = milliseconds(100);
  config.backoff_max = milliseconds(1000);
  config.breaker_failures = 3;
  return config;
}

// The failure at kNow of a child that was started after the last failure.
void fail(Breaker& breaker, bool was_stable) {
  breaker.on_failure(kNow, kNow + Duration{1}, was_stable);
}

TEST(Breaker, WaitsDoubleUpToTheCapWithJitterInTheUpperHalf) {
  const PoolConfig pool = config();
  const std::vector<Duration> full = {milliseconds(100),  milliseconds(200),  milliseconds(400),
                                      milliseconds(800),  milliseconds(1000), milliseconds(1000),
                                      milliseconds(1000), milliseconds(1000)};
  std::vector<Duration> shortest(full.size(), Duration::max());
  std::vector<Duration> longest(full.size(), Duration{0});
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    Breaker breaker(pool, random);
    for (size_t i = 0; i < full.size(); ++i) {
      fail(breaker, false);
      const Duration wait = breaker.next_start() - kNow;
      ASSERT_GE(wait, full[i] / 2);
      ASSERT_LE(wait, full[i]);
      shortest[i] = std::min(shortest[i], wait);
      longest[i] = std::max(longest[i], wait);
    }
  }
  for (size_t i = 0; i < full.size(); ++i) {
    EXPECT_LT(shortest[i], full[i] * 55 / 100) << "no jitter downwards";
    EXPECT_GT(longest[i], full[i] * 95 / 100) << "no jitter upwards";
  }
}

TEST(Breaker, SameSeedSameWaits) {
  const PoolConfig pool = config();
  Random random_a(5);
  Random random_b(5);
  Breaker a(pool, random_a);
  Breaker b(pool, random_b);
  for (int i = 0; i < 10; ++i) {
    fail(a, false);
    fail(b, false);
    EXPECT_EQ(a.next_start(), b.next_start());
  }
}

TEST(Breaker, AThousandFailuresStayAtTheCap) {
  const PoolConfig pool = config();
  Random random(1);
  Breaker breaker(pool, random);
  for (int i = 0; i < 1000; ++i) fail(breaker, false);
  EXPECT_LE(breaker.next_start(), kNow + pool.backoff_max);
  EXPECT_EQ(breaker.failures(), 1000U);
}

TEST(Breaker, TripsAtTheConfiguredFailure) {
  const PoolConfig pool = config();
  Random random(1);
  Breaker breaker(pool, random);
  for (const bool tripped : {false, false, true, true}) {
    fail(breaker, false);
    EXPECT_EQ(breaker.tripped(), tripped) << breaker.failures();
  }
  breaker.on_success();
  EXPECT_FALSE(breaker.tripped());
  EXPECT_EQ(breaker.failures(), 0U);
  EXPECT_TRUE(breaker.may_start(kNow));
  EXPECT_EQ(breaker.retry_after(kNow), Duration{0});
}

TEST(Breaker, AStableChildsEndIsAFirstFailure) {
  const PoolConfig pool = config();
  Random random(1);
  Breaker breaker(pool, random);
  for (int i = 0; i < 5; ++i) fail(breaker, false);
  fail(breaker, true);
  EXPECT_EQ(breaker.failures(), 1U);
  EXPECT_FALSE(breaker.tripped());
  EXPECT_LE(breaker.next_start(), kNow + pool.backoff_min);
}

TEST(Breaker, ChildrenOfOneTimeFailOnce) {
  const PoolConfig pool = config();
  Random random(1);
  Breaker breaker(pool, random);
  const TimePoint started = kNow - milliseconds(10);
  breaker.on_failure(kNow, started, false);
  const TimePoint next = breaker.next_start();
  for (int i = 0; i < 9; ++i) breaker.on_failure(kNow + Duration{i}, started, i % 2 == 0);
  breaker.on_failure(kNow + milliseconds(1), kNow, false);
  EXPECT_EQ(breaker.failures(), 1U);
  EXPECT_EQ(breaker.next_start(), next);
  breaker.on_failure(next + Duration{1}, next, false);
  EXPECT_EQ(breaker.failures(), 2U);
}

TEST(Breaker, AllowsTheNextStartAfterTheWait) {
  const PoolConfig pool = config();
  Random random(1);
  Breaker breaker(pool, random);
  EXPECT_TRUE(breaker.may_start(kNow));
  fail(breaker, false);
  const TimePoint next = breaker.next_start();
  EXPECT_FALSE(breaker.may_start(next - Duration{1}));
  EXPECT_EQ(breaker.retry_after(next - Duration{1}), Duration{1});
  EXPECT_TRUE(breaker.may_start(next));
  EXPECT_EQ(breaker.retry_after(next), Duration{0});
  EXPECT_EQ(breaker.retry_after(next + Duration{5}), Duration{0});
}

}  // namespace
}  // namespace stdgate
