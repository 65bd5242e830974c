#include <gtest/gtest.h>

#include "metrics/traces/trace_exporter.h"
#include "tests/support/fake_fetcher.h"
#include "tests/support/manual_clock.h"
#include "tests/support/otlp_spans.h"
#include "tests/support/recording_log.h"

namespace stdgate::traces {
namespace {

class Spans : public testing::Test {
 protected:
  Spans() {
    observer_.on_backend(0, "a");
    observer_.on_backend(1, "b");
    call_.is_mcp = true;
    call_.reached_child = true;
    call_.method = 1;
    call_.method_name = "m";
    call_.arrived_at = WallTime(std::chrono::hours(1));
    call_.trace = &trace_;
    call_.span = 5;
    EXPECT_TRUE(trace_.read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
  }
  static config::TracesConfig config() {
    config::TracesConfig config;
    config.endpoint = "http://c/v1/traces";
    return config;
  }
  std::vector<test::OtlpSpan> sent() {
    clock_.set(clock_.now() + TraceExporter::kDelay);
    timers_.run_due(clock_.now());
    return fetcher_.bodies.empty() ? std::vector<test::OtlpSpan>()
                                   : test::read_otlp_spans(fetcher_.bodies.back());
  }

  test::ManualClock clock_;
  TimerQueue timers_;
  test::RecordingLog log_;
  test::FakeFetcher fetcher_;
  Random random_{1};
  TraceExporter exporter_{config(), {"s", "1", "i"}, {clock_, timers_, log_, fetcher_}};
  TraceObserver observer_{random_, exporter_};
  TraceContext trace_;
  CallRecord call_;
};

TEST_F(Spans, OfRecordedCallsAreSent) {
  observer_.on_call_finished(call_);
  call_.backend = 1;
  call_.is_mcp = false;
  observer_.on_call_finished(call_);
  const auto spans = sent();
  ASSERT_EQ(spans.size(), 6U);
  EXPECT_EQ(spans[0].attributes.at("stdgate.backend"), "a");
  EXPECT_EQ(spans[0].attributes.at("mcp.method.name"), "m");
  EXPECT_EQ(spans[3].attributes.at("stdgate.backend"), "b");
  EXPECT_EQ(spans[3].attributes.at("rpc.method"), "m");
  EXPECT_EQ(spans[0].span_id == spans[3].span_id, false);
  EXPECT_EQ(spans[0].span_id == spans[1].span_id, false);
}

TEST_F(Spans, OfOtherCallsAreNot) {
  call_.span = 0;
  observer_.on_call_finished(call_);
  call_.span = 5;
  call_.trace = nullptr;
  observer_.on_call_finished(call_);
  call_.trace = &trace_;
  trace_.flags = 2;
  observer_.on_call_finished(call_);
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(exporter_.waiting(), 0U);
}

}  // namespace
}  // namespace stdgate::traces
