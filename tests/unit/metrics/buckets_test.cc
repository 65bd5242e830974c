
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "metrics/prometheus/metrics_store.h"

namespace stdgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// The bucket that a binary search of the bounds finds.
size_t searched(std::span<const double> bounds, Duration duration) {
  const auto found = std::lower_bound(bounds.begin(), bounds.end(), to_seconds(duration));
  return static_cast<size_t>(found - bounds.begin());
}

void check(const std::vector<double>& bounds) {
  const metrics::Buckets buckets(bounds);
  EXPECT_EQ(buckets.count(), bounds.size() + 1);
  std::vector<int64_t> around;
  for (const double bound : bounds) around.push_back(static_cast<int64_t>(bound * 1e9));
  for (int bit = 0; bit < 63; ++bit) around.push_back(int64_t{1} << bit);
  for (const int64_t middle : around) {
    for (int64_t ns = std::max<int64_t>(middle - 2, 0); ns <= middle + 2; ++ns) {
      EXPECT_EQ(buckets.index_of(nanoseconds(ns)), searched(bounds, nanoseconds(ns))) << ns;
    }
  }
  EXPECT_EQ(buckets.index_of(Duration::zero()), 0U);
  EXPECT_EQ(buckets.index_of(Duration::max()), searched(bounds, Duration::max()));
}

TEST(Buckets, AreThoseOfASearch) {
  check({1});
  check({0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
         0.1,     0.25,   0.5,     1,      2.5,   5,      10,    15,   30,    60});
  check({1e-9, 2e-9, 3e-9, 4e-9, 86400});
  check({3e9});  // as seconds, such nanoseconds are equal
  check({0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1});
  std::vector<double> close;
  for (int i = 0; i < 100; ++i) close.push_back(0.5 + i * 1e-6);
  check(close);
}

TEST(Buckets, HoldEverythingAboveTheirRange) {
  for (const double bound : {1e10, 1e300, std::numeric_limits<double>::infinity()}) {
    const metrics::Buckets buckets(std::vector{1.0, bound});
    EXPECT_EQ(buckets.index_of(Duration::max()), 1U) << bound;
  }
}

TEST(Buckets, PutWhatIsShorterThanANanosecondIntoTheNext) {
  const metrics::Buckets buckets(std::vector{1e-10, 1e-9});
  EXPECT_EQ(buckets.index_of(nanoseconds(0)), 0U);
  EXPECT_EQ(buckets.index_of(nanoseconds(1)), 1U);
  EXPECT_EQ(buckets.index_of(nanoseconds(2)), 2U);
}

TEST(Histogram, CountsAndSums) {
  const metrics::Buckets buckets(std::vector{0.001, 1.0});
  metrics::Histogram histogram(buckets);
  histogram.observe(buckets, milliseconds(1));
  histogram.observe(buckets, milliseconds(1) + nanoseconds(1));
  histogram.observe(buckets, std::chrono::hours(1));
  EXPECT_EQ(std::vector(histogram.counts().begin(), histogram.counts().end()),
            (std::vector<uint64_t>{1, 1, 1}));
  EXPECT_EQ(histogram.sum_seconds(), 3600.002000001);
}

TEST(Histogram, TakesANegativeDurationAsNone) {
  const metrics::Buckets buckets(std::vector{0.001});
  metrics::Histogram histogram(buckets);
  histogram.observe(buckets, milliseconds(-5));
  EXPECT_EQ(histogram.counts()[0], 1U);
  EXPECT_EQ(histogram.sum_seconds(), 0);
}

// As many seconds as a thousand calls that wait for days.
TEST(Histogram, SumsMoreThanADurationHolds) {
  const metrics::Buckets buckets(std::vector{0.001});
  metrics::Histogram histogram(buckets);
  histogram.observe(buckets, Duration::max());
  for (int i = 0; i < 3; ++i) histogram.add(metrics::Histogram(histogram));
  EXPECT_EQ(histogram.counts()[1], 8U);
  EXPECT_EQ(histogram.sum_seconds(), 8 * to_seconds(Duration::max()));
}

}  // namespace
}  // namespace stdgate
