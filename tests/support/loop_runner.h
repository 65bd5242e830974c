// Functions that run a loop until something has happened.
#pragma once

#include <chrono>

#include "gateway/base/time.h"
#include "transports/net/loop.h"

namespace stdgate::test {

// Turns the loop until `condition` holds. The condition is evaluated after each event, and also
// every millisecond, because some changes cause no event. Returns false when `limit` has passed.
template <class Condition>
bool run_until(net::Loop& loop, Condition&& condition, Duration limit = std::chrono::seconds(20)) {
  loop.refresh_now();
  const TimePoint deadline = loop.now() + limit;
  Timer* self = nullptr;
  const auto again = [&] { self->arm(loop.now() + std::chrono::milliseconds(1)); };
  Timer tick(loop.timers(), again);
  self = &tick;
  again();
  while (!condition()) {
    if (loop.now() >= deadline) return false;
    loop.wait_once();
  }
  return true;
}

// Turns the loop for `time`, to show that something does not happen.
inline void run_for(net::Loop& loop, Duration time) {
  run_until(
      loop, [] { return false; }, time);
}

}  // namespace stdgate::test
