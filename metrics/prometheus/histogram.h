// Histograms of durations, with exemplars.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/base/trace_context.h"

namespace stdgate::metrics {

// Buckets: the bounds that all histograms of a store share, and the bucket of a duration.
//
// Job: find a bucket without searching: the number of a duration's bits says where to begin, and
// bounds that are not extremely close leave a step or two. A bound belongs to its own bucket, as
// Prometheus' label `le` says. Owner: a MetricsStore. Limits: bounds above kEndless hold
// everything; the configuration bounds their number.
class Buckets {
 public:
  static constexpr Duration kEndless = std::chrono::hours(24) * 365 * 200;

  // In seconds, positive and ascending.
  explicit Buckets(std::span<const double> bounds);

  [[nodiscard]] std::span<const double> bounds() const { return bounds_; }
  // With the last one, which has no bound.
  [[nodiscard]] size_t count() const { return longest_.size(); }

  // Below count(). `duration` is not negative.
  [[nodiscard]] size_t index_of(Duration duration) const {
    size_t index = first_by_width_[static_cast<size_t>(
        std::bit_width(static_cast<uint64_t>(duration.count())))];
    while (duration > longest_[index]) ++index;
    return index;
  }

  friend bool operator==(const Buckets& a, const Buckets& b) { return a.bounds_ == b.bounds_; }

 private:
  static constexpr size_t kWidths = 64;  // a duration that is not negative has 0 to 63 bits

  std::vector<double> bounds_;
  std::vector<Duration> longest_;                   // in each bucket
  std::array<uint32_t, kWidths> first_by_width_{};  // the bucket of the shortest so wide
};

// Exemplar: a sampled call that fell into a bucket of a histogram, so that one gets from a slow
// bucket to the trace of a call in it (OpenMetrics 1.0, Exemplars).
//
// Owner: the Histogram, which keeps the last one of each bucket.
struct Exemplar {
  std::array<uint8_t, 16> trace_id = TraceContext::kNoTrace;  // kNoTrace: none
  Duration duration{0};
  WallTime at{};  // when the call ended

  [[nodiscard]] bool is_none() const { return trace_id == TraceContext::kNoTrace; }
};

// Histogram: how many durations fell into each bucket, and their sum, exact to the nanosecond; with
// the last sampled call in each, once there was one.
//
// Owner: a MetricsStore, which also has the Buckets; used by one thread, so plain integers do.
class Histogram {
 public:
  explicit Histogram(const Buckets& buckets) : counts_(buckets.count()) {}

  // `buckets`: the ones that the histogram was made with. `sampled`: the call, without its
  // duration; null: not sampled.
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
