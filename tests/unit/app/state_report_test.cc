// state_report: the exact JSON of /debug/state.
#include "gateway/app/state_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gateway/app/state_counts.h"
#include "gateway/mcp/mcp_dialect.h"
#include "gateway/pool/dialect.h"
#include "metrics/prometheus/metrics_store.h"
#include "tests/support/backend_bench.h"

namespace stdgate {

namespace {

using std::chrono::milliseconds;

const std::string kUnconfined =
    R"("listeners":[],"confinement":{"landlock_abi":0,"children_apart":false,"signals_scoped":false,)"
    R"("abstract_sockets_scoped":false,"unconfined_starts":0,"gateway_dumpable":true,)"
    R"("runs_as_root":false,"syscalls_filtered":false,"children_keep_capabilities":[]},)";

TEST(StateReport, OfNothing) {
  EXPECT_EQ(app::state_report({"1.2", milliseconds(1500), 3, true, {}}, backend::Upstreams()),
            R"({"version":"1.2","uptime_seconds":1.500000,"draining":true,"connections":3,)" +
                kUnconfined + "\"backends\":[],\"retired\":[]}\n");
}

TEST(StateReport, OfConfinement) {
  const pool::Confinement confinement{7, true, true, true, true, false, true, {"chown", "kill"}, 3};
  EXPECT_NE(
      app::state_report({"1", milliseconds(0), 0, false, confinement}, backend::Upstreams())
          .find(
              R"("confinement":{"landlock_abi":7,"children_apart":true,"signals_scoped":true,)"
              R"("abstract_sockets_scoped":true,"unconfined_starts":3,"gateway_dumpable":false,)"
              R"("runs_as_root":true,"syscalls_filtered":true,"children_keep_capabilities":["chown","kill"]},)"),
      std::string::npos);
}

TEST(StateReport, OfBackendsAndChildren) {
  test::BackendBench bench(test::plain_options());
  backend::Upstreams backends;
  for (const char* name : {"a", "b"}) {
    backend::BackendOptions options = test::plain_options();
    options.config.name = name;
    options.config.pool.min = options.config.pool.max = name[0] == 'a' ? 2 : 0;
    backends.add(std::make_unique<backend::Backend>(BackendId{1}, options,
                                                    std::make_unique<pool::JsonRpcDialect>(""),
                                                    bench.callers, bench.services));
  }
  backends.start();
  bench.child(0).start();
  test::FakeClient client(bench.callers);
  std::string text = R"({"jsonrpc":"2.0","id":1,"method":"m"})";
  rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
  call::CallContext context;
  context.caller = client.caller();
  backends.find("a")->accept(parser.parse(text).value().messages[0], context);
  bench.clock.set(bench.clock.now() + milliseconds(250));

  const std::string plain =
      R"("protocol":"jsonrpc","default":false,"required":false,"isolation":"shared",)";
  const std::string idle =
      R"("sessions":0,"parked_sessions":0,"session_places":0,"missing_places":0,"parked_calls":0,"watches":0,"oldest_sessions":[],)"
      R"("longest_idle_sessions":[],"busiest_sessions":[],)"
      R"("queued":0,"queued_bytes":0,"failures_in_a_row":0,)"
      R"("breaker_open":false,"retry_after_seconds":0.000000,"children":[)";
  EXPECT_EQ(
      app::state_report({"1", Duration{0}, 0, false, {}}, backends),
      R"({"version":"1","uptime_seconds":0.000000,"draining":false,"connections":0,)" +
          kUnconfined + R"("backends":[{"name":"a",)" + plain +
          R"("max_children":2,"max_queued":2048,"ready":true,"state":"started","in_flight":1,)" +
          idle +
          R"({"number":1,"pid":100,"state":"ready","in_flight":1,"unsent_bytes":0,)"
          R"("calls":1,"age_seconds":0.250000},)"
          R"({"number":2,"pid":0,"state":"starting","in_flight":0,"unsent_bytes":0,)"
          R"("calls":0,"age_seconds":0.250000}],"exits":[]},)"
          R"({"name":"b",)" +
          plain + R"("max_queued":2048,"ready":true,"state":"not started yet","in_flight":0,)" +
          idle + R"(],"exits":[]}],"retired":[]})" + "\n");

  backends.drain();
  const std::string report = app::state_report({"1", Duration{0}, 0, true, {}}, backends);
  EXPECT_NE(report.find(R"("ready":false,"state":"ending","reason":"shutting down",)"),
            std::string::npos);
}

TEST(StateReport, SaysHowChildrenEnded) {
  backend::BackendOptions options = test::plain_options();
  options.config.pool.min = options.config.pool.max = 1;
  test::BackendBench bench(test::plain_options());
  backend::Upstreams upstreams;
  upstreams.add(std::make_unique<backend::Backend>(BackendId{1}, options,
                                                   std::make_unique<pool::JsonRpcDialect>(""),
                                                   bench.callers, bench.services));
  upstreams.start();
  test::FakeChild& child = bench.child(0);
  child.start();
  child.write_stderr("<script>");
  child.write_stderr("a\"\x1b[2J");
  bench.clock.set(bench.clock.now() + milliseconds(1500));
  child.die(9);
  bench.clock.set(bench.clock.now() + milliseconds(250));
  EXPECT_NE(app::state_report({"1", Duration{0}, 0, false, {}}, upstreams)
                .find(R"("exits":[{"number":1,"pid":100,"reason":"signal","failed":true,)"
                      R"j("detail":"was killed by signal 9 (SIGKILL)","in_flight":0,)j"
                      R"("lived_seconds":1.500000,"age_seconds":0.250000,)"
                      R"("stderr":["<script>","a\"\u001b[2J"]}])"),
            std::string::npos)
      << app::state_report({"1", Duration{0}, 0, false, {}}, upstreams);
}

