#include "tests/bench/tally.h"

#include <cmath>
#include <ctime>

namespace stdgate::bench {

uint64_t LatencyHistogram::middle_of(size_t bucket) {
  if (bucket < 2 * kSubBuckets) return bucket;
  const size_t shift = bucket / kSubBuckets - 1;
  const uint64_t first = (bucket - shift * kSubBuckets) << shift;
  return first + (uint64_t{1} << shift) / 2;
}

uint64_t LatencyHistogram::quantile_ns(double share) const {
  if (count_ == 0) return 0;
  const auto wanted =
      std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(share * static_cast<double>(count_))));
  uint64_t seen = 0;
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    if (seen >= wanted) return std::min(middle_of(bucket), max_ns_);
  }
  return max_ns_;
}

Instant now_ns() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<Instant>(time.tv_sec) * 1'000'000'000 + static_cast<Instant>(time.tv_nsec);
}

}  // namespace stdgate::bench
