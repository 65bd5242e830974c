// Families as OpenMetrics text, version 1.0.0 (openmetrics.io), which prometheus-cpp does not
// write: with units, and exemplars that name the trace of a sampled call. Pure.
#pragma once

#include <span>
#include <string>

#include "metrics/prometheus/metrics_collector.h"

namespace stdgate::metrics {

// Names of counters end with _total. Families are counters, gauges and histograms.
std::string open_metrics_text(std::span<const CollectedFamily> families);

}  // namespace stdgate::metrics