TEST(StateReport, OfCountsSnippetsAndConfiguration) {
  test::BackendBench bench(test::plain_options());
  backend::Upstreams upstreams;
  backend::BackendOptions options = test::plain_options();
  options.config.name = "a";
  upstreams.add(std::make_unique<backend::Backend>(BackendId{0}, options,
                                                   std::make_unique<pool::JsonRpcDialect>(""),
                                                   bench.callers, bench.services));
  app::StateCounts counts;
  counts.bounds = {0.00005, 0.1};
  counts.refusals = {{"bad_host", 2}};
  counts.backends.push_back({{{"ok", 3}, {"timeout", 1}},
                             {{"denied", 5}},
                             {},
                             {{"pinned", 2}},
                             {3, 1, 0},
                             {4, 0, 0},
                             {2, 2, 0},
                             {{"m", 4, 1, {3, 1, 0}, {2, 2, 0}}},
                             {{"<b>", 1, 0, {1, 0, 0}, {}}}});
  const std::vector<app::Snippet> snippets = {{"curl", "run in a shell", "curl \"x\"\n"}};
  app::GatewayFacts facts{"1", Duration{0}, 0, false, {}};
  facts.counts = &counts;
  facts.snippets = &snippets;
  facts.configuration = "listen: [\"a\"]\n";
  const std::string report = app::state_report(facts, upstreams);
  EXPECT_NE(
      report.find(
          R"("exits":[],"outcomes":{"ok":3,"timeout":1},"rejected":{"denied":5},"dropped":{},"pins":{"pinned":2},)"
          R"("durations":{"total":[3,1,0],"queue":[4,0,0],"child":[2,2,0]},)"
          R"("methods":[{"name":"m","calls":4,"failures":1,"total":[3,1,0],"child":[2,2,0]}],)"
          R"("tools":[{"name":"<b>","calls":1,"failures":0,"total":[1,0,0]}]}],)"
          R"("retired":[],"refusals":{"bad_host":2},"bucket_bounds_seconds":[5e-05,0.1],)"
          R"("snippets":[{"client":"curl","where":"run in a shell","text":"curl \"x\"\n"}],)"
          R"("effective_configuration":"listen: [\"a\"]\n"})"),
      std::string::npos)
      << report;
}

TEST(StateReport, SaysWhatAChildIs) {
  backend::BackendOptions options = test::plain_options();
  options.config.pool.min = options.config.pool.max = 1;
  test::BackendBench bench(test::plain_options());
  backend::Upstreams upstreams;
  upstreams.add(std::make_unique<backend::Backend>(BackendId{1}, options,
                                                   std::make_unique<mcp::McpDialect>("1"),
                                                   bench.callers, bench.services));
  upstreams.start();
  test::FakeChild& child = bench.child(0);
  child.start();
  child.answer(
      child.take_ids().at(0),
      R"({"protocolVersion":"2025-06-18","serverInfo":{"name":"a\"\u001b[2J\u202e","version":"1"}})");
  EXPECT_NE(app::state_report({"1", Duration{0}, 0, false, {}}, upstreams)
                .find(R"("age_seconds":0.000000,"protocol_version":"2025-06-18",)"
                      R"("server":{"name":"a\"\u001b[2J\u202e","version":"1"}})"),
            std::string::npos)
      << "shown as it may be on a terminal";
}

TEST(Upstreams, FindsByNameAndTheDefault) {
  test::BackendBench bench(test::plain_options());
  backend::Upstreams backends;
  EXPECT_EQ(backends.default_one(), nullptr);
  for (const char* name : {"a", "b"}) {
    backend::BackendOptions options = test::plain_options();
    options.config.name = name;
    options.config.is_default = name[0] == 'b';
    backends.add(std::make_unique<backend::Backend>(BackendId{1}, options,
                                                    std::make_unique<pool::JsonRpcDialect>(""),
                                                    bench.callers, bench.services));
  }
  EXPECT_EQ(backends.find("a"), backends.all()[0].get());
  EXPECT_EQ(backends.find("b"), backends.all()[1].get());
  EXPECT_EQ(backends.find("c"), nullptr);
  EXPECT_EQ(backends.default_one(), backends.all()[1].get());
}

}  // namespace

// The counts in /debug/state: sums over methods and outcomes, and the busiest names.

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
  // A call that has reached a child.
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
