// Histogram: how many durations fell into each bucket, and their sum, exact to the nanosecond; with
// the last sampled call in each, once there was one.
//
// Owner: a MetricsStore, which also has the Buckets; used by one thread, so plain integers do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "metrics/prometheus/buckets.h"
#include "metrics/prometheus/exemplar.h"

namespace stdgate::metrics {

class Histogram {
 public:
  explicit Histogram(const Buckets& buckets) : counts_(buckets.count()) {}

  // `buckets` are those that it was made with. `sampled`: the call, without its duration; null: it
  // was not sampled.
  void observe(const Buckets& buckets, Duration duration, const Exemplar* sampled = nullptr) {
    duration = std::max(duration, Duration::zero());
    const size_t bucket = buckets.index_of(duration);
    ++counts_[bucket];
    sum_ns_ += static_cast<uint64_t>(duration.count());
    if (sampled != nullptr) keep({sampled->trace_id, duration, sampled->at}, bucket);
  }

  // Of two exemplars the later one stays.
  void add(const Histogram& other) {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    sum_ns_ += other.sum_ns_;
    for (size_t i = 0; i < other.exemplars_.size(); ++i) {
      if (!other.exemplars_[i].is_none()) keep(other.exemplars_[i], i);
    }
  }

  [[nodiscard]] std::span<const uint64_t> counts() const { return counts_; }  // by bucket
  // By bucket; empty: there was none yet.
  [[nodiscard]] std::span<const Exemplar> exemplars() const { return exemplars_; }
  [[nodiscard]] uint64_t total() const {
    return std::accumulate(counts_.begin(), counts_.end(), uint64_t{0});
  }
  [[nodiscard]] double sum_seconds() const { return static_cast<double>(sum_ns_) / 1e9; }

 private:
  // With many calls under way at once, 64 bits would overflow within weeks.
  __extension__ using Nanoseconds = unsigned __int128;

  void keep(const Exemplar& exemplar, size_t bucket) {
    if (exemplars_.empty()) exemplars_.resize(counts_.size());
    Exemplar& kept = exemplars_[bucket];
    if (kept.is_none() || kept.at <= exemplar.at) kept = exemplar;
  }

  std::vector<uint64_t> counts_;
  std::vector<Exemplar> exemplars_;
  Nanoseconds sum_ns_ = 0;
};

}  // namespace stdgate::metrics
