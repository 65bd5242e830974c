// calendar_time: a time of the calendar in the resolution of the system's clock.
#pragma once

#include <algorithm>
#include <chrono>

namespace stdgate {

// Nanoseconds end with the year 2262: what is later than 2200 is as good as never.
inline std::chrono::system_clock::time_point calendar_time(std::chrono::sys_seconds time) {
  using std::chrono::January;
  constexpr std::chrono::sys_seconds kLast =
      std::chrono::sys_days(std::chrono::year(2200) / January / 1);
  return std::min(time, kLast);
}

}  // namespace stdgate
