// What is recorded comes back, to 1.6 %.
#include "tests/bench/latency_histogram.h"

#include <gmock/gmock.h>

#include <cstdint>

namespace stdgate::bench {
namespace {

TEST(LatencyHistogram, AnEmptyOneSaysNothing) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.quantile_ns(0.5), 0U);
  EXPECT_EQ(histogram.max_ns(), 0U);
}

TEST(LatencyHistogram, EachValueIsNearTheRecordedOne) {
  for (uint64_t value = 1; value < UINT64_MAX / 3; value = value * 3 + 1) {
    LatencyHistogram histogram;
    histogram.record(value);
    histogram.record(UINT64_MAX);
    EXPECT_NEAR(static_cast<double>(histogram.quantile_ns(0.5)), static_cast<double>(value),
                static_cast<double>(value) * 0.016);
  }
}

TEST(LatencyHistogram, QuantilesAreOfAllValues) {
  LatencyHistogram histogram;
  for (uint64_t value = 1; value <= 100; ++value) histogram.record(value);
  EXPECT_EQ(histogram.count(), 100U);
  EXPECT_EQ(histogram.quantile_ns(0), 1U);
  EXPECT_EQ(histogram.quantile_ns(0.5), 50U);
  EXPECT_EQ(histogram.quantile_ns(0.99), 99U);
  EXPECT_EQ(histogram.quantile_ns(1), 100U);
  histogram.clear();
  EXPECT_EQ(histogram.count(), 0U);
}

TEST(LatencyHistogram, NoQuantileIsAboveTheMaximum) {
  LatencyHistogram histogram;
  histogram.record(1'000'001);
  EXPECT_EQ(histogram.quantile_ns(0.99), 1'000'001U);
}

}  // namespace
}  // namespace stdgate::bench
