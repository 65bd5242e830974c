// Clocks for tests: one that stands still until it is set, and a calendar that follows that clock.
#pragma once

#include "gateway/base/time.h"

namespace stdgate::test {

// ManualClock: time stands still until a test sets it.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  void set(TimePoint now) { now_ = now; }

 private:
  TimePoint now_{std::chrono::hours(1)};
};

// Calendar: a wall clock that starts on a day of 2027 and follows a test's clock.
class Calendar final : public WallClock {
 public:
  [[nodiscard]] WallTime at(TimePoint time) const override {
    return WallTime(offset + time.time_since_epoch());
  }

  Duration offset = std::chrono::hours(24) * 365 * 57;
};

}  // namespace stdgate::test
