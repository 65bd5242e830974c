// What /debug/state shows of the counts: sums over methods and outcomes, and the busiest names.
#include "gateway/app/state_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "metrics/prometheus/metrics_store.h"

namespace stdgate {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

struct Counting {
  Counting() : observer(config()) {
    observer.on_backend(0, "a");
    for (NameId id = 0; id < 15; ++id) {
      observer.on_method(0, id, id == 0 ? "_other" : "m" + std::to_string(id));
      observer.on_tool(0, id, id == 0 ? "_other" : "t" + std::to_string(id));
    }
  }
  static config::MetricsConfig config() {
    config::MetricsConfig config;
    config.buckets = {0.01, 0.1};
    return config;
  }
  // One that has reached a child.
  void call(MethodId method, Duration queued, Duration child, Outcome outcome = Outcome::ok(),
            Transport transport = Transport::rpc) {
    CallRecord record;
    record.method = method;
    record.outcome = outcome;
    record.transport = transport;
    record.queued = queued;
    record.child = child;
    record.total = queued + child;
    record.reached_child = true;
    finish(record);
  }
  void finish(const CallRecord& record) {
    observer.on_call_started(0);
    observer.on_call_finished(record);
  }
  [[nodiscard]] app::BackendCounts counts() const {
    return app::state_counts(observer.store()).backends.at(0);
  }

  metrics::MetricsObserver observer;
};

std::vector<std::string> texts(const std::vector<app::NamedCount>& counts) {
  std::vector<std::string> texts;
  for (const app::NamedCount& one : counts) {
    texts.push_back(std::string(one.name) + " " + std::to_string(one.count));
  }
  return texts;
}

TEST(StateCounts, OfNothing) {
  const Counting counting;
  const app::StateCounts counts = app::state_counts(counting.observer.store());
  EXPECT_THAT(counts.bounds, ElementsAre(0.01, 0.1));
  EXPECT_THAT(counts.refusals, IsEmpty());
  ASSERT_EQ(counts.backends.size(), 1U);
  EXPECT_THAT(counts.backends[0].total, ElementsAre(0, 0, 0));
  EXPECT_THAT(counts.backends[0].outcomes, IsEmpty());
  EXPECT_THAT(counts.backends[0].methods, IsEmpty());
  EXPECT_THAT(counts.backends[0].tools, IsEmpty());
}

TEST(StateCounts, SumsOverMethodsTransportsAndOutcomes) {
  Counting counting;
  counting.call(1, milliseconds(0), milliseconds(5));
  counting.call(1, milliseconds(50), milliseconds(5), Outcome::error(), Transport::mcp);
  counting.call(2, milliseconds(0), milliseconds(500), Outcome::of(rpc::Fault::timeout));
  counting.call(2, milliseconds(0), milliseconds(5), Outcome::cancelled());
  const app::BackendCounts counts = counting.counts();
  EXPECT_THAT(counts.total, ElementsAre(2, 1, 1));
  EXPECT_THAT(counts.queue, ElementsAre(3, 1, 0));
  EXPECT_THAT(counts.child, ElementsAre(3, 0, 1));
  EXPECT_THAT(texts(counts.outcomes), ElementsAre("ok 1", "error 1", "cancelled 1", "timeout 1"));
  ASSERT_EQ(counts.methods.size(), 2U);
  EXPECT_EQ(counts.methods[0].name, "m1");
  EXPECT_EQ(counts.methods[0].calls, 2U);
  EXPECT_EQ(counts.methods[0].failures, 1U);
  EXPECT_THAT(counts.methods[0].total, ElementsAre(1, 1, 0));
  EXPECT_THAT(counts.methods[0].child, ElementsAre(2, 0, 0));
  EXPECT_EQ(counts.methods[1].failures, 1U) << "who cancels has seen no failure";
}

TEST(StateCounts, ToolsAreCountedOnceWithTheirCalls) {
  Counting counting;
  CallRecord record;
  record.method = 1;
  record.tool = ToolId{3};
  record.outcome = Outcome::tool_error();
  record.total = milliseconds(50);
  counting.finish(record);
  const app::BackendCounts counts = counting.counts();
  EXPECT_THAT(texts(counts.outcomes), ElementsAre("tool_error 1"));
  ASSERT_EQ(counts.tools.size(), 1U);
  EXPECT_EQ(counts.tools[0].name, "t3");
  EXPECT_EQ(counts.tools[0].failures, 1U);
  EXPECT_THAT(counts.tools[0].total, ElementsAre(0, 1, 0));
  EXPECT_THAT(counts.tools[0].child, IsEmpty());
}

TEST(StateCounts, ShowsTheBusiestNamesOnly) {
  for (const NameId names : {NameId{10}, NameId{11}}) {
    Counting counting;
    for (NameId id = 1; id <= names; ++id) {
      for (NameId i = 0; i < id; ++i) counting.call(id, milliseconds(0), milliseconds(1));
    }
    const app::BackendCounts counts = counting.counts();
    ASSERT_EQ(counts.methods.size(), app::StateCounts::kMaxNames);
    EXPECT_EQ(counts.methods.front().calls, names);
    EXPECT_EQ(counts.methods.back().calls, names - 9U);
    EXPECT_EQ(counts.total[0], names * (names + 1U) / 2) << "the sums are of all";
  }
}

TEST(StateCounts, RefusalsByReason) {
  Counting counting;
  counting.observer.on_refused(Refusal::bad_host);
  counting.observer.on_refused(Refusal::bad_host);
  counting.observer.on_rejected(0, Rejection::denied);
  counting.observer.on_dropped(0, DropReason::not_json);
  EXPECT_THAT(texts(app::state_counts(counting.observer.store()).refusals),
              ElementsAre("bad_host 2"));
  EXPECT_THAT(texts(counting.counts().rejected), ElementsAre("denied 1"));
  EXPECT_THAT(texts(counting.counts().dropped), ElementsAre("not_json 1"));
}

}  // namespace
}  // namespace stdgate
