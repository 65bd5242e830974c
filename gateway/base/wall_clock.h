// WallClock: calendar time, for reports about the past. Nothing in the core waits for it, as it
// jumps when somebody sets the clock.
#pragma once

#include <chrono>

#include "gateway/base/time.h"

namespace stdgate {

using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

class WallClock {
 public:
  virtual ~WallClock() = default;
  // What wall clocks show, or showed, at that time of the core's Clock.
  [[nodiscard]] virtual WallTime at(TimePoint time) const = 0;
};

}  // namespace stdgate
