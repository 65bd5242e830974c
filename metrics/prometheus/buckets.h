// Buckets: the bounds that all histograms of a store share, and the bucket of a duration.
//
// Job: find a bucket without searching: the number of a duration's bits says where to begin, and
// bounds that are not extremely close leave a step or two. A bound belongs to its own bucket, as
// Prometheus' label `le` says. Owner: a MetricsStore. Limits: bounds above kEndless hold
// everything; the configuration bounds their number.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gateway/base/time.h"

namespace stdgate::metrics {

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

}  // namespace stdgate::metrics
