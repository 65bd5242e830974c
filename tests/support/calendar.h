// Calendar: a wall clock that follows a test's clock from a day of 2027 on.
#pragma once

#include "gateway/base/time.h"

namespace stdgate::test {

class Calendar final : public WallClock {
 public:
  [[nodiscard]] WallTime at(TimePoint time) const override {
    return WallTime(offset + time.time_since_epoch());
  }

  Duration offset = std::chrono::hours(24) * 365 * 57;
};

}  // namespace stdgate::test
