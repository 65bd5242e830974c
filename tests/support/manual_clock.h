// ManualClock: time that stands still until a test sets it.
#pragma once

#include "gateway/base/time.h"

namespace stdgate::test {

class ManualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  void set(TimePoint now) { now_ = now; }

 private:
  TimePoint now_{std::chrono::hours(1)};
};

}  // namespace stdgate::test
