// Tally: what a run of the load generator counts. One for all its clients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "tests/bench/latency_histogram.h"

namespace stdgate::bench {

// Nanoseconds of the monotonic clock.
using Instant = uint64_t;
Instant now_ns();

struct Tally {
  // New calls may be made; false while connections open, and when the run ends.
  bool calling = false;
  uint64_t open = 0;   // calls in flight
  uint64_t ready = 0;  // clients whose connection stands

  // Since the measuring began.
  uint64_t calls = 0;
  uint64_t bytes = 0;  // of answers
  LatencyHistogram latency;

  // Since the start.
  Instant last_answer = 0;
  uint64_t answers = 0;  // good or not
  uint64_t errors = 0;
  std::string first_error;
  std::map<int64_t, uint64_t> faults;  // JSON-RPC errors by code

  // Around the killing of a process; 0: not yet.
  Instant killed = 0;
  uint64_t open_at_kill = 0;
  Instant last_old_answer = 0;   // to calls made before it
  Instant first_new_result = 0;  // to a call made after it

  void add_error(const std::string& what) {
    if (errors++ == 0) first_error = what;
  }
  void add_answer(Instant sent, Instant now, bool good);
  void add_result(Instant sent, Instant now, size_t size) {
    ++calls;
    bytes += size;
    latency.record(now - sent);
    add_answer(sent, now, true);
  }
  void add_fault(Instant sent, Instant now, int64_t code) {
    ++faults[code];
    add_answer(sent, now, false);
  }
  // The warm-up is over.
  void begin_measuring() {
    calls = bytes = 0;
    latency.clear();
  }
};

inline void Tally::add_answer(Instant sent, Instant now, bool good) {
  --open;
  ++answers;
  last_answer = now;
  if (killed == 0) return;
  if (sent < killed) {
    last_old_answer = now;
  } else if (good && first_new_result == 0) {
    first_new_result = now;
  }
}

}  // namespace stdgate::bench
