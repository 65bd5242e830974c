// calendar_time: a calendar time in the resolution of the system's clock.
#pragma once

#include <algorithm>
#include <chrono>

namespace stdgate {

// Nanoseconds reach from 1678 to 2262. A time after 2200 counts as never, a time before 1970 as
// long past.
inline std::chrono::system_clock::time_point calendar_time(std::chrono::sys_seconds time) {
  using std::chrono::January;
  constexpr std::chrono::sys_seconds kLast =
      std::chrono::sys_days(std::chrono::year(2200) / January / 1);
  return std::clamp(time, std::chrono::sys_seconds(), kLast);
}

}  // namespace stdgate
