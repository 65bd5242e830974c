// calendar_time: a time of the calendar in the resolution of the system's clock.
#pragma once

#include <algorithm>
#include <chrono>

namespace stdgate {

// Nanoseconds reach from 1678 to 2262. What is later than 2200 is as good as never, and what is
// earlier than 1970 has been over for as long.
inline std::chrono::system_clock::time_point calendar_time(std::chrono::sys_seconds time) {
  using std::chrono::January;
  constexpr std::chrono::sys_seconds kLast =
      std::chrono::sys_days(std::chrono::year(2200) / January / 1);
  return std::clamp(time, std::chrono::sys_seconds(), kLast);
}

}  // namespace stdgate
