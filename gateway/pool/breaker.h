// Breaker: when a backend that fails may start its next child, and when calls stop waiting for it.
//
// A ready child that is lost is replaced at once, if no other failed within backoff_max before: so
// a call that kills each child gets no more than one such start in that time. Otherwise there is a
// wait, which each further failure in a row doubles, up to a maximum, with jitter so that several
// gateways do not start in step. Children that fail together, all started before the first of them
// failed, are one failure. From `breaker_failures` on the breaker is tripped: while no child is
// ready, calls are refused at once instead of queueing. Pure: time and randomness are passed in.
// Owner: the pool.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

#include "gateway/base/time.h"
#include "gateway/config/config.h"

namespace stdgate::pool {

using Random = std::mt19937_64;

// What kind of child has failed.
enum class Loss : uint8_t {
  start,         // the child had never been ready
  child,         // it had been
  stable_child,  // and for so long that earlier failures no longer count
};

class Breaker {
 public:
  // Delay of a replacement "at once": it starts later than the failure that it answers, and never
  // inside the call that reports the lost child.
  static constexpr Duration kAtOnce{1};

  Breaker(const config::PoolConfig& config, Random& random) : config_(config), random_(random) {}

  void on_success() { failures_ = 0; }
  // `started`: when the failed child was.
  void on_failure(TimePoint now, TimePoint started, Loss loss);

  [[nodiscard]] bool may_start(TimePoint now) const { return failures_ == 0 || now >= next_start_; }
  [[nodiscard]] TimePoint next_start() const { return next_start_; }
  [[nodiscard]] bool tripped() const { return failures_ >= config_.breaker_failures; }
  [[nodiscard]] uint32_t failures() const { return failures_; }
  // Until the next start; zero when it may happen now.
  [[nodiscard]] Duration retry_after(TimePoint now) const;

 private:
  [[nodiscard]] Duration draw_wait();

  const config::PoolConfig& config_;
  Random& random_;
  uint32_t failures_ = 0;  // in a row
  uint32_t waits_ = 0;     // of them, those that were waited for
  std::optional<TimePoint> last_failure_;
  TimePoint next_start_{};
};

}  // namespace stdgate::pool
