#include "metrics/prometheus/metrics_store.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace stdgate {
namespace {

using metrics::Family;
using std::chrono::milliseconds;

config::MetricsConfig config() {
  config::MetricsConfig config;
  config.buckets = {0.001, 1};
  return config;
}

void finish(metrics::MetricsObserver& observer, MethodId method, Duration total,
            std::optional<ToolId> tool = {}) {
  CallRecord call;
  call.method = method;
  call.total = total;
  call.tool = tool;
  observer.on_call_started(0);
  observer.on_call_finished(call);
}

const size_t kOkByRpc = metrics::cell_of(Family::requests, Outcome::ok().index(), 0);

uint64_t calls(const metrics::MetricsStore& store, metrics::HistogramSlot slot) {
  const metrics::Histogram* histogram = store.find(slot);
  return histogram == nullptr ? 0 : histogram->counts()[0] + histogram->counts()[1];
}

// The number of calls over HTTP with the outcome "ok", by the method's name.
std::map<std::string, uint64_t> calls_by_method(const metrics::MetricsStore& store) {
  std::map<std::string, uint64_t> found;
  for (const metrics::Series& method : store.backends().at(0).methods) {
    const uint64_t count = calls(store, method.slot(Family::requests, kOkByRpc));
    EXPECT_TRUE(found.emplace(method.name, count).second) << method.name;
  }
  return found;
}

TEST(MetricsStore, AddsByName) {
  metrics::MetricsObserver one(config());
  metrics::MetricsObserver two(config());
  for (metrics::MetricsObserver* observer : {&one, &two}) observer->on_backend(0, "calc");
  one.on_method(0, 1, "add");
  one.on_method(0, 2, "sub");
  two.on_method(0, 1, "sub");
  two.on_method(0, 2, "mul");
  two.on_tool(0, 1, "grep");
  finish(one, 1, milliseconds(1));
  finish(one, 2, milliseconds(1));
  finish(two, 1, milliseconds(2));
  finish(two, 2, milliseconds(1), ToolId{1});
  finish(two, kOtherMethod, milliseconds(1));

  metrics::MetricsStore sum(config().buckets);
  sum.add(one.store());
  sum.add(two.store());
  EXPECT_EQ(calls_by_method(sum),
            (std::map<std::string, uint64_t>{{"_other", 1}, {"add", 1}, {"sub", 2}, {"mul", 1}}));
  const metrics::BackendSeries& backend = sum.backends().at(0);
  const metrics::Histogram* sub = sum.find(backend.methods.at(2).slot(Family::requests, kOkByRpc));
  ASSERT_NE(sub, nullptr);
  EXPECT_EQ(sub->sum_seconds(), 0.003);
  EXPECT_EQ(backend.tools.at(1).name, "grep");
  EXPECT_EQ(calls(sum, backend.tools.at(1).slot(Family::tools, Outcome::ok().index())), 1U);
}

TEST(MetricsStore, AddsWhatHasNoName) {
  metrics::MetricsObserver one(config());
  one.on_backend(0, "calc");
  one.on_call_started(0);
  one.on_breaker(0, true);
  one.on_session_places(0, 4);
  one.on_session_opened(0);
  one.on_session_parked(0, ParkReason::idle);
  one.on_call_parked(0);
  one.on_call_parked(0);
  one.on_parked_call_ended(0, ParkedEnd::resumed);
  one.on_return(0, ReturnEnd::lost);
  one.on_cache_hit(0);
  one.on_session_revived(0, RevivalOutcome::failed, milliseconds(5));
  one.on_dropped(0, DropReason::overloaded);
  one.on_child_state(0, ChildState::dead, ChildState::starting);
  one.on_child_started(0, StartReason::demand);
  one.on_child_ready(0, milliseconds(5));
  one.on_child_exited(0, ExitReason::hung);
  one.on_notification(0, kOtherMethod, Direction::to_client);
  one.on_connection_opened(ConnectionKind::websocket);
  one.on_bytes(ConnectionKind::websocket, Flow::out, 7);
  one.on_refused(Refusal::gone);
  one.on_keys_fetched(FetchOutcome::ok);

  metrics::MetricsStore sum(config().buckets);
  for (int i = 0; i < 3; ++i) sum.add(metrics::MetricsStore(one.store()));
  const metrics::BackendSeries& backend = sum.backends().at(0);
  EXPECT_EQ(sum.backends().size(), 1U);
  EXPECT_EQ(backend.name, "calc");
  const auto number = [&](Family family, auto value) {
    return backend.number(family, static_cast<size_t>(value));
  };
  EXPECT_EQ(number(Family::in_flight, 0), 3U);
  EXPECT_EQ(number(Family::sessions, SessionState::live), 3U);
  EXPECT_EQ(number(Family::breakers, 0), 3U);
  EXPECT_EQ(number(Family::places, 0), 12U);
  EXPECT_EQ(number(Family::parked, ParkReason::idle), 3U);
  EXPECT_EQ(number(Family::parked_calls, 0), 3U);
  EXPECT_EQ(number(Family::parked_ends, ParkedEnd::resumed), 3U);
  EXPECT_EQ(number(Family::returns, ReturnEnd::lost), 3U);
  EXPECT_EQ(number(Family::cache_hits, 0), 3U);
  EXPECT_EQ(number(Family::revived, RevivalOutcome::failed), 3U);
  EXPECT_EQ(number(Family::dropped, DropReason::overloaded), 3U);
  EXPECT_EQ(number(Family::children, ChildState::starting), 3U);
  EXPECT_EQ(number(Family::starts, StartReason::demand), 3U);
  EXPECT_EQ(number(Family::exits, ExitReason::hung), 3U);
  EXPECT_EQ(sum.find(backend.slot(Family::child_start))->sum_seconds(), 0.015);
  EXPECT_EQ(backend.methods.at(0).number(Family::notifications,
                                         static_cast<size_t>(Direction::to_client)),
            3U);
  const metrics::Series& websocket =
      sum.connections().at(static_cast<size_t>(ConnectionKind::websocket));
  EXPECT_EQ(websocket.number(Family::connections), 3U);
  EXPECT_EQ(websocket.number(Family::bytes, static_cast<size_t>(Flow::out)), 21U);
  EXPECT_EQ(sum.gateway().number(Family::key_fetches, static_cast<size_t>(FetchOutcome::ok)), 3U);
  EXPECT_EQ(sum.gateway().number(Family::refusals, static_cast<size_t>(Refusal::gone)), 3U);
}

// An exemplar is the last sampled call of a bucket, also in a sum of several stores.
TEST(MetricsStore, KeepsAnExemplarOfEachBucket) {
  const auto finish_sampled = [](metrics::MetricsObserver& observer, uint8_t trace, bool is_sampled,
                                 Duration total, int second) {
    TraceContext context;
    context.trace_id[0] = trace;
    context.flags = is_sampled ? TraceContext::kSampled : 0;
    CallRecord record;
    record.trace = &context;
    record.total = total;
    record.arrived_at = WallTime(std::chrono::seconds(second));
    observer.on_call_started(0);
    observer.on_call_finished(record);
  };
  metrics::MetricsObserver one(config());
  metrics::MetricsObserver other(config());
  for (metrics::MetricsObserver* observer : {&one, &other}) observer->on_backend(0, "calc");
  const auto exemplars = [](const metrics::MetricsStore& store) {
    const auto slot = store.backends()[0].methods[0].slot(Family::requests, kOkByRpc);
    std::map<size_t, uint8_t> found;
    const auto all = store.find(slot)->exemplars();
    for (size_t i = 0; i < all.size(); ++i) {
      if (!all[i].is_none()) found[i] = all[i].trace_id[0];
    }
    return found;
  };
  const size_t fast = one.store().buckets().index_of(milliseconds(1));
  const size_t slow = one.store().buckets().index_of(std::chrono::hours(1));
  ASSERT_NE(fast, slow);
  finish_sampled(one, 1, false, milliseconds(1), 10);
  EXPECT_TRUE(exemplars(one.store()).empty()) << "nobody could look it up";
  finish_sampled(one, 2, true, milliseconds(1), 10);
  finish_sampled(one, 3, true, milliseconds(1), 11);
  finish_sampled(other, 4, true, milliseconds(1), 5);
  finish_sampled(other, 5, true, std::chrono::hours(1), 5);
  EXPECT_EQ(exemplars(one.store()), (std::map<size_t, uint8_t>{{fast, 3}}));
  metrics::MetricsStore sum(config().buckets);
  sum.add(one.store());
  sum.add(other.store());
  EXPECT_EQ(exemplars(sum), (std::map<size_t, uint8_t>{{fast, 3}, {slow, 5}}));
}

// A child may know a method named "_other", which is also the name for all unknown methods. The two
// counts are added.
TEST(MetricsStore, AddsNamesakes) {
  metrics::MetricsObserver observer(config());
  observer.on_backend(0, "calc");
  observer.on_method(0, 1, "_other");
  finish(observer, kOtherMethod, milliseconds(1));
  finish(observer, 1, milliseconds(1));
  metrics::MetricsStore sum(config().buckets);
  sum.add(observer.store());
  EXPECT_EQ(calls_by_method(sum), (std::map<std::string, uint64_t>{{"_other", 2}}));
}

}  // namespace
}  // namespace stdgate
