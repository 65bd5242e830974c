// MetricsStore: the numbers that a gateway counts, as plain integers: a value that can be copied,
// and added to another.
//
// Owner: a MetricsObserver, which fills it on its thread; other threads read copies only. The rows
// of families.h define its content. Limit: labels come from ids alone, so the source of the ids
// bounds their number.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/observer.h"
#include "metrics/prometheus/families.h"
#include "metrics/prometheus/histogram.h"

namespace stdgate::metrics {

// A place for a histogram, which the store makes when it is first used.
struct HistogramSlot {
  uint32_t number = 0;  // from 1; 0: not used yet
};

// The cells of one thing of a scope.
class Series {
 public:
  explicit Series(Scope scope, std::string_view series_name = {})
      : name(series_name),
        scope_(scope),
        numbers_(numbers_of(scope)),
        slots_(histograms_of(scope)) {}

  // `cell` is below the row's cells(). A gauge goes below zero for moments only.
  uint64_t& number(Family family, size_t cell = 0) { return numbers_[offset_of(family) + cell]; }
  [[nodiscard]] uint64_t number(Family family, size_t cell = 0) const {
    return numbers_[offset_of(family) + cell];
  }
  HistogramSlot& slot(Family family, size_t cell = 0) { return slots_[offset_of(family) + cell]; }
  [[nodiscard]] HistogramSlot slot(Family family, size_t cell = 0) const {
    return slots_[offset_of(family) + cell];
  }
  [[nodiscard]] Scope scope() const { return scope_; }

  std::string name;

 private:
  friend class MetricsStore;

  Scope scope_;
  std::vector<uint64_t> numbers_;
  std::vector<HistogramSlot> slots_;
};

struct BackendSeries : Series {
  explicit BackendSeries(std::string_view backend);

  std::vector<Series> methods;  // by MethodId; the first is kOtherMethod
  std::vector<Series> tools;    // by ToolId; the first is kOtherTool
};

class MetricsStore {
 public:
  // Bounds of all histograms, in seconds and ascending.
  explicit MetricsStore(std::span<const double> bounds);

  // Backends come in the order of their ids.
  BackendSeries& add_backend(std::string_view name);
  [[nodiscard]] BackendSeries& backend(BackendId id) { return backends_[id]; }
  [[nodiscard]] Series& connections(ConnectionKind kind) {
    return connections_[static_cast<size_t>(kind)];
  }
  [[nodiscard]] Series& gateway() { return gateway_; }
  // `sampled` as in Histogram.
  void observe(HistogramSlot& slot, Duration duration, const Exemplar* sampled = nullptr);

  // Adds the numbers of another store with the same bounds and backends. Methods and tools are
  // matched by their names: each store has ids of its own.
  void add(const MetricsStore& other);

  [[nodiscard]] const Buckets& buckets() const { return buckets_; }
  [[nodiscard]] const std::vector<BackendSeries>& backends() const { return backends_; }
  [[nodiscard]] const std::vector<Series>& connections() const { return connections_; }
  [[nodiscard]] const Series& gateway() const { return gateway_; }
  // Null: not used yet.
  [[nodiscard]] const Histogram* find(HistogramSlot slot) const {
    return slot.number == 0 ? nullptr : &histograms_[slot.number - 1];
  }

 private:
  uint32_t make_histogram();
  void add(Series& sum, const Series& more, const MetricsStore& other);

  Buckets buckets_;
  Series gateway_{Scope::gateway};
  std::vector<Series> connections_;      // by ConnectionKind
  std::vector<BackendSeries> backends_;  // by BackendId
  std::vector<Histogram> histograms_;    // by HistogramSlot
};

}  // namespace stdgate::metrics
