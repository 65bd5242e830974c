// The landing page, and the banner at the start with the same content. Every URL on them is served,
// and nothing on them has a meaning for a shell.
#include "transports/http/landing_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/pool/dialect.h"
#include "tests/unit/http/http_world.h"

namespace stdgate::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Backends of all protocols, none of them started.
struct Shelf {
  Shelf() {
    add("tools", config::Protocol::mcp, true);
    add("calc", config::Protocol::jsonrpc, false);
    add("code", config::Protocol::lsp, false);
  }
  void add(const char* name, config::Protocol protocol, bool is_default) {
    backend::BackendOptions options;
    options.config.name = name;
    options.config.command = {"fake"};
    options.config.protocol = protocol;
    options.config.is_default = is_default;
    backends.add(std::make_unique<backend::Backend>(
        static_cast<BackendId>(backends.all().size()), std::move(options),
        std::make_unique<pool::JsonRpcDialect>(""), callers, core));
  }

  net::Loop loop;
  RecordingLog log;
  Observer observer;
  session::Callers callers{1};
  Random random{1};
  ScriptedLauncher launcher{loop};
  pool::CoreServices core{loop, loop.timers(), log, observer, launcher, random, loop.storages()};
  backend::Upstreams backends;
};

TEST(LandingPage, ShowsUrlsAndWhatToPaste) {
  Shelf shelf;
  EXPECT_EQ(http::landing_page("stdgate 1", shelf.backends, "gate.example:8080"),
            R"(stdgate 1

tools
  POST  http://gate.example:8080/mcp  MCP Streamable HTTP
  GET   http://gate.example:8080/sse  MCP over HTTP and SSE (2024-11-05)
  POST  http://gate.example:8080/rpc  JSON-RPC 2.0
  GET   http://gate.example:8080/rpc/stream  a call, answered as an event stream
  GET   ws://gate.example:8080/ws  JSON-RPC 2.0 over WebSocket

  { "mcpServers": { "tools": { "type": "http", "url": "http://gate.example:8080/mcp" } } }
  curl --json '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' http://gate.example:8080/rpc

calc
  POST  http://gate.example:8080/calc/rpc  JSON-RPC 2.0
  GET   http://gate.example:8080/calc/rpc/stream  a call, answered as an event stream
  GET   ws://gate.example:8080/calc/ws  JSON-RPC 2.0 over WebSocket

  curl --json '{"jsonrpc":"2.0","id":1,"method":"METHOD","params":[]}' http://gate.example:8080/calc/rpc
  npx -y wscat -c ws://gate.example:8080/calc/ws

code
  GET   ws://gate.example:8080/code/ws  JSON-RPC 2.0 over WebSocket

  npx -y wscat -c ws://gate.example:8080/code/ws
)");
}

TEST(LandingPage, NamesTheHostOnlyIfAShellReadsNothingElse) {
  Shelf shelf;
  for (const char* host : {"localhost", "127.0.0.1:1", "[::1]:8080", "a_b.example:80"}) {
    EXPECT_THAT(http::landing_page("t", shelf.backends, host),
                HasSubstr("http://" + std::string(host) + "/rpc"));
  }
  for (const char* host : {"", "$(id)", "a;b", "a'b", "a&b", "a%41", "a!", "a*b"}) {
    const std::string page = http::landing_page("t", shelf.backends, host);
    EXPECT_THAT(page, HasSubstr("http://localhost/rpc")) << host;
    if (*host != '\0') {
      EXPECT_THAT(page, Not(HasSubstr(host)));
    }
  }
}

