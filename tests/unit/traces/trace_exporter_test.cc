#include "metrics/traces/trace_exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_fetcher.h"
#include "tests/support/manual_clock.h"
#include "tests/support/otlp_spans.h"
#include "tests/support/recording_log.h"

namespace stdgate::traces {

namespace {

using fetch::Fetched;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

class Exporter : public testing::Test {
 protected:
  static config::TracesConfig config() {
    config::TracesConfig config;
    config.endpoint = "http://c/v1/traces";
    config.headers = {{"Authorization", "Basic x"}, {"X-Org", "1"}};
    config.queue = 2000;
    return config;
  }
  void add(size_t calls = 1) {
    for (size_t i = 0; i < calls; ++i) {
      if (std::string* text = exporter_.add(2)) *text += "{},{}";
    }
  }
  void pass(Duration time) {
    const TimePoint end = clock_.now() + time;
    for (auto due = timers_.next_due(); due && *due <= end; due = timers_.next_due()) {
      clock_.set(std::max(clock_.now(), *due));
      timers_.run_due(clock_.now());
    }
    clock_.set(end);
  }
  [[nodiscard]] size_t posts() const { return fetcher_.urls.size(); }
  [[nodiscard]] uint64_t lost(SpanLoss loss) const { return exporter_.counts().lost(loss); }
  [[nodiscard]] uint64_t exported() const { return exporter_.counts().exported; }
  void finish(Duration patience) {
    exporter_.finish(patience, [this] { ++finished_; });
  }
  static Fetched status(int status, std::string retry_after = {}) {
    Fetched fetched;
    fetched.outcome = FetchOutcome::bad_status;
    fetched.retry_after = std::move(retry_after);
    fetched.status = status;
    fetched.detail = "status " + std::to_string(status);
    return fetched;
  }

