// The admin listener: its probes and pages show the present state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/integration/harness/setups.h"

namespace stdgate::harness::admin_test {
namespace {

using testing::HasSubstr;

TEST(Admin, HealthIsWhetherTheProcessRuns) {
  GatewayProcess gateway(serve_one({"/nonexistent/program"}, "pool: { min: 1 }"));
  HttpClient admin(gateway.admin_url());
  const HttpResponse health = admin.get("/healthz");
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(health.body, "ok\n");
  admin.send_request("HEAD", "/healthz", "", {});
  EXPECT_EQ(admin.read_response_to_head().status, 200);
}

TEST(Admin, ReadyWhenTheMinimumOfChildrenIs) {
  // The child becomes ready when the test creates a file in the child's folder.
  const std::string script = "until [ -e go ]; do sleep 0.01; done; exec '" + puppet()[0] + "' mcp";
  GatewayProcess gateway(serve_one(shell(script), "protocol: mcp, pool: { min: 1, max: 1 }"));
  HttpClient admin(gateway.admin_url());
  const HttpResponse early = admin.get("/readyz");
  EXPECT_EQ(early.status, 503);
  EXPECT_EQ(early.header("content-type"), "application/json");
  EXPECT_FALSE(JsonValue(early.body).flag("/ready"));
  EXPECT_EQ(JsonValue(early.body).text("/backends/main/reason"), "no child is ready yet");
  EXPECT_EQ(children_in(state_of(gateway), "starting"), 1U);

  std::ofstream(gateway.folder() / "go") << "go";
  EXPECT_TRUE(eventually("it is ready", [&] { return admin.get("/readyz").status == 200; }));
  const JsonValue ready(admin.get("/readyz").body);
  EXPECT_TRUE(ready.flag("/ready"));
  EXPECT_TRUE(ready.flag("/backends/main/ready"));
  EXPECT_FALSE(ready.has("/backends/main/reason"));
}

TEST(Admin, NotReadyWhileARequiredBackendFailsAndReadyAgainAfterwards) {
  const std::string script = "[ -e go ] || exit 5; exec '" + puppet()[0] + "'";
  GatewayProcess gateway(
      serve({backend("main", shell(script),
                     "default: true, required: true, pool: { min: 1, max: 1, "
                     "backoff_min: 1ms, backoff_max: 5ms, breaker_failures: 2 }"),
             backend("other", demo_server())}));
  HttpClient admin(gateway.admin_url());
  EXPECT_TRUE(eventually("the breaker is open", [&] {
    return state_of(gateway).number("/backends/0/failures_in_a_row") >= 2;
  }));
  const HttpResponse failing = admin.get("/readyz");
  EXPECT_EQ(failing.status, 503) << "a child that is tried shows nothing until it answers";
  EXPECT_EQ(JsonValue(failing.body).text("/reason"), "required, and down: main");
  EXPECT_THAT(JsonValue(failing.body).text("/backends/main/reason"),
              HasSubstr("exited with code 5"));
  EXPECT_TRUE(JsonValue(failing.body).flag("/backends/other/ready"));
  std::ofstream(gateway.folder() / "go") << "go";
  HttpClient client = gateway.connect();
  EXPECT_TRUE(eventually("it answers", [&] { return call(client, "cwd").status == 200; }));
  EXPECT_EQ(admin.get("/readyz").status, 200);
  EXPECT_FALSE(state_of(gateway).flag("/backends/0/breaker_open"));
}

TEST(Admin, ABrokenBackendIsItsOwnBusinessUnlessItIsRequired) {
  const std::string kept = "pool: { min: 1, max: 1, backoff_min: 10ms, backoff_max: 20ms }";
  GatewayProcess gateway(
      serve({backend("good", demo_server(), "default: true"),
             backend("broken", shell("exit 5"), kept), backend("lazy", shell("exit 5"))}));
  HttpClient admin(gateway.admin_url());
  EXPECT_TRUE(eventually("it is known to be broken", [&] {
    return state_of(gateway).number("/backends/1/failures_in_a_row") > 0;
  }));
  EXPECT_EQ(admin.get("/readyz/broken").status, 503);
  const HttpResponse all = admin.get("/readyz");
  EXPECT_EQ(all.status, 200);
  EXPECT_THAT(JsonValue(all.body).text("/backends/broken/reason"), HasSubstr("exited with code 5"));
  EXPECT_EQ(JsonValue(all.body).text("/backends/lazy/state"), "not started yet");
  EXPECT_EQ(admin.get("/readyz/good").status, 200);
  // Without calls, only children of the minimum are started again after a failure.
  HttpClient client = gateway.connect();
  EXPECT_NE(client.post("/lazy/rpc", request("cwd")).status, 200);
  EXPECT_TRUE(eventually("some failures have been", [&] {
    return state_of(gateway).number("/backends/1/failures_in_a_row") >= 5;
  }));
  EXPECT_EQ(state_of(gateway).number("/backends/2/failures_in_a_row"), 1);
}

TEST(Admin, NotReadyWhileDraining) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  client.send_request("POST", "/rpc", request("sleep", "[1000]"), {});
  await_in_flight(gateway, 1);
  HttpClient admin(gateway.admin_url());
  gateway.signal(SIGTERM);
  EXPECT_TRUE(eventually("it is draining", [&] { return admin.get("/readyz").status == 503; }));
  EXPECT_EQ(JsonValue(admin.get("/readyz").body).text("/reason"), "shutting down");
  EXPECT_TRUE(state_of(gateway).flag("/draining"));
  EXPECT_EQ(admin.get("/healthz").status, 200);
  EXPECT_EQ(admin.get("/metrics").status, 200);
  EXPECT_EQ(client.read_response().status, 200);
  client.close();
  EXPECT_EQ(gateway.wait_for_exit().value().code, 0);
}

TEST(Admin, StateIsWhatGoesOn) {
  GatewayProcess gateway(
      serve({backend("main", puppet(),
                     "default: true, pool: { min: 1, max: 1, max_in_flight: 2, queue: 10 }"),
             backend("second", demo_server())}));
  await_children(gateway, 1);
  HttpClient first = gateway.connect();
  const double pid = JsonValue(call(first, "pid").body).number("/result");
  std::vector<HttpClient> hanging;
  const std::string question = request("hang", "[\"waits\"]");
  for (int i = 0; i < 5; ++i) {
    hanging.push_back(gateway.connect());
    hanging.back().send_request("POST", "/rpc", question, {});
  }
  EXPECT_TRUE(eventually("three calls wait",
                         [&] { return state_of(gateway).number("/backends/0/queued") == 3; }));
  const JsonValue state = state_of(gateway);
  EXPECT_THAT(state.text("/version"), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_GT(state.number("/uptime_seconds"), 0);
  EXPECT_FALSE(state.flag("/draining"));
  EXPECT_EQ(state.number("/connections"), 6);
  ASSERT_EQ(state.size("/backends"), 2U);
  EXPECT_EQ(state.text("/backends/0/name"), "main");
  EXPECT_TRUE(state.flag("/backends/0/ready"));
  EXPECT_EQ(state.number("/backends/0/in_flight"), 2);
  EXPECT_EQ(state.number("/backends/0/queued_bytes"), 3 * question.size());
  EXPECT_EQ(state.number("/backends/0/failures_in_a_row"), 0);
  ASSERT_EQ(state.size("/backends/0/children"), 1U);
  EXPECT_EQ(state.number("/backends/0/children/0/pid"), pid);
  EXPECT_EQ(state.text("/backends/0/children/0/state"), "busy");
  EXPECT_EQ(state.number("/backends/0/children/0/in_flight"), 2);
  EXPECT_EQ(state.number("/backends/0/children/0/calls"), 3);
  EXPECT_EQ(state.number("/backends/0/children/0/number"), 1);
  EXPECT_EQ(state.text("/backends/1/name"), "second");
  EXPECT_EQ(state.size("/backends/1/children"), 0U);
  EXPECT_EQ(gateway.metrics().sum("stdgate_requests_in_flight", {{"backend", "main"}}), 5);
}

TEST(Admin, HasItsOwnPathsOnly) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient admin(gateway.admin_url());
  EXPECT_EQ(admin.get("/rpc").status, 404);
  EXPECT_THAT(admin.get("/nothing").body, HasSubstr("/debug/state"));
  EXPECT_THAT(admin.get("/").body, HasSubstr("/readyz"));
  HttpClient client = gateway.connect();
  for (const char* path : {"/healthz", "/readyz", "/metrics", "/debug/state"}) {
    EXPECT_EQ(client.get(path).status, 404) << path;
  }
  admin.send_request("POST", "/metrics", "", {});
  EXPECT_EQ(admin.read_response().status, 405);
}

TEST(Admin, StateSaysHowChildrenEndedWithoutSecrets) {
  GatewayProcess gateway(serve_one(shell("echo \"<b>it holds $API_TOKEN\" >&2; exit 3"),
                                   "env: { API_TOKEN: sesame-open-you, PLAIN: of-this-child }, "
                                   "pool: { min: 1, max: 1, backoff_min: 1ms }"));
  EXPECT_TRUE(eventually("a child has ended",
                         [&] { return state_of(gateway).size("/backends/0/exits") > 0; }));
  const JsonValue state = state_of(gateway);
  EXPECT_EQ(state.text("/backends/0/exits/0/reason"), "exit_nonzero");
  EXPECT_TRUE(state.flag("/backends/0/exits/0/failed"));
  EXPECT_EQ(state.text("/backends/0/exits/0/detail"), "exited with code 3");
  EXPECT_EQ(state.text("/backends/0/exits/0/stderr/0"), "<b>it holds ***hidden***");
  EXPECT_THAT(state.text("/effective_configuration"), HasSubstr("API_TOKEN: \"***hidden***\""));
  HttpClient admin(gateway.admin_url());
  EXPECT_THAT(admin.get("/debug/state").body, testing::Not(HasSubstr("sesame")));
  EXPECT_THAT(state.text("/effective_configuration"), HasSubstr("PLAIN: \"***hidden***\""))
      << "an environment is a child's own";
}

TEST(Admin, StateHasCountsAndSnippets) {
  GatewayProcess gateway(serve_one(demo_server(), "default: true"));
  HttpClient client = gateway.connect();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call(client, "math/add", "[1,2]").status, 200);
  EXPECT_EQ(client.get("/nothing").status, 404);
  const JsonValue state = state_of(gateway);
  EXPECT_EQ(state.number("/backends/0/outcomes/ok"), 3);
  EXPECT_EQ(state.text("/backends/0/methods/0/name"), "math/add");
  EXPECT_EQ(state.number("/backends/0/methods/0/calls"), 3);
  EXPECT_EQ(state.number("/refusals/not_found"), 1);
  const size_t buckets = state.size("/bucket_bounds_seconds") + 1;
  for (const std::string part : {"total", "queue", "child"}) {
    const std::string at = "/backends/0/durations/" + part;
    ASSERT_EQ(state.size(at), buckets) << part;
    double calls = 0;
    for (size_t i = 0; i < buckets; ++i) calls += state.number(at + "/" + std::to_string(i));
    EXPECT_EQ(calls, 3) << part;
  }
  ASSERT_EQ(state.size("/snippets"), 1U) << "of clients that plain JSON-RPC is served to";
  EXPECT_EQ(state.text("/snippets/0/client"), "curl");
  EXPECT_THAT(state.text("/snippets/0/text"), HasSubstr(gateway.url() + "/rpc\n"));
}

TEST(Admin, FrontPageIsTheOperatorsPage) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient admin(gateway.admin_url());
  const HttpResponse page = admin.get("/", {{"Accept", "text/html"}});
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.header("content-type"), "text/html; charset=utf-8");
  EXPECT_THAT(page.header("content-security-policy"),
              HasSubstr("default-src 'none'; style-src 'sha256-"));
  EXPECT_EQ(page.header("cache-control"), "no-store");
  EXPECT_EQ(page.header("x-content-type-options"), "nosniff");
  EXPECT_THAT(page.body, HasSubstr("</html>"));
  EXPECT_EQ(admin.get("/").header("content-type"), "text/plain; charset=utf-8");
  // Listeners for clients do not serve the admin page.
  HttpClient client = gateway.connect();
  const HttpResponse landing = client.get("/", {{"Accept", "text/html"}});
  EXPECT_EQ(landing.header("content-type"), "text/plain; charset=utf-8");
  EXPECT_LT(landing.body.size(), 2000U);
}

}  // namespace
}  // namespace stdgate::harness::admin_test
