// SimRestarts: when a backend may start children after failures, held against what is seen of it.
//
// Told what ended and looked at after every event: a failure that counts moves the time of the next
// start. It is now only for a ready child that is lost when none was for backoff_max; then nothing
// but that moment passes until there is a child again.
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
      // Without a call that waits it may take longer.
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

  // The backend drains: it starts what it has calls for, and nothing else.
  void on_drain() { is_draining_ = true; }

 private:
  // Whether a child that ended by itself with this reason was ready.
  static bool was_ready(ExitReason reason) {
    return reason == ExitReason::signal || reason == ExitReason::exit_zero ||
           reason == ExitReason::exit_nonzero;
  }

  const config::PoolConfig& config_;
  const bool greets_again_;              // a child that was ready may refuse its session's greeting
  std::optional<ExitReason> last_exit_;  // since the last look
  std::optional<TimePoint> last_failure_;  // that counted
  std::optional<TimePoint> due_;           // by then there is a child again
  TimePoint next_start_{};
  bool is_draining_ = false;
};

}  // namespace stdgate::sim
