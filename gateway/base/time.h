// The core's notion of time. Nothing under gateway/ reads a clock: whoever needs the time is given
// a Clock, so a test holds time in its hand.
#pragma once

#include <chrono>

namespace stdgate {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic. The edge may serve one value for all events of a turn of the loop.
  [[nodiscard]] virtual TimePoint now() const = 0;
};

inline double to_seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace stdgate
