// What several stores have counted, added up, as prometheus-cpp's families.
//
// Job: names, helps and labels of all that is counted. The stores have the same bounds and
// backends. Families that have no series yet are left out. Series are in the order of ids, so the
// same counts give the same text.
#pragma once

#include <prometheus/metric_family.h>

#include <span>
#include <vector>

#include "metrics/prometheus/metrics_store.h"

namespace stdgate::metrics {

// prometheus-cpp has no exemplars.
struct CollectedFamily {
  prometheus::MetricFamily family;
  std::vector<std::vector<Exemplar>> exemplars{};  // by metric, then by bucket; may be shorter
};

std::vector<CollectedFamily> collect(std::span<const MetricsStore> stores);

}  // namespace stdgate::metrics