TEST(LandingPage, ShowsThePublicUrlWhereverItIsAskedFor) {
  Shelf shelf;
  constexpr std::string_view kPublic = "https://tools.example/gate";
  const std::string page = http::landing_page("t", shelf.backends, "10.0.0.1:1", false, kPublic);
  EXPECT_THAT(page, AllOf(HasSubstr("POST  https://tools.example/gate/mcp  MCP"),
                          HasSubstr("\"url\": \"https://tools.example/gate/mcp\""),
                          HasSubstr("wscat -c wss://tools.example/gate/calc/ws"),
                          Not(HasSubstr("10.0.0.1"))));
  EXPECT_THAT(http::landing_json("t", shelf.backends, "10.0.0.1:1", false, kPublic),
              AllOf(HasSubstr(R"("url":"https://tools.example/gate/calc/rpc")"),
                    Not(HasSubstr("10.0.0.1"))));
  EXPECT_THAT(http::landing_page("t", shelf.backends, "gate", false, "https://x/$(id)"),
              AllOf(HasSubstr("http://gate/mcp"), Not(HasSubstr("$(id)"))));
}

TEST(LandingPage, AsJsonForPrograms) {
  Shelf shelf;
  const std::string page =
      http::landing_json("stdgate 1", shelf.backends, "gate.example:8080", true);
  EXPECT_THAT(page,
              HasSubstr(R"({"server":"stdgate 1","backends":[{"name":"tools","protocol":"mcp",)"
                        R"("default":true,"paths":[{"name":"mcp","method":"POST",)"
                        R"("url":"https://gate.example:8080/mcp"})"));
  EXPECT_THAT(page, HasSubstr(R"({"name":"calc","protocol":"jsonrpc","default":false,"paths":[)"
                              R"({"name":"rpc","method":"POST",)"
                              R"("url":"https://gate.example:8080/calc/rpc"})"));
  EXPECT_THAT(http::landing_json("t", shelf.backends, "a;b"), HasSubstr("http://localhost/rpc"));
}

TEST(LandingPage, IsServedAsPlainText) {
  HttpWorld world;
  const http::AdmissionPolicy policy{http::OriginRules{}};
  http::Router router(policy);
  http::add_landing_page(router, world.backends, "stdgate 1");
  EXPECT_FALSE(router.find("/")->guards.deliberate_get);  // curl from elsewhere shows the page
  http::Server server({world.loop, world.log, world.observer, world.callers, world.backends,
                       world.options.limits, world.options.timeouts, world.accounts},
                      router);
  Address loopback;
  loopback.host = "127.0.0.1";
  world.address = *server.listen(loopback);
  TestClient client(world);
  const Answer answer = client.ask("GET / HTTP/1.1\r\nHost: localhost:77\r\n\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_THAT(answer.body, AllOf(StartsWith("stdgate 1\n"), HasSubstr("http://localhost:77/rpc")));
  server.close_all();
  world.loop.run_once();
}

http::Listening some_addresses() {
  http::Listening listening;
  listening.clients = {{*Address::parse("127.0.0.1:8080")}, {*Address::parse("unix:/run/s")}};
  listening.admin = {{*Address::parse("[::1]:9464")}};
  return listening;
}

TEST(LandingPage, UrlsOfOneBackendAreThoseOfThePage) {
  Shelf shelf;
  const auto urls = http::landing_urls(*shelf.backends.find("calc"), "gate:1", false, "");
  EXPECT_THAT(urls, testing::Contains("http://gate:1/calc/rpc"));
  EXPECT_THAT(urls, testing::Contains("ws://gate:1/calc/ws"));
  EXPECT_THAT(http::landing_urls(*shelf.backends.find("tools"), "gate:1", true, "https://public"),
              testing::Contains("https://public/mcp"));
}

TEST(Banner, AnAddressThatClientsCanConnectTo) {
  EXPECT_EQ(http::authority_of({*Address::parse("0.0.0.0:8443")}), "127.0.0.1:8443");
  EXPECT_EQ(http::authority_of({*Address::parse("[::]:80")}), "[::1]:80");
  EXPECT_EQ(http::authority_of({*Address::parse("unix:/run/s")}), "localhost");
}

TEST(Banner, AsTextHasUrlsToPaste) {
  Shelf shelf;
  EXPECT_EQ(http::banner_text(some_addresses(), shelf.backends),
            R"(listening on http://127.0.0.1:8080
  tools        MCP  http://127.0.0.1:8080/mcp
               SSE  http://127.0.0.1:8080/sse
               POST http://127.0.0.1:8080/rpc
               GET  ws://127.0.0.1:8080/ws
  calc         POST http://127.0.0.1:8080/calc/rpc
               GET  ws://127.0.0.1:8080/calc/ws
  code         GET  ws://127.0.0.1:8080/code/ws
listening on unix:/run/s
  tools        MCP  /mcp
               SSE  /sse
               POST /rpc
               GET  /ws
  calc         POST /calc/rpc
               GET  /calc/ws
  code         GET  /code/ws
admin on http://[::1]:9464
  metrics      GET  http://[::1]:9464/metrics
  healthz      GET  http://[::1]:9464/healthz
  readyz       GET  http://[::1]:9464/readyz
  debug/state  GET  http://[::1]:9464/debug/state
  page         GET  http://[::1]:9464/
)");
}

TEST(Banner, OverTlsHasItsSchemes) {
  Shelf shelf;
  http::Listening listening;
  listening.clients = {{*Address::parse("0.0.0.0:8443"), true}};
  listening.admin = {{*Address::parse("127.0.0.1:9464"), true}};
  const std::string text = http::banner_text(listening, shelf.backends);
  EXPECT_THAT(text, HasSubstr("listening on https://0.0.0.0:8443 (every"));
  EXPECT_THAT(text, HasSubstr("https://127.0.0.1:8443/mcp\n"));
  EXPECT_THAT(text, HasSubstr("wss://127.0.0.1:8443/ws\n"));
  EXPECT_THAT(text, HasSubstr("https://127.0.0.1:9464/metrics\n"));
  EXPECT_EQ(text.find("http://"), std::string::npos);
  EXPECT_EQ(text.find(" ws://"), std::string::npos);
}

TEST(LandingPage, OverTlsHasItsSchemes) {
  Shelf shelf;
  const std::string page = http::landing_page("t", shelf.backends, "gate.example", true);
  EXPECT_THAT(page, HasSubstr("https://gate.example/mcp"));
  EXPECT_THAT(page, HasSubstr("wss://gate.example/ws"));
  EXPECT_EQ(page.find("http://"), std::string::npos);
  EXPECT_EQ(page.find(" ws://"), std::string::npos);
}

TEST(Banner, AsLogHasALineForEachBackendAtEachAddress) {
  Shelf shelf;
  http::log_banner(shelf.log, some_addresses(), shelf.backends);
  EXPECT_THAT(
      shelf.log.lines,
      ElementsAre(
          "listening address=http://127.0.0.1:8080 backend=tools mcp=http://127.0.0.1:8080/mcp "
          "sse=http://127.0.0.1:8080/sse rpc=http://127.0.0.1:8080/rpc "
          "stream=http://127.0.0.1:8080/rpc/stream websocket=ws://127.0.0.1:8080/ws",
          "listening address=http://127.0.0.1:8080 backend=calc "
          "rpc=http://127.0.0.1:8080/calc/rpc stream=http://127.0.0.1:8080/calc/rpc/stream "
          "websocket=ws://127.0.0.1:8080/calc/ws",
          "listening address=http://127.0.0.1:8080 backend=code "
          "websocket=ws://127.0.0.1:8080/code/ws",
          "listening address=unix:/run/s backend=tools mcp=/mcp sse=/sse rpc=/rpc "
          "stream=/rpc/stream websocket=/ws",
          "listening address=unix:/run/s backend=calc rpc=/calc/rpc stream=/calc/rpc/stream "
          "websocket=/calc/ws",
          "listening address=unix:/run/s backend=code websocket=/code/ws",
          "listening address=http://[::1]:9464 admin=1 metrics=http://[::1]:9464/metrics "
          "healthz=http://[::1]:9464/healthz readyz=http://[::1]:9464/readyz "
          "state=http://[::1]:9464/debug/state page=http://[::1]:9464/"));
}

}  // namespace
}  // namespace stdgate::test
