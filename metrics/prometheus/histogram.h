// Histogram: how many durations fell into each bucket, and their sum, exact to the nanosecond.
//
// Owner: a MetricsStore, which also has the Buckets; used by one thread, so plain integers do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "metrics/prometheus/buckets.h"

namespace stdgate::metrics {

class Histogram {
 public:
  explicit Histogram(const Buckets& buckets) : counts_(buckets.count()) {}

  // `buckets` are those that it was made with.
  void observe(const Buckets& buckets, Duration duration) {
    duration = std::max(duration, Duration::zero());
    ++counts_[buckets.index_of(duration)];
    sum_ns_ += static_cast<uint64_t>(duration.count());
  }

  void add(const Histogram& other) {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    sum_ns_ += other.sum_ns_;
  }

  [[nodiscard]] std::span<const uint64_t> counts() const { return counts_; }  // by bucket
  [[nodiscard]] uint64_t total() const {
    return std::accumulate(counts_.begin(), counts_.end(), uint64_t{0});
  }
  [[nodiscard]] double sum_seconds() const { return static_cast<double>(sum_ns_) / 1e9; }

 private:
  // With many calls under way at once, 64 bits would overflow within weeks.
  __extension__ using Nanoseconds = unsigned __int128;

  std::vector<uint64_t> counts_;
  Nanoseconds sum_ns_ = 0;
};

}  // namespace stdgate::metrics
