#include "metrics/prometheus/metrics_collector.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace stdgate::metrics {
namespace {

using prometheus::ClientMetric;
using Labels = std::vector<ClientMetric::Label>;

prometheus::MetricType type_of(MetricKind kind) {
  switch (kind) {
    case MetricKind::counter:
      return prometheus::MetricType::Counter;
    case MetricKind::gauge:
      return prometheus::MetricType::Gauge;
    case MetricKind::histogram:
      break;
  }
  return prometheus::MetricType::Histogram;
}

// Turns the cells of one row into the metrics of its family.
class RowCollector {
 public:
  RowCollector(const FamilyRow& row, const MetricsStore& store) : row_(row), store_(store) {
    collected_ = family_of(row.name, row.help, row.kind);
  }

  // `own`: the labels that say what the series is of.
  void add(const Series& series, const Labels& own) {
    for (size_t cell = 0; cell < row_.cells(); ++cell) {
      if (row_.is_histogram()) {
        const Histogram* const histogram = store_.find(series.slot(row_.id, cell));
        if (histogram != nullptr) add(*histogram, add_metric(own, cell));
        continue;
      }
      const uint64_t number = series.number(row_.id, cell);
      if (number == 0 && row_.is_sparse) continue;
      ClientMetric& metric = add_metric(own, cell);
      if (row_.kind == MetricKind::counter) {
        metric.counter.value = static_cast<double>(number);
      } else {
        metric.gauge.value = static_cast<double>(static_cast<int64_t>(number));
      }
    }
  }

  CollectedFamily take() && { return std::move(collected_); }

 private:
  ClientMetric& add_metric(const Labels& own, size_t cell) {
    ClientMetric& metric = collected_.family.metric.emplace_back();
    metric.label = own;
    const std::array<size_t, 2> values = {cell / row_.labels[1].count, cell % row_.labels[1].count};
    for (size_t i = 0; i < row_.labels.size(); ++i) {
      const ValueList& list = row_.labels[i];
      if (list.label.empty()) continue;
      metric.label.push_back({std::string(list.label), std::string(list.value(values[i]))});
    }
    std::ranges::sort(metric.label, {}, &ClientMetric::Label::name);
    return metric;
  }

  void add(const Histogram& histogram, ClientMetric& metric) {
    ClientMetric::Histogram& out = metric.histogram;
    out.sample_sum = histogram.sum_seconds();
    if (const auto kept = histogram.exemplars(); !kept.empty()) {
      collected_.exemplars.resize(collected_.family.metric.size());
      collected_.exemplars.back().assign(kept.begin(), kept.end());
    }
    const Buckets& buckets = store_.buckets();
    out.bucket.reserve(buckets.count());
    for (size_t i = 0; i < buckets.count(); ++i) {
      out.sample_count += histogram.counts()[i];
      const bool is_last = i == buckets.bounds().size();
      out.bucket.push_back({out.sample_count, is_last ? std::numeric_limits<double>::infinity()
                                                      : buckets.bounds()[i]});
    }
  }

  const FamilyRow& row_;
  const MetricsStore& store_;
  CollectedFamily collected_;
};

void collect_backend(RowCollector& out, Scope scope, const BackendSeries& backend) {
  const ClientMetric::Label own = {"backend", backend.name};
  if (scope == Scope::backend) return out.add(backend, {own});
  const bool is_method = scope == Scope::method;
  for (const Series& series : is_method ? backend.methods : backend.tools) {
    out.add(series, {own, {is_method ? "method" : "tool", series.name}});
  }
}

CollectedFamily collect(const FamilyRow& row, const MetricsStore& store) {
  RowCollector out(row, store);
  if (row.scope == Scope::gateway) {
    out.add(store.gateway(), {});
  } else if (row.scope == Scope::connection) {
    for (const Series& series : store.connections()) out.add(series, {{"transport", series.name}});
  } else {
    for (const BackendSeries& backend : store.backends()) collect_backend(out, row.scope, backend);
  }
  return std::move(out).take();
}

}  // namespace

CollectedFamily family_of(std::string_view name, std::string_view help, MetricKind kind) {
  CollectedFamily collected;
  collected.family.name = name;
  collected.family.help = help;
  collected.family.type = type_of(kind);
  return collected;
}

std::vector<CollectedFamily> collect(std::span<const MetricsStore> stores) {
  if (stores.empty()) return {};
  // A single store is added up too: a method may be called "_other", as those without a place are.
  MetricsStore sum(stores.front().buckets().bounds());
  for (const MetricsStore& store : stores) sum.add(store);
  std::vector<CollectedFamily> families;
  for (const FamilyRow& row : metrics::families()) {
    CollectedFamily collected = collect(row, sum);
    if (!collected.family.metric.empty()) families.push_back(std::move(collected));
  }
  return families;
}

}  // namespace stdgate::metrics
