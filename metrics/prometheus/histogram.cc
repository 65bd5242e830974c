#include "metrics/prometheus/histogram.h"

#include <algorithm>
#include <cmath>

namespace stdgate::metrics {
namespace {

// The longest duration that is, in seconds, not above the bound.
Duration longest_within(double bound) {
  if (bound > to_seconds(Buckets::kEndless)) return Duration::max();
  Duration longest(std::llround(bound * 1e9));
  while (to_seconds(longest) > bound) --longest;
  while (to_seconds(longest + Duration(1)) <= bound) ++longest;
  return longest;
}

}  // namespace

Buckets::Buckets(std::span<const double> bounds) : bounds_(bounds.begin(), bounds.end()) {
  for (const double bound : bounds_) longest_.push_back(longest_within(bound));
  longest_.push_back(Duration::max());
  for (size_t width = 1; width < kWidths; ++width) {
    const Duration shortest(int64_t{1} << (width - 1));
    const auto first = std::lower_bound(longest_.begin(), longest_.end(), shortest);
    first_by_width_[width] = static_cast<uint32_t>(first - longest_.begin());
  }
}

}  // namespace stdgate::metrics
