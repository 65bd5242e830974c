#include "gateway/pool/breaker.h"

#include <algorithm>

namespace stdgate::pool {

void Breaker::on_failure(TimePoint now, TimePoint started, Loss loss) {
  if (failures_ > 0 && started <= *last_failure_) return;
  if (failures_ == 0 || loss == Loss::stable_child) failures_ = waits_ = 0;
  if (now - started >= kMaxUnasked) losses_ = 0;
  const bool is_alone = !last_failure_ || now - *last_failure_ >= config_.backoff_max;
  const bool is_free = failures_ == 0 && loss != Loss::start && is_alone;
  ++failures_;
  last_failure_ = now;
  next_start_ = now + (is_free ? kAtOnce : draw_wait(waits_++, config_.backoff_max));
  // The first loss causes no wait here either.
  const Duration most = std::max(config_.backoff_max, kMaxUnasked);
  const Duration unasked = losses_ == 0 ? Duration{0} : draw_wait(losses_, most);
  ++losses_;
  next_unasked_ = std::max(next_start_, now + unasked);
}

Duration Breaker::draw_wait(uint32_t doublings, Duration most) {
  Duration full = config_.backoff_min;
  for (uint32_t i = 0; i < doublings && full < most; ++i) full *= 2;
  full = std::min(full, most);
  // Half of the wait is fixed, half is random.
  const int64_t half = full.count() / 2;
  std::uniform_int_distribution<int64_t> jitter(0, full.count() - half);
  return Duration(half + jitter(random_));
}

Duration Breaker::retry_after(TimePoint now) const {
  return failures_ == 0 ? Duration{0} : std::max(Duration{0}, next_start_ - now);
}

}  // namespace stdgate::pool
