// RateLimit: lets a number of events pass in each second, and counts the others. For log lines that
// children and clients can cause.
#pragma once

#include <cstdint>

#include "gateway/base/time.h"

namespace stdgate {

class RateLimit {
 public:
  explicit RateLimit(uint32_t per_second) : per_second_(per_second) {}

  bool allow(TimePoint now) {
    if (now - window_ >= std::chrono::seconds(1)) {
      window_ = now;
      used_ = 0;
    }
    if (used_ < per_second_) {
      ++used_;
      return true;
    }
    ++suppressed_;
    return false;
  }

  // Events that did not pass since the last call.
  uint64_t take_suppressed() {
    const uint64_t count = suppressed_;
    suppressed_ = 0;
    return count;
  }

 private:
  const uint32_t per_second_;
  TimePoint window_{};
  uint32_t used_ = 0;
  uint64_t suppressed_ = 0;
};

}  // namespace stdgate
