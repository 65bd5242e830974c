#include "gateway/app/state_counts.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "metrics/prometheus/metrics_store.h"

namespace stdgate::app {

namespace {

// Of an array of counts by an enum, those that are not zero, by their names.
template <class Enum, size_t size>
std::vector<NamedCount> named(const std::array<uint64_t, size>& counts,
                              std::string_view (*name_of)(Enum)) {
  std::vector<NamedCount> found;
  for (size_t i = 0; i < size; ++i) {
    if (counts[i] > 0) found.push_back({name_of(static_cast<Enum>(i)), counts[i]});
  }
  return found;
}

bool is_failure(Outcome outcome) {
  return outcome != Outcome::ok() && outcome != Outcome::cancelled();
}

// Adds up histograms of one store.
class Adder {
 public:
  explicit Adder(const metrics::MetricsStore& store) : store_(store) {}

  [[nodiscard]] BucketCounts none() const { return BucketCounts(store_.buckets().count()); }

  // How many calls the histogram has.
  static uint64_t add(BucketCounts& sum, const metrics::Histogram& histogram) {
    const std::span<const uint64_t> counts = histogram.counts();
    for (size_t i = 0; i < counts.size(); ++i) sum[i] += counts[i];
    return histogram.total();
  }
  uint64_t add(BucketCounts& sum, metrics::HistogramSlot slot) const {
    const metrics::Histogram* const histogram = store_.find(slot);
    return histogram == nullptr ? 0 : add(sum, *histogram);
  }

  // Slots by outcome; `outcomes`: counts by outcome.
  void add(NamedDurations& sum, const std::array<metrics::HistogramSlot, Outcome::kCount>& slots,
           std::array<uint64_t, Outcome::kCount>& outcomes) const {
    for (size_t i = 0; i < slots.size(); ++i) {
      const uint64_t calls = add(sum.total, slots[i]);
      sum.calls += calls;
      outcomes[i] += calls;
      if (is_failure(Outcome::at(i))) sum.failures += calls;
    }
  }

 private:
  const metrics::MetricsStore& store_;
};

void add(BucketCounts& sum, const BucketCounts& more) {
  for (size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
}

// Those with the most calls, of those that have any.
void keep_busiest(std::vector<NamedDurations>& all) {
  std::erase_if(all, [](const NamedDurations& one) { return one.calls == 0; });
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.calls > b.calls; });
  if (all.size() > StateCounts::kMaxNames) all.resize(StateCounts::kMaxNames);
}

BackendCounts counts_of(const metrics::BackendMetrics& backend, const Adder& adder) {
  BackendCounts counts;
  counts.total = counts.queue = counts.child = adder.none();
  std::array<uint64_t, Outcome::kCount> outcomes{};
  for (const metrics::MethodMetrics& method : backend.methods) {
    NamedDurations one{method.name, 0, 0, adder.none(), adder.none()};
    for (const auto& by_outcome : method.requests) adder.add(one, by_outcome, outcomes);
    adder.add(one.child, method.child);
    add(counts.total, one.total);
    add(counts.child, one.child);
    counts.methods.push_back(std::move(one));
  }
  std::array<uint64_t, Outcome::kCount> counted_already{};
  for (const metrics::ToolMetrics& tool : backend.tools) {
    NamedDurations one{tool.name, 0, 0, adder.none(), {}};
    adder.add(one, tool.calls, counted_already);
    counts.tools.push_back(std::move(one));
  }
  keep_busiest(counts.methods);
  keep_busiest(counts.tools);
  Adder::add(counts.queue, backend.queue);
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i] > 0) counts.outcomes.push_back({Outcome::at(i).name(), outcomes[i]});
  }
  counts.rejected = named(backend.rejected, rejection_name);
  counts.dropped = named(backend.dropped, drop_reason_name);
  return counts;
}

}  // namespace

StateCounts state_counts(const metrics::MetricsStore& store) {
  StateCounts counts;
  const std::span<const double> bounds = store.buckets().bounds();
  counts.bounds.assign(bounds.begin(), bounds.end());
  counts.refusals = named(store.refusals(), refusal_name);
  const Adder adder(store);
  for (const metrics::BackendMetrics& backend : store.backends()) {
    counts.backends.push_back(counts_of(backend, adder));
  }
  return counts;
}

}  // namespace stdgate::app
