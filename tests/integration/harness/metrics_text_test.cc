// The reader of the metrics text.
#include "tests/integration/harness/metrics_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace stdgate::harness::metrics_text_test {
namespace {

TEST(MetricsText, FindsSeries) {
  const MetricsText metrics(
      "# HELP calls_total Calls, by \"method\".\n"
      "# TYPE calls_total counter\n"
      "calls_total{backend=\"a\",method=\"x\"} 3\n"
      "calls_total{backend=\"a\",method=\"y\"} 4\n"
      "calls_total{backend=\"b\",method=\"q\\\"\\\\\\n}, \"} 5\n"
      "\n"
      "up 1.5e-3\n"
      "le_bucket{le=\"+Inf\"} +Inf\n");
  EXPECT_EQ(metrics.type("calls_total"), "counter");
  EXPECT_EQ(metrics.type("up"), "");
  EXPECT_EQ(metrics.value("calls_total", {{"method", "y"}, {"backend", "a"}}), 4);
  EXPECT_EQ(metrics.value("calls_total", {{"backend", "b"}, {"method", "q\"\\\n}, "}}), 5);
  EXPECT_EQ(metrics.value("calls_total", {{"backend", "a"}}), std::nullopt);
  EXPECT_EQ(metrics.value("nothing", {}), std::nullopt);
  EXPECT_EQ(metrics.value("up", {}), 0.0015);
  EXPECT_TRUE(std::isinf(metrics.value("le_bucket", {{"le", "+Inf"}}).value()));
  EXPECT_EQ(metrics.sum("calls_total"), 12);
  EXPECT_EQ(metrics.sum("calls_total", {{"backend", "a"}}), 7);
  EXPECT_EQ(metrics.sum("calls_total", {{"backend", "c"}}), 0);
  EXPECT_EQ(metrics.sum("nothing"), 0);
  EXPECT_EQ(metrics.series("calls_total"), 3U);
  EXPECT_EQ(metrics.series("nothing"), 0U);
}

TEST(MetricsText, RefusesWhatIsMalformed) {
  for (const char* text : {"a", "a ", "a x", "a 1x", "{a=\"b\"} 1", "a{b} 1", "a{b=\"c} 1",
                           "a{b=\"c\"}1", "a{=\"c\"} 1", "a 1\na 2\n", "a-b 1"}) {
    EXPECT_THROW(MetricsText{text}, std::runtime_error) << text;
  }
}

}  // namespace
}  // namespace stdgate::harness::metrics_text_test
