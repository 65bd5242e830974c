// SimRestarts: when a backend may start children after failures, checked against the backend's
// status.
//
// on_child_exited() records what ended, and check() runs after every event. A failure that counts
// moves the time of the next start. The next start is immediate only if a ready child is lost and
// backoff_max has passed since the last failure. Then a child must run again at that time.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "gateway/pool/breaker.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::sim {

class SimRestarts {
 public:
  explicit SimRestarts(const config::BackendConfig& backend)
      : config_(backend.pool), greets_again_(backend.protocol == config::Protocol::mcp) {}

  void on_child_exited(ExitReason reason) { last_exit_ = reason; }

  void check(TimePoint now, const pool::BackendStatus& status) {
    if (due_ && now >= *due_) {
      // A backend without a waiting call may take longer.
      EXPECT_TRUE(!status.children.empty() || status.ready || is_draining_ || status.queued == 0)
          << "service does not come back";
      due_.reset();
    }
    const auto exit = std::exchange(last_exit_, std::nullopt);
    const TimePoint next_start = now + status.retry_after;
    if (!exit || status.retry_after == Duration{0} || next_start == next_start_) return;
    next_start_ = next_start;
    const bool is_alone = !last_failure_ || now - *last_failure_ >= config_.backoff_max;
    if (status.retry_after <= pool::Breaker::kAtOnce) {
      EXPECT_TRUE(is_alone) << "more than one start without a wait in backoff_max";
      EXPECT_EQ(status.failures, 1U);
      EXPECT_TRUE(greets_again_ || *exit != ExitReason::start_failed);
      EXPECT_NE(*exit, ExitReason::start_timeout);
      due_ = next_start;
    } else {
      EXPECT_GE(status.retry_after, config_.backoff_min / 2);
      EXPECT_LE(status.retry_after, config_.backoff_max);
      EXPECT_FALSE(is_alone && status.failures == 1 && was_ready(*exit)) << "it need not wait";
    }
    last_failure_ = now;
  }

  // The backend drains: from now on it starts children only for the calls that it has.
  void on_drain() { is_draining_ = true; }

 private:
  // Whether a child that ended by itself, with this reason, had been ready.
  static bool was_ready(ExitReason reason) {
    return reason == ExitReason::signal || reason == ExitReason::exit_zero ||
           reason == ExitReason::exit_nonzero;
  }

  const config::PoolConfig& config_;
  const bool greets_again_;                // a ready child may refuse its session's greeting
  std::optional<ExitReason> last_exit_;    // since the last check
  std::optional<TimePoint> last_failure_;  // the last failure that counted
  std::optional<TimePoint> due_;           // a child must run again by then
  TimePoint next_start_{};
  bool is_draining_ = false;
};

}  // namespace stdgate::sim
