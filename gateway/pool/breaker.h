// Breaker: when a backend that fails may start its next child, and when calls stop waiting for it.
//
// A ready child that is lost is replaced at once, if no other failed within backoff_max before: so
// a call that kills each child gets no more than one such start in that time. Otherwise there is a
// wait, which each further failure in a row doubles, up to a maximum, with jitter so that several
// gateways do not start in step. While nobody waits for a child, the wait goes on doubling up to
// kMaxUnasked, until a child has answered or has lived for that long. Children that fail together,
// all started before the first of them failed, are one failure. From `breaker_failures` on the
// breaker is tripped: while no child is ready, calls are refused at once instead of queueing, but
// for one after each wait. Pure: time and randomness are passed in. Owner: the pool.
#pragma once

#include <cstdint>
#include <optional>

#include "gateway/base/random.h"
#include "gateway/base/time.h"
#include "gateway/config/config.h"

namespace stdgate::pool {

// Whether somebody waits for the next child.
enum class Demand : uint8_t { asked, unasked };

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

  // The longest wait for a child that nobody waits for.
  static constexpr Duration kMaxUnasked = std::chrono::minutes(10);

  Breaker(const config::PoolConfig& config, Random& random) : config_(config), random_(random) {}

  void on_success() { failures_ = losses_ = 0; }
  // `started`: when the failed child was.
  void on_failure(TimePoint now, TimePoint started, Loss loss);

  // The failure before the last one, which was none by itself, was one after all.
  void count_excused() { ++failures_; }

  [[nodiscard]] bool may_start(TimePoint now, Demand demand = Demand::asked) const {
    return failures_ == 0 || now >= next_start(demand);
  }
  [[nodiscard]] TimePoint next_start(Demand demand = Demand::asked) const {
    return demand == Demand::asked ? next_start_ : next_unasked_;
  }
  [[nodiscard]] bool tripped() const { return failures_ >= config_.breaker_failures; }
  [[nodiscard]] uint32_t failures() const { return failures_; }
  // Until the next start that somebody waits for; zero when it may happen now.
  [[nodiscard]] Duration retry_after(TimePoint now) const;

 private:
  [[nodiscard]] Duration draw_wait(uint32_t doublings, Duration most);

  const config::PoolConfig& config_;
  Random& random_;
  uint32_t failures_ = 0;  // in a row
  uint32_t waits_ = 0;     // of them, those that were waited for
  uint32_t losses_ = 0;    // failures since a child has answered or has lived long
  std::optional<TimePoint> last_failure_;
  TimePoint next_start_{};
  TimePoint next_unasked_{};  // not before next_start_
};

}  // namespace stdgate::pool
