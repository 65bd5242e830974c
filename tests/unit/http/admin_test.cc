#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <utility>

#include "tests/unit/http/http_world.h"
#include "transports/http/admin_endpoint.h"

namespace stdgate::test {
namespace {

struct FakeSource final : http::AdminSource {
  void scrape(http::ScrapeFormat format, std::function<void(const std::string&)> done) override {
    ++scrapes;
    wanted = format;
    if (is_slow) {
      later = std::move(done);
    } else {
      done("stdgate_up 1\n");
    }
  }
  std::string state_json() override { return R"({"backends":[]})"; }
  http::Readiness readiness() override { return state; }
  http::Readiness state = http::judge_readiness("", {{"a", true, true, "ready", ""}});
  int scrapes = 0;
  std::optional<http::ScrapeFormat> wanted;
  bool is_slow = false;
  std::function<void(const std::string&)> later;
};

// The admin pages on a server of their own, beside the server for clients.
struct AdminWorld : HttpWorld {
  AdminWorld() {
    http::add_admin_routes(admin_router, source);
    admin = std::make_unique<http::Server>(
        http::HttpServices{loop, log, unobserved, callers, backends, options.limits,
                           options.timeouts, accounts},
        admin_router);
    Address loopback;
    loopback.host = "127.0.0.1";
    address = *admin->listen(loopback);  // clients of this world connect to it
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

// The Accept headers of Prometheus, curl, browsers and other clients.
TEST(Scrapes, AreInTheFormatThatIsPreferred) {
  using enum http::ScrapeFormat;
  const std::string open = "application/openmetrics-text";
  const std::pair<std::string, http::ScrapeFormat> cases[] = {
      {"", prometheus},
      {"Accept: */*\r\n", prometheus},
      {"Accept: text/plain\r\n", prometheus},
      {"Accept: " + open + "\r\n", open_metrics},
      {"Accept: " + open + ";version=1.0.0;q=0.5," + open +
           ";version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2\r\n",
       open_metrics},
      {"Accept: " + open + "; version=0.0.1,text/plain;q=0.5\r\n", prometheus},
      {"Accept: " + open + ";version=\"1.0.0\";charset=utf-8, text/plain;q=0.9\r\n", open_metrics},
      {"Accept: " + open + ";q=0.5, text/plain\r\n", prometheus},
      {"Accept: " + open + ";q=0\r\n", prometheus},
      {"Accept: text/html,*/*;q=0.8\r\n", prometheus},
  };
  AdminWorld world;
  TestClient client(world);
  for (const auto& [fields, expected] : cases) {
    const Answer answer =
        client.ask("GET /metrics HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n");
    EXPECT_EQ(world.source.wanted, expected) << fields;
    EXPECT_EQ(answer.field("Content-Type"), expected == open_metrics
                                                ? open + "; version=1.0.0; charset=utf-8"
                                                : "text/plain; version=0.0.4; charset=utf-8");
    EXPECT_EQ(answer.field("Vary"), "Accept");
  }
}

TEST(Scrapes, WhoComesMeanwhileGetsTheSameText) {
  AdminWorld world;
  world.source.is_slow = true;
  TestClient first(world);
  TestClient second(world);
  TestClient gone(world);
  for (TestClient* client : {&first, &gone, &second}) {
    client->send(get("/metrics"));
    // Another request is answered while the scrape waits.
    TestClient witness(world);
    EXPECT_EQ(witness.ask(get("/healthz")).status, 200);
  }
  gone.leave();
  TestClient witness(world);
  EXPECT_EQ(witness.ask(get("/healthz")).status, 200);
  EXPECT_EQ(world.source.scrapes, 1);
  world.source.later("x 1\n");
  EXPECT_EQ(first.answer().body, "x 1\n");
  EXPECT_EQ(second.answer().body, "x 1\n");
  first.send(get("/metrics"));
  ASSERT_TRUE(world.until([&] { return world.source.scrapes == 2; }));
  world.source.later("x 2\n");
  EXPECT_EQ(first.answer().body, "x 2\n") << "it is made anew";
}

TEST(Admin, FrontPageIsHtmlForBrowsersAndAListForOthers) {
  AdminWorld world;
  http::add_front_page(world.admin_router, "stdgate 1 admin",
                       {"<!doctype html>", "Content-Security-Policy: default-src 'none'\r\n"});
  TestClient client(world);
  const Answer page =
      client.ask(get("/", "Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\n"));
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.field("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.field("Content-Security-Policy"), "default-src 'none'");
  EXPECT_EQ(page.field("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(page.field("Vary"), "Accept");
  EXPECT_EQ(page.body, "<!doctype html>");
  for (const char* const accept : {"", "Accept: */*\r\n", "Accept: text/html;q=0, */*\r\n"}) {
    const Answer list = client.ask(get("/", accept));
    EXPECT_EQ(list.field("Content-Type"), "text/plain; charset=utf-8") << accept;
    EXPECT_EQ(list.field("Content-Security-Policy"), "") << accept;
    EXPECT_EQ(list.field("Vary"), "Accept") << accept;
    EXPECT_TRUE(list.body.starts_with("stdgate 1 admin\n\n")) << list.body;
    for (const char* const path : {" /  what", " /debug/state  ", " /healthz  ", " /metrics  "}) {
      EXPECT_NE(list.body.find(path), std::string::npos) << path;
    }
  }
  const Answer head =
      client.ask("HEAD / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n", true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.field("Content-Length"), "15");
  EXPECT_EQ(client.ask("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 405);
  EXPECT_EQ(client.ask(get("/", "Sec-Fetch-Site: cross-site\r\nAccept: text/html\r\n")).status, 403)
      << "as the other admin pages";
  EXPECT_EQ(world.admin_router.find("/")->guards.audience, http::RouteAudience::operators);
}

TEST(Admin, Readiness) {
  AdminWorld world;
  TestClient client(world);
  const Answer ready = client.ask(get("/readyz"));
  EXPECT_EQ(ready.status, 200);
  EXPECT_EQ(ready.body,
            R"({"ready":true,"backends":{"a":{"ready":true,"required":true,"state":"ready"}}})"
            "\n");
  const http::BackendReadiness broken{"b", false, false, "failing", "exit code \"1\""};
  world.source.state =
      http::judge_readiness("", {{"a", true, false, "not started yet", ""}, broken});
  const Answer one_is_down = client.ask(get("/readyz"));
  EXPECT_EQ(one_is_down.status, 200);
  EXPECT_EQ(one_is_down.body,
            R"({"ready":true,"backends":{"a":{"ready":true,"state":"not started yet"},)"
            R"("b":{"ready":false,"state":"failing","reason":"exit code \"1\""}}})"
            "\n");
  world.source.state = http::judge_readiness("shutting down", {});
  EXPECT_EQ(client.ask(get("/readyz")).body,
            R"({"ready":false,"reason":"shutting down","backends":{}})"
            "\n");
}

TEST(Admin, WhoIsReady) {
  struct Case {
    const char* problem;
    std::vector<http::BackendReadiness> backends;
    const char* reason;  // empty: the gateway is ready
  };
  const Case cases[] = {
      {"", {{"a", true, true, "", ""}}, ""},
      {"", {{"a", true, false, "", ""}, {"b", false, false, "", "x"}}, ""},
      {"", {{"a", false, false, "", "x"}, {"b", false, false, "", "x"}}, "every backend is down"},
      {"", {{"a", true, false, "", ""}, {"b", false, true, "", "x"}}, "required, and down: b"},
      {"",
       {{"a", true, false, "", ""}, {"b", false, true, "", "x"}, {"c", false, true, "", "y"}},
       "required, and down: b, c"},
      {"", {{"a", false, true, "", "x"}}, "required, and down: a"},
      {"no room", {{"a", true, true, "", ""}}, "no room"},
  };
  for (const Case& one : cases) {
    const http::Readiness verdict = http::judge_readiness(one.problem, one.backends);
    EXPECT_EQ(verdict.reason, one.reason);
    EXPECT_EQ(verdict.ready, *one.reason == '\0');
  }
}

TEST(Admin, ReadinessOfOneBackend) {
  AdminWorld world;
  TestClient client(world);
  world.source.state = http::judge_readiness(
      "", {{"a", true, true, "ready", ""}, {"b-1", false, false, "failing", "exit code 1"}});
  const Answer good = client.ask(get("/readyz/a"));
  EXPECT_EQ(good.status, 200);
  EXPECT_EQ(good.body, "{\"ready\":true,\"required\":true,\"state\":\"ready\"}\n");
  for (const char* path : {"/readyz/b-1", "/readyz/b-1/"}) {
    const Answer down = client.ask(get(path));
    EXPECT_EQ(down.status, 503);
    EXPECT_EQ(down.body, "{\"ready\":false,\"state\":\"failing\",\"reason\":\"exit code 1\"}\n");
  }
  EXPECT_EQ(client.ask(get("/readyz/c")).status, 404);
  EXPECT_EQ(client.ask(get("/readyz/a/b")).status, 404);
  EXPECT_EQ(client.ask(get("/readyz/")).status, 200) << "all";
}

}  // namespace
}  // namespace stdgate::test
