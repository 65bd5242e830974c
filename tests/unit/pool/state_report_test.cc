// state_report: the JSON of /debug/state, exactly.

#include "gateway/state_report.h"

#include <gtest/gtest.h>

#include "gateway/pool/jsonrpc_dialect.h"
#include "tests/support/fake_child.h"

namespace stdgate {
namespace {

using std::chrono::milliseconds;

TEST(StateReport, OfNothing) {
  EXPECT_EQ(state_report({"1.2", milliseconds(1500), 3, true}, BackendSet()),
            R"({"version":"1.2","uptime_seconds":1.500000,"draining":true,"connections":3,)"
            "\"backends\":[]}\n");
}

TEST(StateReport, OfBackendsAndChildren) {
  test::BackendBench bench(test::plain_options());
  BackendSet backends;
  for (const char* name : {"a", "b"}) {
    BackendOptions options = test::plain_options();
    options.config.name = name;
    options.config.pool.min = options.config.pool.max = name[0] == 'a' ? 2 : 0;
    backends.add(std::make_unique<Backend>(BackendId{1}, options,
                                           std::make_unique<JsonRpcDialect>(""), bench.origins,
                                           bench.services));
  }
  backends.start();
  bench.child(0).start();
  test::FakeClient client(bench.origins);
  std::string text = R"({"jsonrpc":"2.0","id":1,"method":"m"})";
  EnvelopeParser parser{EnvelopeLimits{}};
  CallContext context;
  context.origin = client.origin();
  backends.find("a")->accept(parser.parse(text).value().messages[0], context);
  bench.clock.set(bench.clock.now() + milliseconds(250));

  const std::string idle = R"("sessions":0,"queued":0,"queued_bytes":0,"failures_in_a_row":0,)"
                           R"("breaker_open":false,"retry_after_seconds":0.000000,"children":[)";
  EXPECT_EQ(state_report({"1", Duration{0}, 0, false}, backends),
            R"({"version":"1","uptime_seconds":0.000000,"draining":false,"connections":0,)"
            R"("backends":[{"name":"a","ready":true,"in_flight":1,)" +
                idle +
                R"({"number":1,"pid":100,"state":"ready","in_flight":1,"unsent_bytes":0,)"
                R"("calls":1,"age_seconds":0.250000},)"
                R"({"number":2,"pid":0,"state":"starting","in_flight":0,"unsent_bytes":0,)"
                R"("calls":0,"age_seconds":0.250000}]},)"
                R"({"name":"b","ready":true,"in_flight":0,)" +
                idle + "]}]}\n");

  backends.drain();
  const std::string report = state_report({"1", Duration{0}, 0, true}, backends);
  EXPECT_NE(report.find(R"("ready":false,"reason":"shutting down",)"), std::string::npos);
}

TEST(BackendSet, FindsByNameAndTheDefault) {
  test::BackendBench bench(test::plain_options());
  BackendSet backends;
  EXPECT_EQ(backends.default_backend(), nullptr);
  for (const char* name : {"a", "b"}) {
    BackendOptions options = test::plain_options();
    options.config.name = name;
    options.config.is_default = name[0] == 'b';
    backends.add(std::make_unique<Backend>(BackendId{1}, options,
                                           std::make_unique<JsonRpcDialect>(""), bench.origins,
                                           bench.services));
  }
  EXPECT_EQ(backends.find("a"), backends.all()[0].get());
  EXPECT_EQ(backends.find("b"), backends.all()[1].get());
  EXPECT_EQ(backends.find("c"), nullptr);
  EXPECT_EQ(backends.default_backend(), backends.all()[1].get());
}

}  // namespace
}  // namespace stdgate
