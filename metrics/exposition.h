// MetricsExposition: everything that is counted, as the text that Prometheus scrapes (text format
// 0.0.4): what a PrometheusObserver has counted, and what is only read when somebody asks.
//
// Owner: the composition root. Called on the loop's thread; costs some milliseconds when there are
// thousands of series.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gateway/base/time.h"
#include "metrics/prometheus_observer.h"

namespace stdgate {

// What the composition root reads for each scrape.
struct ScrapeReadings {
  struct BackendUsage {
    std::string backend;
    double cpu_seconds = 0;       // of all children so far, ended ones included
    uint64_t resident_bytes = 0;  // of the living ones
  };
  std::vector<BackendUsage> children;
  Duration loop_lag{0};
};

class MetricsExposition {
 public:
  static constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

  MetricsExposition(const PrometheusObserver& observer, std::string version,
                    std::function<ScrapeReadings()> read)
      : observer_(observer), version_(std::move(version)), read_(std::move(read)) {}

  [[nodiscard]] std::string text() const;

 private:
  const PrometheusObserver& observer_;
  const std::string version_;
  const std::function<ScrapeReadings()> read_;
};

}  // namespace stdgate
