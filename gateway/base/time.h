// The core's time. Nothing under gateway/ reads a clock: code that needs the time is given a Clock,
// so tests control it.
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
