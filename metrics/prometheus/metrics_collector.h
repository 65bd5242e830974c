// MetricsCollector: the numbers of several stores, added up, as prometheus-cpp's families.
//
// Job: names, helps and labels of all that is counted. Owner: the code that wants the families; the
// stores outlive it, have the same bounds and backends, and do not change meanwhile. Families that
// have no series yet are left out. Series are in the order of ids, so the same counts give the
// same text.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <span>
#include <vector>

#include "metrics/prometheus/metrics_store.h"

namespace stdgate::metrics {

class MetricsCollector final : public prometheus::Collectable {
 public:
  explicit MetricsCollector(std::span<const MetricsStore* const> stores) : stores_(stores) {}

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::span<const MetricsStore* const> stores_;
};

}  // namespace stdgate::metrics
