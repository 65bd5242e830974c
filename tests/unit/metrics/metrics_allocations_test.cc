// Counting a call allocates nothing once its series exist.

#include <gtest/gtest.h>

#include "metrics/prometheus/metrics_store.h"
#include "tests/support/counted_new.h"

namespace stdgate::test {
namespace {

size_t allocations(metrics::MetricsObserver& observer, const CallRecord& call) {
  const size_t before = allocation_count();
  observer.on_call_started(call.backend);
  observer.on_call_finished(call);
  observer.on_bytes(ConnectionKind::http, Flow::in, 100);
  return allocation_count() - before;
}

TEST(MetricsAllocations, AreForNewSeriesOnly) {
  config::MetricsConfig config;
  config.buckets = {0.001, 1};
  metrics::MetricsObserver observer(config);
  observer.on_backend(0, "calc");
  observer.on_method(0, 1, "echo");
  CallRecord call;
  call.method = 1;
  call.reached_child = true;
  call.tool = kOtherTool;
  EXPECT_GT(allocations(observer, call), 0U);
  EXPECT_EQ(allocations(observer, call), 0U);
}

}  // namespace
}  // namespace stdgate::test
