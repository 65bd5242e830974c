// LatencyHistogram: counts of nanoseconds in buckets of fixed places, 64 for each power of two.
//
// Owner: whoever measures. A value read back is at most 1.6 % off; recording costs a few
// instructions and no memory beyond the 30 KB that every histogram has.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace stdgate::bench {

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
  // The value that `share` (0 to 1) of all recorded ones do not exceed; 0 when there is none.
  [[nodiscard]] uint64_t quantile_ns(double share) const;

 private:
  static constexpr size_t kSubBits = 6;
  static constexpr size_t kSubBuckets = size_t{1} << kSubBits;

  // Below 128 each value has its own bucket; above, the value's first seven bits choose it.
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

}  // namespace stdgate::bench
