// The text of families, checked against the specification (OpenMetrics 1.0.0): suffixes, units,
// escapes, numbers, exemplars, the end.
#include "metrics/prometheus/open_metrics.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace stdgate {
namespace {

using metrics::CollectedFamily;
using metrics::Exemplar;
using prometheus::ClientMetric;
using prometheus::MetricType;
using std::chrono::milliseconds;

CollectedFamily family(const char* name, MetricType type, const char* help = "h") {
  CollectedFamily collected;
  collected.family.name = name;
  collected.family.help = help;
  collected.family.type = type;
  return collected;
}

CollectedFamily gauge_of(double value, std::vector<ClientMetric::Label> labels = {}) {
  CollectedFamily collected = family("g", MetricType::Gauge);
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  collected.family.metric.push_back(metric);
  return collected;
}

std::string text_of(const CollectedFamily& collected) {
  return metrics::open_metrics_text({&collected, 1});
}

TEST(OpenMetrics, EndsWithEof) { EXPECT_EQ(metrics::open_metrics_text({}), "# EOF\n"); }

TEST(OpenMetrics, CountersAreNamedWithoutTheirSuffix) {
  CollectedFamily counter = family("process_cpu_seconds_total", MetricType::Counter);
  ClientMetric metric;
  metric.counter.value = 1.5;
  counter.family.metric.push_back(metric);
  EXPECT_EQ(text_of(counter),
            "# TYPE process_cpu_seconds counter\n"
            "# UNIT process_cpu_seconds seconds\n"
            "# HELP process_cpu_seconds h\n"
            "process_cpu_seconds_total 1.5\n"
            "# EOF\n");
}

TEST(OpenMetrics, NumbersAreShort) {
  const std::pair<double, std::string> cases[] = {
      {0, "0"},
      {1, "1"},
      {-3, "-3"},
      {0.1, "0.1"},
      {1e21, "1e+21"},
      {1234567, "1234567"},
      {1.0 / 3, "0.3333333333333333"},
      {std::numeric_limits<double>::infinity(), "+Inf"},
      {-std::numeric_limits<double>::infinity(), "-Inf"},
  };
  for (const auto& [value, expected] : cases) {
    EXPECT_EQ(text_of(gauge_of(value)), "# TYPE g gauge\n# HELP g h\ng " + expected + "\n# EOF\n");
  }
}

TEST(OpenMetrics, TextIsEscaped) {
  CollectedFamily gauge = gauge_of(1, {{"a", "x\"y\\z\nw"}, {"b", ""}});
  gauge.family.help = "one\ntwo \"three\" \\";
  EXPECT_EQ(text_of(gauge),
            "# TYPE g gauge\n"
            "# HELP g one\\ntwo \\\"three\\\" \\\\\n"
            "g{a=\"x\\\"y\\\\z\\nw\",b=\"\"} 1\n"
            "# EOF\n");
}

TEST(OpenMetrics, BucketsHaveTheirExemplars) {
  CollectedFamily histogram = family("d_seconds", MetricType::Histogram);
  for (const char* label : {"a", "b"}) {
    ClientMetric metric;
    metric.label = {{"x", label}};
    metric.histogram.sample_count = 3;
    metric.histogram.sample_sum = 2.5;
    metric.histogram.bucket = {{1, 0.005}, {2, 1}, {3, std::numeric_limits<double>::infinity()}};
    histogram.family.metric.push_back(metric);
  }
  Exemplar exemplar;
  exemplar.trace_id = {0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6,
                       0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36};
  exemplar.duration = milliseconds(70);
  exemplar.at = WallTime(milliseconds(1700000000123));
  histogram.exemplars = {{Exemplar(), exemplar, Exemplar()}};
  EXPECT_EQ(text_of(histogram),
            "# TYPE d_seconds histogram\n"
            "# UNIT d_seconds seconds\n"
            "# HELP d_seconds h\n"
            "d_seconds_bucket{x=\"a\",le=\"0.005\"} 1\n"
            "d_seconds_bucket{x=\"a\",le=\"1.0\"} 2"
            " # {trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\"} 0.07 1700000000.123\n"
            "d_seconds_bucket{x=\"a\",le=\"+Inf\"} 3\n"
            "d_seconds_count{x=\"a\"} 3\n"
            "d_seconds_sum{x=\"a\"} 2.5\n"
            "d_seconds_bucket{x=\"b\",le=\"0.005\"} 1\n"
            "d_seconds_bucket{x=\"b\",le=\"1.0\"} 2\n"
            "d_seconds_bucket{x=\"b\",le=\"+Inf\"} 3\n"
            "d_seconds_count{x=\"b\"} 3\n"
            "d_seconds_sum{x=\"b\"} 2.5\n"
            "# EOF\n");
}

}  // namespace
}  // namespace stdgate
