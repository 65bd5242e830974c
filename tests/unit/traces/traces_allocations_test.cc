// Writing the spans of a call allocates nothing while storage of a former document is available.

#include <gtest/gtest.h>

#include "metrics/traces/trace_exporter.h"
#include "tests/support/counted_new.h"

namespace stdgate::test {
namespace {

size_t allocations(traces::SpanQueue& queue, const CallRecord& call) {
  const size_t before = allocation_count();
  for (int i = 0; i < 100; ++i) {
    traces::append_spans(*queue.add(traces::span_count(call)), call, {"calc", true, 1, 2});
  }
  return allocation_count() - before;
}

TEST(TracesAllocations, AreForStorageOnly) {
  TraceContext trace;
  ASSERT_TRUE(trace.read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
  CallRecord call;
  call.method = 1;
  call.method_name = "a/method/with/a/long/name";
  call.tool = ToolId{1};
  call.tool_name = "a_tool_with_a_long_name";
  call.id = R"("an id that is longer than a short text")";
  call.arrived_at = WallTime(std::chrono::seconds(1'700'000'000));
  call.reached_child = true;
  call.outcome = Outcome::tool_error();
  call.trace = &trace;
  call.span = 3;
  traces::SpanQueue queue(traces::document_head({"s", "1", "i"}), 1000);
  EXPECT_GT(allocations(queue, call), 0U);
  queue.front();
  queue.pop();
  traces::append_spans(*queue.add(3), call, {"calc", true, 1, 2});  // takes the storage
  EXPECT_EQ(allocations(queue, call), 0U);
}

}  // namespace
}  // namespace stdgate::test
