// RateWindow: whether a count of bytes grows fast enough, checked once per window.
//
// A value without a clock: time and count are passed in, by a timer of the owner and not with each
// byte. A window is `patience` long; in it the count has to grow by `per_second` for each second of
// it, and by one at least.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "gateway/base/time.h"

namespace stdgate::policy {

class RateWindow {
 public:
  // Begins a window: `count` is the present value, which has to grow.
  void begin(TimePoint now, uint64_t count) {
    state_ = State::judging;
    since_ = now;
    count_ = count;
  }
  // As begin(), for a count that is expensive to read: it is first read after half of the first
  // window, and judged over the other half.
  void begin_later(TimePoint now) {
    state_ = State::waiting;
    since_ = now;
  }
  // When to look again.
  [[nodiscard]] TimePoint due(Duration patience) const {
    return since_ + (state_ == State::judging ? patience : patience / 2);
  }
  // Whether a window has ended by `now` and was too slow; one that was fast enough begins the next.
  // `count()` is called only when a window has ended.
  template <class Count>
  bool is_slow(TimePoint now, Duration patience, size_t per_second, Count&& count) {
    if (now < due(patience)) return false;
    const uint64_t reached = count();
    if (state_ != State::waiting && reached - count_ < needed(now - since_, per_second)) {
      return true;
    }
    state_ = state_ == State::waiting ? State::second_half : State::judging;
    since_ = now;
    count_ = reached;
    return false;
  }

 private:
  enum class State : uint8_t { waiting, second_half, judging };

  static uint64_t needed(Duration passed, size_t per_second) {
    const std::chrono::duration<double> seconds = passed;
    return std::max<uint64_t>(
        1, static_cast<uint64_t>(seconds.count() * static_cast<double>(per_second)));
  }

  TimePoint since_{};
  uint64_t count_ = 0;  // at since_
  State state_ = State::waiting;
};

}  // namespace stdgate::policy
