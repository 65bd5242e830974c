// WallClock: calendar time, for reports about the past. No deadline of the core depends on it,
// because it jumps when the clock is set.
#pragma once

#include <chrono>

#include "gateway/base/time.h"

namespace stdgate {

using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

class WallClock {
 public:
  virtual ~WallClock() = default;
  // The calendar time at that time of the core's Clock.
  [[nodiscard]] virtual WallTime at(TimePoint time) const = 0;
};

}  // namespace stdgate
