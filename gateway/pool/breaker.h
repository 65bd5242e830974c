// Breaker: when a backend that fails may start its next child, and when calls stop waiting for it.
//
// Each failure in a row doubles the wait before the next start, up to a maximum, with jitter so
// that several gateways do not start in step. Children that fail together, all started before the
// first of them failed, are one failure. From `breaker_failures` on the breaker is tripped:
// while no child is ready, calls are refused at once instead of queueing. Pure: time and randomness
// are passed in. Owner: the pool.
#pragma once

#include <cstdint>
#include <random>

#include "gateway/base/time.h"
#include "gateway/config/config.h"

namespace stdgate {

using Random = std::mt19937_64;

class Breaker {
 public:
  Breaker(const PoolConfig& config, Random& random) : config_(config), random_(random) {}

  void on_success() { failures_ = 0; }
  // `started`: when the failed child was. `was_stable`: it had been ready for so long that earlier
  // failures no longer count.
  void on_failure(TimePoint now, TimePoint started, bool was_stable);

  [[nodiscard]] bool may_start(TimePoint now) const { return failures_ == 0 || now >= next_start_; }
  [[nodiscard]] TimePoint next_start() const { return next_start_; }
  [[nodiscard]] bool tripped() const { return failures_ >= config_.breaker_failures; }
  [[nodiscard]] uint32_t failures() const { return failures_; }
  // Until the next start; zero when it may happen now.
  [[nodiscard]] Duration retry_after(TimePoint now) const;

 private:
  const PoolConfig& config_;
  Random& random_;
  uint32_t failures_ = 0;
  TimePoint last_failure_{};
  TimePoint next_start_{};
};

}  // namespace stdgate
