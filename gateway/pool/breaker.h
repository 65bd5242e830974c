// Breaker: decides when a backend that fails may start its next child, and when calls stop waiting
// for one.
//
// A lost child that was ready is replaced at once, if no other child failed within backoff_max
// before. So a call that kills each child gets one such start in that time at most. Otherwise there
// is a wait, which doubles with each further failure in a row, up to a maximum. The wait has
// jitter, so that several gateways do not start in step. While no call or session waits for a
// child, the wait doubles up to kMaxUnasked, until a child has answered or has lived for that long.
// Children that fail together, all started before the first of them failed, count as one failure.
// From `breaker_failures` on the breaker is tripped: while no child is ready, calls are refused at
// once instead of queued, except for one trial call after each wait. Pure: time and randomness are
// passed in. Owner: the pool.
#pragma once

#include <cstdint>
#include <optional>

#include "gateway/base/random.h"
#include "gateway/base/time.h"
#include "gateway/config/config.h"

namespace stdgate::pool {

// Whether a call or a session waits for the next child.
enum class Demand : uint8_t { asked, unasked };

// The child that has failed.
enum class Loss : uint8_t {
  start,         // was never ready
  child,         // was ready
  stable_child,  // was ready for so long that earlier failures no longer count
};

class Breaker {
 public:
  // The delay of a replacement "at once", so that the start is not part of the call that reports
  // the lost child.
  static constexpr Duration kAtOnce{1};

  // The longest wait for a child that no call or session waits for.
  static constexpr Duration kMaxUnasked = std::chrono::minutes(10);

  Breaker(const config::PoolConfig& config, Random& random) : config_(config), random_(random) {}

  void on_success() { failures_ = losses_ = 0; }
  // `started`: when the failed child was started.
  void on_failure(TimePoint now, TimePoint started, Loss loss);

  // The failure before the last one was excused, but counts after all.
  void count_excused() { ++failures_; }

  [[nodiscard]] bool may_start(TimePoint now, Demand demand = Demand::asked) const {
    return failures_ == 0 || now >= next_start(demand);
  }
  [[nodiscard]] TimePoint next_start(Demand demand = Demand::asked) const {
    return demand == Demand::asked ? next_start_ : next_unasked_;
  }
  // No failure counts any more.
  [[nodiscard]] bool is_clear() const { return failures_ == 0 && losses_ == 0; }
  [[nodiscard]] bool tripped() const { return failures_ >= config_.breaker_failures; }
  [[nodiscard]] uint32_t failures() const { return failures_; }
  // Time until the next start on demand; zero: it may happen now.
  [[nodiscard]] Duration retry_after(TimePoint now) const;

 private:
  [[nodiscard]] Duration draw_wait(uint32_t doublings, Duration most);

  const config::PoolConfig& config_;
  Random& random_;
  uint32_t failures_ = 0;  // in a row
  uint32_t waits_ = 0;     // failures that were followed by a wait
  uint32_t losses_ = 0;    // failures since a child has answered or has lived long
  std::optional<TimePoint> last_failure_;
  TimePoint next_start_{};
  TimePoint next_unasked_{};  // not before next_start_
};

}  // namespace stdgate::pool
