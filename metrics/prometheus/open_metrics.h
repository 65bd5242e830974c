// The counts of stores as metric families, and families as OpenMetrics text.
#pragma once

#include <prometheus/metric_family.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/prometheus/families.h"
#include "metrics/prometheus/metrics_store.h"

namespace stdgate::metrics {

// --- The counts of several stores, added up, as prometheus-cpp's families
//
// Families stand in the order of their rows (families.h), and their series in the order of ids, so
// the same counts give the same text. Families that have no series yet are left out. The stores
// have the same bounds and backends.

// A family with its exemplars, which the types of prometheus-cpp do not have.
struct CollectedFamily {
  prometheus::MetricFamily family;
  std::vector<std::vector<Exemplar>> exemplars{};  // by metric, then by bucket; may be shorter
};

// A family without metrics.
CollectedFamily family_of(std::string_view name, std::string_view help, MetricKind kind);

std::vector<CollectedFamily> collect(std::span<const MetricsStore> stores);

// Families as OpenMetrics text, version 1.0.0 (openmetrics.io), which prometheus-cpp does not
// write: with units, and exemplars that name the trace of a sampled call. Pure.
// Names of counters end with _total. Families are counters, gauges and histograms.
std::string open_metrics_text(std::span<const CollectedFamily> families);

}  // namespace stdgate::metrics
