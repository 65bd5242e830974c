// SystemWallClock: the system's wall clock for times of the loop's clock.
//
// Compares the two clocks at most once in kMaxAge, so that a call costs no look at the clock; a
// step of the system's clock is noticed that much later. Owner: the worker.
#pragma once

#include <uv.h>

#include <chrono>

#include "gateway/base/wall_clock.h"

namespace stdgate::net {

class SystemWallClock final : public WallClock {
 public:
  static constexpr Duration kMaxAge = std::chrono::seconds(1);

  explicit SystemWallClock(const Clock& clock) : clock_(clock) { compare(); }

  [[nodiscard]] WallTime at(TimePoint time) const override {
    if (clock_.now() - compared_at_ > kMaxAge) compare();
    return WallTime(time.time_since_epoch() + offset_);
  }

 private:
  void compare() const {
    compared_at_ = TimePoint(Duration(uv_hrtime()));
    offset_ = std::chrono::system_clock::now().time_since_epoch() - compared_at_.time_since_epoch();
  }

  const Clock& clock_;
  mutable TimePoint compared_at_{};
  mutable Duration offset_{0};  // from the loop's clock to the wall clock
};

}  // namespace stdgate::net
