// CallQuota: how many calls of all clients are made in a time, and are under way.
//
// Owner: a backend for its own calls, the worker for the calls of all backends. Time is passed in.
#pragma once

#include <algorithm>
#include <cstddef>

#include "gateway/base/check.h"
#include "gateway/config/config.h"
#include "gateway/policy/token_bucket.h"

namespace stdgate::policy {

// The bucket's size by the configured `rate` and `burst`.
template <class Limits>
BucketSize bucket_size(const Limits& limits) {
  const std::chrono::duration<double> per = limits.rate.per;
  const double burst = limits.burst > 0 ? limits.burst : limits.rate.count;
  return {limits.rate.count / per.count(), burst};
}

class CallQuota {
 public:
  explicit CallQuota(const config::CallLimits& limits)
      : limits_(limits), size_(bucket_size(limits)), bucket_(size_, TimePoint{}) {}
  CallQuota(const CallQuota&) = delete;
  CallQuota& operator=(const CallQuota&) = delete;

  [[nodiscard]] bool any() const { return limits_.rate.count > 0 || limits_.in_flight > 0; }
  // Whether the limit of calls under way is reached.
  [[nodiscard]] bool is_full() const {
    return limits_.in_flight > 0 && in_flight_ >= limits_.in_flight;
  }
  // How long the next call has to wait for its turn; zero: it may begin.
  [[nodiscard]] Duration wait(TimePoint now) {
    return limits_.rate.count > 0 ? bucket_.wait(size_, now) : Duration::zero();
  }
  void begin(TimePoint now) {
    if (limits_.rate.count > 0) bucket_.take(size_, now);
    ++in_flight_;
  }
  void end() {
    STDGATE_CHECK(in_flight_ > 0);
    --in_flight_;
  }

 private:
  const config::CallLimits limits_;
  const BucketSize size_;
  TokenBucket bucket_;
  size_t in_flight_ = 0;
};

}  // namespace stdgate::policy
