#include "metrics/prometheus/metrics_store.h"

#include <cassert>
#include <unordered_map>

namespace stdgate::metrics {
namespace {

template <class Number, size_t N>
void add_numbers(std::array<Number, N>& sum, const std::array<Number, N>& more) {
  for (size_t i = 0; i < N; ++i) sum[i] += more[i];
}

// Calls `add_one` for each of `more` with the one of `all` that has its name, or is made for it.
template <class Named, class AddOne>
void match_by_name(std::vector<Named>& all, const std::vector<Named>& more, AddOne add_one) {
  std::unordered_map<std::string, size_t> places;
  for (size_t i = 0; i < all.size(); ++i) places.emplace(all[i].name, i);
  for (const Named& one : more) {
    const auto [place, is_new] = places.emplace(one.name, all.size());
    if (is_new) all.emplace_back().name = one.name;
    add_one(all[place->second], one);
  }
}

}  // namespace

BackendMetrics::BackendMetrics(std::string_view backend_name, const Buckets& buckets)
    : name(backend_name), queue(buckets), child_start(buckets), revival(buckets) {
  methods.emplace_back().name = "_other";
  tools.emplace_back().name = "_other";
}

BackendMetrics& MetricsStore::add_backend(std::string_view name) {
  return backends_.emplace_back(name, buckets_);
}

uint32_t MetricsStore::make_histogram() {
  histograms_.emplace_back(buckets_);
  return static_cast<uint32_t>(histograms_.size());
}

void MetricsStore::add(const MetricsStore& other) {
  assert(buckets_ == other.buckets_);
  for (size_t id = 0; id < other.backends_.size(); ++id) {
    if (id == backends_.size()) add_backend(other.backends_[id].name);
    add(backends_[id], other.backends_[id], other);
  }
  for (size_t k = 0; k < kConnectionKindCount; ++k) {
    connections_[k].open += other.connections_[k].open;
    add_numbers(connections_[k].bytes, other.connections_[k].bytes);
  }
  add_numbers(refusals_, other.refusals_);
  add_numbers(handshake_failures_, other.handshake_failures_);
  add_numbers(key_fetches_, other.key_fetches_);
}

void MetricsStore::add(BackendMetrics& sum, const BackendMetrics& backend,
                       const MetricsStore& other) {
  assert(sum.name == backend.name);
  match_by_name(sum.methods, backend.methods,
                [&](MethodMetrics& all, const MethodMetrics& method) { add(all, method, other); });
  match_by_name(sum.tools, backend.tools,
                [&](ToolMetrics& all, const ToolMetrics& tool) { add(all, tool, other); });
  sum.in_flight += backend.in_flight;
  sum.open_breakers += backend.open_breakers;
  sum.session_places += backend.session_places;
  add_numbers(sum.sessions, backend.sessions);
  add_numbers(sum.parked, backend.parked);
  sum.parked_calls += backend.parked_calls;
  add_numbers(sum.parked_ends, backend.parked_ends);
  add_numbers(sum.returns, backend.returns);
  add_numbers(sum.revived, backend.revived);
  sum.revival.add(backend.revival);
  sum.queue.add(backend.queue);
  sum.child_start.add(backend.child_start);
  add_numbers(sum.mcp_requests, backend.mcp_requests);
  sum.cache_hits += backend.cache_hits;
  add_numbers(sum.dropped, backend.dropped);
  add_numbers(sum.rejected, backend.rejected);
  add_numbers(sum.children, backend.children);
  add_numbers(sum.starts, backend.starts);
  add_numbers(sum.exits, backend.exits);
}

void MetricsStore::add(MethodMetrics& sum, const MethodMetrics& method, const MetricsStore& other) {
  for (size_t t = 0; t < kTransportCount; ++t) {
    for (size_t o = 0; o < Outcome::kCount; ++o) {
      add(sum.requests[t][o], other.find(method.requests[t][o]));
    }
  }
  add(sum.child, other.find(method.child));
  add_numbers(sum.notifications, method.notifications);
}

void MetricsStore::add(ToolMetrics& sum, const ToolMetrics& tool, const MetricsStore& other) {
  for (size_t o = 0; o < Outcome::kCount; ++o) add(sum.calls[o], other.find(tool.calls[o]));
}

void MetricsStore::add(HistogramSlot& slot, const Histogram* histogram) {
  if (histogram == nullptr) return;
  if (slot.number == 0) slot.number = make_histogram();
  histograms_[slot.number - 1].add(*histogram);
}

}  // namespace stdgate::metrics