  test::ManualClock clock_;
  TimerQueue timers_;
  test::RecordingLog log_;
  test::FakeFetcher fetcher_;
  TraceExporter exporter_{config(), {"s", "1", "i"}, {clock_, timers_, log_, fetcher_}};
  int finished_ = 0;
};

TEST_F(Exporter, SendsWhatWaitsAfterAWhile) {
  add();
  add();
  pass(TraceExporter::kDelay - milliseconds(1));
  EXPECT_EQ(posts(), 0U);
  pass(milliseconds(1));
  ASSERT_EQ(posts(), 1U);
  EXPECT_EQ(fetcher_.urls[0], "http://c/v1/traces");
  EXPECT_THAT(fetcher_.bodies[0], HasSubstr(R"("spans":[{},{},{},{}]}]}]})"));
  EXPECT_THAT(fetcher_.fields, ElementsAre("Authorization: Basic x", "X-Org: 1"));
  EXPECT_EQ(exported(), 0U);
  fetcher_.finish_json("{}");
  EXPECT_EQ(exported(), 4U);
  EXPECT_EQ(exporter_.waiting(), 0U);
  pass(seconds(60));
  EXPECT_EQ(posts(), 1U) << "nothing waits";
}

TEST_F(Exporter, SendsAWholeBatchAtOnceAndOneAtATime) {
  add(SpanQueue::kMaxBatch);
  pass(Duration{0});
  EXPECT_EQ(posts(), 1U);
  pass(seconds(60));
  EXPECT_EQ(posts(), 1U) << "the first is on its way";
  fetcher_.finish_json("{}");
  pass(Duration{0});
  EXPECT_EQ(posts(), 2U);
  fetcher_.finish_json("{}");
  EXPECT_EQ(exported(), 2 * SpanQueue::kMaxBatch);
}

TEST_F(Exporter, DropsWhatTheQueueHasNoRoomFor) {
  add(1000);
  EXPECT_EQ(lost(SpanLoss::queue_full), 0U);
  add();
  EXPECT_EQ(lost(SpanLoss::queue_full), 2U);
  EXPECT_EQ(exporter_.waiting(), 2000U);
}

TEST_F(Exporter, TriesAgainWithLongerAndLongerWaits) {
  add();
  pass(TraceExporter::kDelay);
  Duration wait = TraceExporter::kFirstWait;
  for (int i = 1; i < TraceExporter::kMaxTries; ++i) {
    fetcher_.finish({.outcome = FetchOutcome::unreachable, .detail = "no connection"});
    EXPECT_EQ(lost(SpanLoss::unreachable), 0U);
    pass(wait - milliseconds(1));
    EXPECT_EQ(posts(), static_cast<size_t>(i));
    pass(milliseconds(1));
    EXPECT_EQ(posts(), static_cast<size_t>(i) + 1);
    wait *= 2;
  }
  EXPECT_EQ(fetcher_.bodies.front(), fetcher_.bodies.back());
  fetcher_.finish({.outcome = FetchOutcome::timeout, .detail = "late"});
  EXPECT_EQ(lost(SpanLoss::unreachable), 2U);
  EXPECT_EQ(exporter_.waiting(), 0U);
  EXPECT_THAT(log_.lines, ElementsAre("spans not sent url=http://c/v1/traces why=no connection"));
}

TEST_F(Exporter, TriesAgainWhatABusyCollectorDidNotTake) {
  for (const int code : {429, 502, 503, 504}) {
    add();
    pass(TraceExporter::kDelay);
    fetcher_.finish(status(code));
    EXPECT_EQ(exporter_.waiting(), 2U) << code;
    pass(TraceExporter::kFirstWait);
    fetcher_.finish_json("{}");
  }
  EXPECT_EQ(exported(), 8U);
  EXPECT_EQ(log_.lines.back(), "spans are sent again url=http://c/v1/traces");
}

TEST_F(Exporter, DropsWhatIsRefused) {
  for (const int code : {400, 401, 404, 413, 500}) {
    add();
    pass(TraceExporter::kDelay);
    fetcher_.finish(status(code));
    EXPECT_EQ(exporter_.waiting(), 0U) << code;
  }
  add();
  pass(TraceExporter::kDelay);
  fetcher_.finish({.outcome = FetchOutcome::redirected, .status = 307});
  EXPECT_EQ(lost(SpanLoss::refused), 12U);
  EXPECT_EQ(log_.lines.size(), 1U) << "not a line each";
}

TEST_F(Exporter, WaitsAsLongAsItIsTold) {
  add();
  pass(TraceExporter::kDelay);
  fetcher_.finish(status(429, "7"));
  pass(seconds(7) - milliseconds(1));
  EXPECT_EQ(posts(), 1U);
  pass(milliseconds(1));
  EXPECT_EQ(posts(), 2U);
  fetcher_.finish(status(503, "86400"));
  pass(TraceExporter::kLongestWait);
  EXPECT_EQ(posts(), 3U) << "no collector makes it wait for a day";
  fetcher_.finish(status(503, "soon"));
  pass(4 * TraceExporter::kFirstWait);
  EXPECT_EQ(posts(), 4U);
}

TEST_F(Exporter, CountsWhatIsTakenInPart) {
  struct Case {
    const char* answer;
    uint64_t rejected;
  };
  const Case cases[] = {
      {R"({"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}})", 1},
      {R"({"partialSuccess":{"rejectedSpans":2}})", 2},
      {R"({"partialSuccess":{"rejectedSpans":"99999999999999999999"}})", 0},
      {R"({"partialSuccess":{"rejectedSpans":"5"}})", 2},  // of two
      {R"({"partialSuccess":{"rejectedSpans":-1}})", 0},
      {R"({"partialSuccess":{}})", 0},
      {R"({"partialSuccess":[]})", 0},
      {"<html>", 0},
      {"", 0},
  };
  for (const Case& test : cases) {
    const uint64_t before = lost(SpanLoss::refused);
    const uint64_t taken = exported();
    add();
    pass(TraceExporter::kDelay);
    fetcher_.finish_json(test.answer);
    EXPECT_EQ(lost(SpanLoss::refused) - before, test.rejected) << test.answer;
    EXPECT_EQ(exported() - taken, 2 - test.rejected) << test.answer;
  }
  EXPECT_EQ(log_.lines.front(), "spans refused url=http://c/v1/traces why=too old");
}

