// StateCounts: the counts that /debug/state shows: outcomes, refusals, and durations of calls, as
// buckets. From two readings, a reader can compute the quantiles of the time between.
//
// Values, made from a MetricsStore for one report. Limit: the kMaxNames methods of a backend with
// the most calls, and as many tools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate::metrics {
class MetricsStore;
}  // namespace stdgate::metrics

namespace stdgate::app {

// A count with the value of its label: an outcome, or a reason.
struct NamedCount {
  std::string_view name;
  uint64_t count = 0;
};

using BucketCounts = std::vector<uint64_t>;  // the last one has no bound

// The calls of one method or tool, with their durations.
struct NamedDurations {
  std::string_view name;
  uint64_t calls = 0;
  uint64_t failures = 0;  // calls that were neither ok nor cancelled
  BucketCounts total;     // arrival to answer
  BucketCounts child;     // written to the child until answered; empty for tools
};

// The counts of one backend.
struct BackendCounts {
  std::vector<NamedCount> outcomes;  // the calls so far
  std::vector<NamedCount> rejected;  // the same
  std::vector<NamedCount> dropped;   // the same
  std::vector<NamedCount> pins;      // elements of the server's lists, by what the lock file says
  BucketCounts total;
  BucketCounts queue;
  BucketCounts child;
  std::vector<NamedDurations> methods;  // most calls first
  std::vector<NamedDurations> tools;    // the same
};

// The counts of all backends, and those of the whole gateway.
struct StateCounts {
  static constexpr size_t kMaxNames = 10;

  std::vector<double> bounds;  // of the buckets, in seconds
  std::vector<NamedCount> refusals;
  std::vector<BackendCounts> backends;  // by BackendId
};

// The names are views into the store.
StateCounts state_counts(const metrics::MetricsStore& store);

}  // namespace stdgate::app
