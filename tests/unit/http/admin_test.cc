#include <gtest/gtest.h>

#include "tests/unit/http/http_world.h"
#include "transports/http/admin_endpoint.h"

namespace stdgate::test {
namespace {

struct FakeSource final : http::AdminSource {
  std::string metrics_text() override { return "stdgate_up 1\n"; }
  std::string state_json() override { return R"({"backends":[]})"; }
  http::Readiness readiness() override { return state; }
  http::Readiness state{true, "", {{"a", true, ""}}};
};

// The admin pages beside the clients' server of the world.
struct AdminWorld : HttpWorld {
  AdminWorld() {
    http::add_admin_routes(admin_router, source);
    admin =
        std::make_unique<http::Server>(http::HttpServices{loop, log, unobserved, callers, backends,
                                                          options.limits, options.timeouts},
                                       admin_router);
    Address loopback;
    loopback.host = "127.0.0.1";
    address = *admin->listen(loopback);  // where clients of this world connect to
  }

  FakeSource source;
  Observer unobserved;
  http::Router admin_router{policy};
  std::unique_ptr<http::Server> admin;
};

TEST(Admin, Pages) {
  AdminWorld world;
  TestClient client(world);
  const Answer health = client.ask(get("/healthz"));
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(health.body, "ok\n");
  const Answer metrics = client.ask(get("/metrics"));
  EXPECT_EQ(metrics.field("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(metrics.body, "stdgate_up 1\n");
  const Answer state = client.ask(get("/debug/state"));
  EXPECT_EQ(state.field("Content-Type"), "application/json");
  EXPECT_EQ(state.body, R"({"backends":[]})");
  const Answer head = client.ask("HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", true);
  EXPECT_EQ(head.field("Content-Length"), "13");
  const Answer post = client.ask("POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(post.status, 405);
  EXPECT_EQ(post.field("Allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(client.ask(get("/rpc")).status, 404);
  EXPECT_EQ(world.observer.opened, 0u);
}

TEST(Admin, Readiness) {
  AdminWorld world;
  TestClient client(world);
  const Answer ready = client.ask(get("/readyz"));
  EXPECT_EQ(ready.status, 200);
  EXPECT_EQ(ready.body, "{\"ready\":true,\"backends\":{\"a\":{\"ready\":true}}}\n");
  world.source.state = {false, "", {{"a", true, ""}, {"b", false, "exit code \"1\""}}};
  const Answer not_ready = client.ask(get("/readyz"));
  EXPECT_EQ(not_ready.status, 503);
  EXPECT_EQ(not_ready.body,
            "{\"ready\":false,\"backends\":{\"a\":{\"ready\":true},"
            "\"b\":{\"ready\":false,\"reason\":\"exit code \\\"1\\\"\"}}}\n");
  world.source.state = {false, "shutting down", {}};
  EXPECT_EQ(client.ask(get("/readyz")).body,
            "{\"ready\":false,\"reason\":\"shutting down\",\"backends\":{}}\n");
}

}  // namespace
}  // namespace stdgate::test
