// TokenBucket: a burst of events at once, and a number of events a second in the long run.
//
// A value without a clock: the time is passed in. It begins full.
#pragma once

#include <algorithm>
#include <chrono>

#include "gateway/base/time.h"

namespace stdgate::policy {

struct BucketSize {
  double per_second = 0;
  double burst = 0;  // tokens of a full bucket, at least 1
};

class TokenBucket {
 public:
  TokenBucket(const BucketSize& size, TimePoint now) : tokens_(size.burst), at_(now) {}

  // Takes a token. False: the bucket is empty.
  bool take(const BucketSize& size, TimePoint now) {
    fill(size, now);
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }
  // Time until a token is there; zero: one is.
  [[nodiscard]] Duration wait(const BucketSize& size, TimePoint now) {
    fill(size, now);
    if (tokens_ >= 1) return Duration::zero();
    const std::chrono::duration<double> seconds((1 - tokens_) / size.per_second);
    return std::chrono::ceil<Duration>(seconds);
  }
  // Indistinguishable from an unused one.
  [[nodiscard]] bool is_full(const BucketSize& size, TimePoint now) {
    fill(size, now);
    return tokens_ >= size.burst;
  }

 private:
  void fill(const BucketSize& size, TimePoint now) {
    if (now <= at_) return;
    const std::chrono::duration<double> passed = now - at_;
    tokens_ = std::min(size.burst, tokens_ + passed.count() * size.per_second);
    at_ = now;
  }

  double tokens_;
  TimePoint at_;  // that tokens_ is about
};

}  // namespace stdgate::policy
