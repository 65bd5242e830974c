// The core's time, and calendar time. Nothing under gateway/ reads a clock: code that needs the
// time is given a Clock, so tests control it.
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

// WallClock: calendar time, for reports about the past. No deadline of the core depends on it,
// because it jumps when the clock is set.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

class WallClock {
 public:
  virtual ~WallClock() = default;
  // The calendar time at that time of the core's Clock.
  [[nodiscard]] virtual WallTime at(TimePoint time) const = 0;
};

// A calendar time in the resolution of the system's clock. Nanoseconds reach from 1678 to 2262. A
// time after 2200 counts as never, a time before 1970 as long past.
inline std::chrono::system_clock::time_point calendar_time(std::chrono::sys_seconds time) {
  using std::chrono::January;
  constexpr std::chrono::sys_seconds kLast =
      std::chrono::sys_days(std::chrono::year(2200) / January / 1);
  if (time < std::chrono::sys_seconds()) return {};
  return time < kLast ? time : kLast;
}

}  // namespace stdgate