TEST_F(Exporter, SendsWhatWaitsBeforeItEnds) {
  add(SpanQueue::kMaxBatch);  // two documents
  finish(seconds(2));
  EXPECT_EQ(posts(), 1U);
  EXPECT_EQ(finished_, 0);
  fetcher_.finish_json("{}");
  fetcher_.finish_json("{}");
  EXPECT_EQ(exported(), 2 * SpanQueue::kMaxBatch);
  EXPECT_EQ(finished_, 1);
  pass(seconds(60));
  EXPECT_EQ(finished_, 1);
}

TEST_F(Exporter, EndsWithoutACollectorThatDoesNotAnswer) {
  add();
  finish(seconds(2));
  pass(seconds(2) - milliseconds(1));
  EXPECT_EQ(finished_, 0);
  pass(milliseconds(1));
  EXPECT_EQ(finished_, 1);
  EXPECT_EQ(fetcher_.under_way, 0);
  EXPECT_EQ(lost(SpanLoss::stopped), 2U);
}

TEST_F(Exporter, EndsAtOnceWhenThereIsNothingToWaitFor) {
  finish(seconds(2));
  EXPECT_EQ(finished_, 1) << "nothing waits";
  add();
  finish(Duration{0});
  EXPECT_EQ(finished_, 2) << "there is no time";
  add();
  finish(seconds(2));
  fetcher_.finish({.outcome = FetchOutcome::unreachable});
  EXPECT_EQ(finished_, 3) << "it is not tried again";
  add();
  finish(seconds(2));
  finish(seconds(2));
  EXPECT_EQ(finished_, 4) << "asked again";
  EXPECT_EQ(fetcher_.under_way, 0);
  EXPECT_EQ(lost(SpanLoss::stopped), 6U);
}

TEST_F(Exporter, NamesEachLoss) {
  for (size_t i = 0; i < kSpanLossCount; ++i) {
    EXPECT_NE(span_loss_name(static_cast<SpanLoss>(i)), "");
  }
}

}  // namespace

namespace {

TEST(SpanQueue, MakesDocuments) {
  SpanQueue queue("<", 10);
  EXPECT_TRUE(queue.empty());
  *queue.add(2) += "a,b";
  *queue.add(1) += "c";
  EXPECT_EQ(queue.size(), 3U);
  EXPECT_EQ(queue.front(), "<a,b,c]}]}]}");
  EXPECT_EQ(queue.front(), "<a,b,c]}]}]}") << "once more, after a failure";
  EXPECT_EQ(queue.front_size(), 3U);
}

TEST(SpanQueue, AddsNothingToWhatIsOnItsWay) {
  SpanQueue queue("<", 10);
  *queue.add(1) += "a";
  EXPECT_FALSE(queue.has_whole_batch());
  queue.front();
  *queue.add(1) += "b";
  EXPECT_EQ(queue.front(), "<a]}]}]}");
  queue.pop();
  EXPECT_EQ(queue.front(), "<b]}]}]}");
  queue.pop();
  EXPECT_TRUE(queue.empty());
}

TEST(SpanQueue, IsBounded) {
  SpanQueue queue("", 6);
  ASSERT_NE(queue.add(3), nullptr);
  ASSERT_NE(queue.add(3), nullptr);
  EXPECT_EQ(queue.add(1), nullptr);
  queue.front();
  EXPECT_EQ(queue.add(1), nullptr) << "what is on its way counts too";
  queue.pop();
  EXPECT_NE(queue.add(6), nullptr);
  EXPECT_EQ(queue.add(1), nullptr);
}

TEST(SpanQueue, BeginsAnotherDocumentWhenOneIsWhole) {
  SpanQueue queue("", 10 * SpanQueue::kMaxBatch);
  for (size_t i = 0; i + 3 <= SpanQueue::kMaxBatch; i += 3) queue.add(3);
  EXPECT_FALSE(queue.has_whole_batch());
  queue.add(3);  // the spans of a call stay together
  EXPECT_TRUE(queue.has_whole_batch());
  EXPECT_EQ(queue.front_size(), SpanQueue::kMaxBatch / 3 * 3);
}

}  // namespace

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
