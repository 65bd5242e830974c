// What several stores have counted, added up, as prometheus-cpp's families.
//
// Families, in the order of their rows (families.h), have their series in the order of ids, so the
// same counts give the same text. Families that have no series yet are left out. The stores have
// the same bounds and backends.
#pragma once

#include <prometheus/metric_family.h>

#include <span>
#include <string_view>
#include <vector>

#include "metrics/prometheus/families.h"
#include "metrics/prometheus/metrics_store.h"

namespace stdgate::metrics {

// prometheus-cpp has no exemplars.
struct CollectedFamily {
  prometheus::MetricFamily family;
  std::vector<std::vector<Exemplar>> exemplars{};  // by metric, then by bucket; may be shorter
};

// One without metrics.
CollectedFamily family_of(std::string_view name, std::string_view help, MetricKind kind);

std::vector<CollectedFamily> collect(std::span<const MetricsStore> stores);

}  // namespace stdgate::metrics
