#include "metrics/prometheus/metrics_store.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "gateway/base/check.h"

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

// Calls `add_one` for each of `more` with the one of `all` that has its name, or is made for it.
template <class AddOne>
void match_by_name(std::vector<Series>& all, const std::vector<Series>& more, AddOne add_one) {
  std::unordered_map<std::string, size_t> places;
  for (size_t i = 0; i < all.size(); ++i) places.emplace(all[i].name, i);
  for (const Series& one : more) {
    const auto [place, is_new] = places.emplace(one.name, all.size());
    if (is_new) all.emplace_back(one.scope(), one.name);
    add_one(all[place->second], one);
  }
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

BackendSeries::BackendSeries(std::string_view backend) : Series(Scope::backend, backend) {
  methods.emplace_back(Scope::method, "_other");
  tools.emplace_back(Scope::tool, "_other");
}

MetricsStore::MetricsStore(std::span<const double> bounds) : buckets_(bounds) {
  for (size_t i = 0; i < kConnectionKindCount; ++i) {
    connections_.emplace_back(Scope::connection,
                              connection_kind_name(static_cast<ConnectionKind>(i)));
  }
}

BackendSeries& MetricsStore::add_backend(std::string_view name) {
  BackendSeries& backend = backends_.emplace_back(name);
  for (const FamilyRow& row : families()) {
    if (row.scope != Scope::backend || !row.is_histogram() || row.is_sparse) continue;
    for (size_t i = 0; i < row.cells(); ++i) backend.slot(row.id, i).number = make_histogram();
  }
  return backend;
}

uint32_t MetricsStore::make_histogram() {
  histograms_.emplace_back(buckets_);
  return static_cast<uint32_t>(histograms_.size());
}

void MetricsStore::observe(HistogramSlot& slot, Duration duration, const Exemplar* sampled) {
  if (slot.number == 0) slot.number = make_histogram();
  histograms_[slot.number - 1].observe(buckets_, duration, sampled);
}

void MetricsStore::add(const MetricsStore& other) {
  STDGATE_CHECK(buckets_ == other.buckets_);
  const auto add_one = [&](Series& sum, const Series& more) { add(sum, more, other); };
  add_one(gateway_, other.gateway_);
  for (size_t i = 0; i < connections_.size(); ++i) add_one(connections_[i], other.connections_[i]);
  for (size_t id = 0; id < other.backends_.size(); ++id) {
    const BackendSeries& more = other.backends_[id];
    if (id == backends_.size()) add_backend(more.name);
    BackendSeries& sum = backends_[id];
    STDGATE_CHECK(sum.name == more.name);
    add_one(sum, more);
    match_by_name(sum.methods, more.methods, add_one);
    match_by_name(sum.tools, more.tools, add_one);
  }
}

void MetricsStore::add(Series& sum, const Series& more, const MetricsStore& other) {
  for (size_t i = 0; i < sum.numbers_.size(); ++i) sum.numbers_[i] += more.numbers_[i];
  for (size_t i = 0; i < sum.slots_.size(); ++i) {
    const Histogram* const histogram = other.find(more.slots_[i]);
    if (histogram == nullptr) continue;
    if (sum.slots_[i].number == 0) sum.slots_[i].number = make_histogram();
    histograms_[sum.slots_[i].number - 1].add(*histogram);
  }
}

}  // namespace stdgate::metrics
