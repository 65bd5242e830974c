// Breaker: immediate replacements, waits, jitter, tripping.

#include "gateway/pool/breaker.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace stdgate {
namespace {

using std::chrono::milliseconds;

constexpr TimePoint kNow{std::chrono::hours(1)};

config::PoolConfig config() {
  config::PoolConfig config;
  config.backoff_min = milliseconds(100);
  config.backoff_max = milliseconds(1000);
  config.breaker_failures = 3;
  return config;
}

// A failure at kNow of a child that was started after the last failure.
void fail(pool::Breaker& breaker, pool::Loss loss = pool::Loss::start) {
  breaker.on_failure(kNow, kNow + Duration{1}, loss);
}

// A sequence of events, each at its time, with the wait after it. `full` is the wait without
// jitter; nothing: the child is replaced at once.
struct Event {
  enum class What : uint8_t { lost_start, lost_child, lost_stable_child, success };
  What what;
  Duration at;
  std::optional<Duration> full{};
};

void check(const char* name, const std::vector<Event>& events) {
  SCOPED_TRACE(name);
  const config::PoolConfig pool = config();
  Random random(1);
  pool::Breaker breaker(pool, random);
  for (size_t i = 0; i < events.size(); ++i) {
    SCOPED_TRACE(i);
    const Event& event = events[i];
    const TimePoint now = kNow + event.at;
    if (event.what == Event::What::success) {
      breaker.on_success();
      EXPECT_TRUE(breaker.may_start(now));
      continue;
    }
    const pool::Loss loss = event.what == Event::What::lost_start   ? pool::Loss::start
                            : event.what == Event::What::lost_child ? pool::Loss::child
                                                                    : pool::Loss::stable_child;
    breaker.on_failure(now, now, loss);
    EXPECT_FALSE(breaker.may_start(now)) << "inside of the lost child's last word";
    const Duration wait = breaker.next_start() - now;
    if (event.full) {
      EXPECT_GE(wait, *event.full / 2);
      EXPECT_LE(wait, *event.full);
    } else {
      EXPECT_EQ(wait, pool::Breaker::kAtOnce);
    }
  }
}

TEST(Breaker, AReadyChildThatIsLostIsReplacedAtOnceIfNoneFailedForLong) {
  using enum Event::What;
  constexpr milliseconds kMost{1000};
  const auto ms = [](int64_t count) { return milliseconds(count); };
  check("the first", {{lost_child, ms(0)}});
  check("a stable one", {{lost_stable_child, ms(0)}});
  check("those that follow wait", {{lost_child, ms(0)},
                                   {lost_child, ms(1), ms(100)},
                                   {lost_start, ms(2), ms(200)},
                                   {lost_child, ms(3), ms(400)}});
  check("one that never was ready", {{lost_start, ms(0), ms(100)}, {lost_child, ms(1), ms(200)}});
  check("late, but in a row",
        {{lost_child, ms(0)}, {lost_child, kMost * 2, ms(100)}, {lost_child, kMost * 4, ms(200)}});
  check("an answer between is not enough", {{lost_child, ms(0)},
                                            {success, ms(1)},
                                            {lost_child, kMost - Duration{1}, ms(100)},
                                            {success, kMost},
                                            {lost_child, kMost * 2 - Duration{2}, ms(100)}});
  check("an answer, and long after", {{lost_child, ms(0)}, {success, ms(1)}, {lost_child, kMost}});
  check("a stable one, soon after another",
        {{lost_child, ms(0)}, {lost_stable_child, ms(1), ms(100)}, {lost_child, ms(2), ms(200)}});
  check("a stable one, long after failures", {{lost_start, ms(0), ms(100)},
                                              {lost_start, ms(1), ms(200)},
                                              {lost_stable_child, ms(1) + kMost},
                                              {lost_start, ms(2) + kMost, ms(100)}});
}

TEST(Breaker, OfReplacementsAtOnceThereIsOneInBackoffMax) {
  const config::PoolConfig pool = config();
  Random random(1);
  pool::Breaker breaker(pool, random);
  int at_once = 0;
  constexpr int kSeconds = 20;
  // Each child answers once, dies, and is replaced as soon as the breaker allows.
  for (TimePoint now = kNow; now < kNow + std::chrono::seconds(kSeconds);) {
    breaker.on_failure(now, now, pool::Loss::child);
    at_once += breaker.retry_after(now) == pool::Breaker::kAtOnce ? 1 : 0;
    now = breaker.next_start();
    breaker.on_success();
  }
  EXPECT_EQ(at_once, 1) << "there is never a pause as long as backoff_max";
}

TEST(Breaker, AReplacementStartedAtOnceFailsAnew) {
  const config::PoolConfig pool = config();
  Random random(1);
  pool::Breaker breaker(pool, random);
  fail(breaker, pool::Loss::child);
  breaker.on_failure(breaker.next_start(), breaker.next_start(), pool::Loss::child);
  EXPECT_EQ(breaker.failures(), 2U);
}

TEST(Breaker, WaitsDoubleUpToTheCapWithJitterInTheUpperHalf) {
  const config::PoolConfig pool = config();
  const std::vector<Duration> full = {milliseconds(100),  milliseconds(200),  milliseconds(400),
                                      milliseconds(800),  milliseconds(1000), milliseconds(1000),
                                      milliseconds(1000), milliseconds(1000)};
  std::vector<Duration> shortest(full.size(), Duration::max());
  std::vector<Duration> longest(full.size(), Duration{0});
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    pool::Breaker breaker(pool, random);
    for (size_t i = 0; i < full.size(); ++i) {
      fail(breaker);
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

// Children that no call waits for, each with this life, are started as early as the breaker allows.
// Returns the number of starts in sixteen minutes.
int unasked_starts(pool::Loss loss, Duration life) {
  config::PoolConfig pool = config();
  pool.backoff_max = std::chrono::seconds(30);
  Random random(1);
  pool::Breaker breaker(pool, random);
  int starts = 0;
  for (TimePoint now = kNow; now < kNow + std::chrono::minutes(16); ++starts) {
    breaker.on_failure(now + life, now, loss);
    now = std::max(breaker.next_start(pool::Demand::unasked), now + life);
    EXPECT_LE(now - (now + life), pool::Breaker::kMaxUnasked);
  }
  return starts;
}

TEST(Breaker, ChildrenThatNobodyWaitsForAreStartedAfterGrowingPauses) {
  using std::chrono::seconds;
  EXPECT_LE(unasked_starts(pool::Loss::start, milliseconds(10)), 15);
  EXPECT_LE(unasked_starts(pool::Loss::child, seconds(1)), 15) << "it crashes a moment later";
  EXPECT_LE(unasked_starts(pool::Loss::stable_child, seconds(40)), 15) << "or after a while";
}

TEST(Breaker, NobodyWaitsForUpToTenMinutes) {
  const config::PoolConfig pool = config();
  Random random(1);
  pool::Breaker breaker(pool, random);
  for (int i = 0; i < 40; ++i) {
    fail(breaker);
    EXPECT_LE(breaker.next_start(), breaker.next_start(pool::Demand::unasked));
  }
  const Duration wait = breaker.next_start(pool::Demand::unasked) - kNow;
  EXPECT_GE(wait, pool::Breaker::kMaxUnasked / 2);
  EXPECT_LE(wait, pool::Breaker::kMaxUnasked);
  EXPECT_FALSE(breaker.may_start(kNow + pool.backoff_max, pool::Demand::unasked));
  EXPECT_TRUE(breaker.may_start(kNow + pool.backoff_max)) << "for somebody who waits";
  // A child that has lived for long, or has answered, shows that the server works.
  const TimePoint later = kNow + pool::Breaker::kMaxUnasked + Duration{2};
  breaker.on_failure(later, kNow + Duration{2}, pool::Loss::stable_child);
  EXPECT_EQ(breaker.next_start(pool::Demand::unasked), later + pool::Breaker::kAtOnce);
  breaker.on_success();
  EXPECT_TRUE(breaker.may_start(later, pool::Demand::unasked));
}

TEST(Breaker, SameSeedSameWaits) {
  const config::PoolConfig pool = config();
  Random random_a(5);
  Random random_b(5);
  pool::Breaker a(pool, random_a);
  pool::Breaker b(pool, random_b);
  for (int i = 0; i < 10; ++i) {
    fail(a);
    fail(b);
    EXPECT_EQ(a.next_start(), b.next_start());
  }
}

TEST(Breaker, AThousandFailuresStayAtTheCap) {
  const config::PoolConfig pool = config();
  Random random(1);
  pool::Breaker breaker(pool, random);
  for (int i = 0; i < 1000; ++i) fail(breaker);
  EXPECT_LE(breaker.next_start(), kNow + pool.backoff_max);
  EXPECT_EQ(breaker.failures(), 1000U);
}

TEST(Breaker, TripsAtTheConfiguredFailure) {
  const config::PoolConfig pool = config();
  Random random(1);
  pool::Breaker breaker(pool, random);
  for (const bool tripped : {false, false, true, true}) {
    fail(breaker);
    EXPECT_EQ(breaker.tripped(), tripped) << breaker.failures();
  }
  breaker.on_success();
  EXPECT_FALSE(breaker.tripped());
  EXPECT_EQ(breaker.failures(), 0U);
  EXPECT_TRUE(breaker.may_start(kNow));
  EXPECT_EQ(breaker.retry_after(kNow), Duration{0});
}

TEST(Breaker, AStableChildsEndIsAFirstFailure) {
  const config::PoolConfig pool = config();
  Random random(1);
  pool::Breaker breaker(pool, random);
  for (int i = 0; i < 5; ++i) fail(breaker);
  fail(breaker, pool::Loss::stable_child);
  EXPECT_EQ(breaker.failures(), 1U);
  EXPECT_FALSE(breaker.tripped());
  EXPECT_LE(breaker.next_start(), kNow + pool.backoff_min);
}

TEST(Breaker, ChildrenOfOneTimeFailOnce) {
  const config::PoolConfig pool = config();
  Random random(1);
  const TimePoint started = kNow - milliseconds(10);
  for (const pool::Loss first : {pool::Loss::start, pool::Loss::child}) {
    pool::Breaker breaker(pool, random);
    breaker.on_failure(kNow, started, first);
    const TimePoint next = breaker.next_start();
    for (const pool::Loss loss : {pool::Loss::start, pool::Loss::child, pool::Loss::stable_child}) {
      breaker.on_failure(kNow, started, loss);
      breaker.on_failure(kNow + Duration{9}, started, loss);
    }
    breaker.on_failure(kNow + milliseconds(1), kNow, pool::Loss::start);
    EXPECT_EQ(breaker.failures(), 1U);
    EXPECT_EQ(breaker.next_start(), next);
    breaker.on_failure(next + Duration{1}, next, pool::Loss::start);
    EXPECT_EQ(breaker.failures(), 2U);
  }
}

TEST(Breaker, AllowsTheNextStartAfterTheWait) {
  const config::PoolConfig pool = config();
  Random random(1);
  pool::Breaker breaker(pool, random);
  EXPECT_TRUE(breaker.may_start(kNow));
  fail(breaker);
  const TimePoint next = breaker.next_start();
  EXPECT_FALSE(breaker.may_start(next - Duration{1}));
  EXPECT_EQ(breaker.retry_after(next - Duration{1}), Duration{1});
  EXPECT_TRUE(breaker.may_start(next));
  EXPECT_EQ(breaker.retry_after(next), Duration{0});
  EXPECT_EQ(breaker.retry_after(next + Duration{5}), Duration{0});
}

}  // namespace
}  // namespace stdgate
