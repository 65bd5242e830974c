#include "tests/bench/tally.h"

#include <ctime>

namespace stdgate::bench {

Instant now_ns() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<Instant>(time.tv_sec) * 1'000'000'000 + static_cast<Instant>(time.tv_nsec);
}

}  // namespace stdgate::bench
