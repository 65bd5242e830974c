#include "gateway/pool/breaker.h"

#include <algorithm>

namespace stdgate {

void Breaker::on_failure(TimePoint now, TimePoint started, bool was_stable) {
  if (failures_ > 0 && started <= last_failure_) return;
  last_failure_ = now;
  failures_ = was_stable ? 1 : failures_ + 1;
  Duration full = config_.backoff_min;
  for (uint32_t i = 1; i < failures_ && full < config_.backoff_max; ++i) full *= 2;
  full = std::min(full, config_.backoff_max);
  // Half of the wait is fixed, half is random.
  const int64_t half = full.count() / 2;
  std::uniform_int_distribution<int64_t> jitter(0, full.count() - half);
  next_start_ = now + Duration(half + jitter(random_));
}

Duration Breaker::retry_after(TimePoint now) const {
  return failures_ == 0 ? Duration{0} : std::max(Duration{0}, next_start_ - now);
}

}  // namespace stdgate
