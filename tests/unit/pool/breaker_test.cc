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
      breaker.on_failure(kNow, false);
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
    a.on_failure(kNow, false);
    b.on_failure(kNow, false);
    EXPECT_EQ(a.next_start(), b.next_start());
  }
}

TEST(Breaker, AThousandFailuresStayAtTheCap) {
  const PoolConfig pool = config();
  Random random(1);
  Breaker breaker(pool, random);
  for (int i = 0; i < 1000; ++i) breaker.on_failure(kNow, false);
  EXPECT_LE(breaker.next_start(), kNow + pool.backoff_max);
  EXPECT_EQ(breaker.failures(), 1000U);
}

TEST(Breaker, TripsAtTheConfiguredFailure) {
  const PoolConfig pool = config();
  Random random(1);
  Breaker breaker(pool, random);
  for (const bool tripped : {false, false, true, true}) {
    breaker.on_failure(kNow, false);
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
  for (int i = 0; i < 5; ++i) breaker.on_failure(kNow, false);
  breaker.on_failure(kNow, true);
  EXPECT_EQ(breaker.failures(), 1U);
  EXPECT_FALSE(breaker.tripped());
  EXPECT_LE(breaker.next_start(), kNow + pool.backoff_min);
}

TEST(Breaker, AllowsTheNextStartAfterTheWait) {
  const PoolConfig pool = config();
  Random random(1);
  Breaker breaker(pool, random);
  EXPECT_TRUE(breaker.may_start(kNow));
  breaker.on_failure(kNow, false);
  const TimePoint next = breaker.next_start();
  EXPECT_FALSE(breaker.may_start(next - Duration{1}));
  EXPECT_EQ(breaker.retry_after(next - Duration{1}), Duration{1});
  EXPECT_TRUE(breaker.may_start(next));
  EXPECT_EQ(breaker.retry_after(next), Duration{0});
  EXPECT_EQ(breaker.retry_after(next + Duration{5}), Duration{0});
}

}  // namespace
}  // namespace stdgate
