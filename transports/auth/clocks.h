// Clocks: the core's, and the calendar's, by which credentials end.
#pragma once

#include <algorithm>
#include <chrono>

#include "gateway/base/time.h"
#include "gateway/base/wall_clock.h"

namespace stdgate::auth {

struct Clocks {
  const Clock& clock;
  const WallClock& wall;

  [[nodiscard]] WallTime now() const { return wall.at(clock.now()); }
  // When the core's clock shows what the calendar calls `time`, as far as that is known now.
  [[nodiscard]] TimePoint at(std::chrono::system_clock::time_point time) const {
    // More than a century away is never.
    constexpr std::chrono::hours kFar{24 * 365 * 100};
    const auto left =
        time - std::chrono::time_point_cast<std::chrono::system_clock::duration>(now());
    if (left > kFar) return TimePoint::max();
    return clock.now() + std::chrono::duration_cast<Duration>(left);
  }
};

}  // namespace stdgate::auth
