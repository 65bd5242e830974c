// Counts of a run of the load generator: calls, errors and times.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace stdgate::bench {

// LatencyHistogram: counts of nanoseconds in fixed buckets, 64 for each power of two.
//
// Owner: the code that measures. A value is read back with an error of at most 1.6 %. Recording
// costs a few instructions and no memory beyond the 30 KB of each histogram.
class LatencyHistogram {
 public:
  void record(uint64_t value_ns) {
    ++buckets_[bucket_of(value_ns)];
    ++count_;
    max_ns_ = std::max(max_ns_, value_ns);
  }
  void clear() { *this = LatencyHistogram(); }

  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] uint64_t max_ns() const { return max_ns_; }
  // The value that a `share` (0 to 1) of all recorded values do not exceed; 0: no values.
  [[nodiscard]] uint64_t quantile_ns(double share) const;

 private:
  static constexpr size_t kSubBits = 6;
  static constexpr size_t kSubBuckets = size_t{1} << kSubBits;

  // Values below 128 have a bucket each. For larger values, the first seven bits determine the
  // bucket.
  static size_t bucket_of(uint64_t value) {
    const auto width = static_cast<size_t>(std::bit_width(value));
    const size_t shift = width > kSubBits + 1 ? width - kSubBits - 1 : 0;
    return shift * kSubBuckets + static_cast<size_t>(value >> shift);
  }
  static uint64_t middle_of(size_t bucket);

  std::array<uint64_t, (64 - kSubBits + 1)* kSubBuckets> buckets_ = {};
  uint64_t count_ = 0;
  uint64_t max_ns_ = 0;
};

// Nanoseconds of the monotonic clock.
using Instant = uint64_t;
Instant now_ns();

// Tally: what a run of the load generator counts, for all its clients together.
struct Tally {
  // Whether new calls may be made: not while connections are being opened, nor after the end.
  bool calling = false;
  uint64_t open = 0;   // calls in flight
  uint64_t ready = 0;  // clients that are ready for calls

  // Since the measuring has begun.
  uint64_t calls = 0;
  uint64_t bytes = 0;  // of answers
  LatencyHistogram latency;

  // Since the start.
  Instant last_answer = 0;
  uint64_t answers = 0;  // good or not
  uint64_t errors = 0;
  std::string first_error;
  std::map<int64_t, uint64_t> faults;  // JSON-RPC errors by code

  // Times around the kill of a process; 0: not yet.
  Instant killed = 0;
  uint64_t open_at_kill = 0;
  Instant last_old_answer = 0;   // to calls made before the kill
  Instant first_new_result = 0;  // to calls made after the kill

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
  // Called at the end of the warm-up.
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
