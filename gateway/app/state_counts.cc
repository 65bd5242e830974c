#include "gateway/app/state_counts.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "metrics/prometheus/metrics_store.h"

namespace stdgate::app {

namespace {

// The cells of a family that are not zero, by the values of its label.
std::vector<NamedCount> named(const metrics::Series& series, metrics::Family family) {
  std::vector<NamedCount> found;
  const metrics::FamilyRow& row = metrics::families()[static_cast<size_t>(family)];
  for (size_t i = 0; i < row.cells(); ++i) {
    const uint64_t count = series.number(family, i);
    if (count > 0) found.push_back({row.labels[0].value(i), count});
  }
  return found;
}

bool is_failure(Outcome outcome) {
  return outcome != Outcome::ok() && outcome != Outcome::cancelled() && !outcome.is_stop();
}

// Adds up histograms of one store.
class Adder {
 public:
  explicit Adder(const metrics::MetricsStore& store) : store_(store) {}

  [[nodiscard]] BucketCounts none() const { return BucketCounts(store_.buckets().count()); }

  // How many calls the histogram has.
  uint64_t add(BucketCounts& sum, metrics::HistogramSlot slot) const {
    const metrics::Histogram* const histogram = store_.find(slot);
    if (histogram == nullptr) return 0;
    const std::span<const uint64_t> counts = histogram->counts();
    for (size_t i = 0; i < counts.size(); ++i) sum[i] += counts[i];
    return histogram->total();
  }

  // A family whose first label is the outcome; `outcomes`: counts by outcome.
  void add(NamedDurations& sum, const metrics::Series& series, metrics::Family family,
           std::array<uint64_t, Outcome::kCount>& outcomes) const {
    const size_t cells = metrics::families()[static_cast<size_t>(family)].cells();
    for (size_t cell = 0; cell < cells; ++cell) {
      const size_t outcome = cell * Outcome::kCount / cells;
      const uint64_t calls = add(sum.total, series.slot(family, cell));
      sum.calls += calls;
      outcomes[outcome] += calls;
      if (is_failure(Outcome::at(outcome))) sum.failures += calls;
    }
  }

 private:
  const metrics::MetricsStore& store_;
};

void add(BucketCounts& sum, const BucketCounts& more) {
  for (size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
}

// The names with the most calls; none without calls.
void keep_busiest(std::vector<NamedDurations>& all) {
  std::erase_if(all, [](const NamedDurations& one) { return one.calls == 0; });
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.calls > b.calls; });
  if (all.size() > StateCounts::kMaxNames) all.resize(StateCounts::kMaxNames);
}

BackendCounts counts_of(const metrics::BackendSeries& backend, const Adder& adder) {
  BackendCounts counts;
  counts.total = counts.queue = counts.child = adder.none();
  std::array<uint64_t, Outcome::kCount> outcomes{};
  using metrics::Family;
  for (const metrics::Series& method : backend.methods) {
    NamedDurations one{method.name, 0, 0, adder.none(), adder.none()};
    adder.add(one, method, Family::requests, outcomes);
    adder.add(one.child, method.slot(Family::child));
    add(counts.total, one.total);
    add(counts.child, one.child);
    counts.methods.push_back(std::move(one));
  }
  std::array<uint64_t, Outcome::kCount> counted_already{};
  for (const metrics::Series& tool : backend.tools) {
    NamedDurations one{tool.name, 0, 0, adder.none(), {}};
    adder.add(one, tool, Family::tools, counted_already);
    counts.tools.push_back(std::move(one));
  }
  keep_busiest(counts.methods);
  keep_busiest(counts.tools);
  adder.add(counts.queue, backend.slot(Family::queue));
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i] > 0) counts.outcomes.push_back({Outcome::at(i).name(), outcomes[i]});
  }
  counts.rejected = named(backend, Family::rejected);
  counts.dropped = named(backend, Family::dropped);
  counts.pins = named(backend, Family::pins);
  return counts;
}

}  // namespace

StateCounts state_counts(const metrics::MetricsStore& store) {
  StateCounts counts;
  const std::span<const double> bounds = store.buckets().bounds();
  counts.bounds.assign(bounds.begin(), bounds.end());
  counts.refusals = named(store.gateway(), metrics::Family::refusals);
  const Adder adder(store);
  for (const metrics::BackendSeries& backend : store.backends()) {
    counts.backends.push_back(counts_of(backend, adder));
  }
  return counts;
}

}  // namespace stdgate::app
