// Endpoints, connections and MCP sessions over an upstream that is no Backend: they depend only on
// the interface.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/mcp/mcp_sessions.h"
#include "tests/support/fake_seal.h"
#include "tests/support/fake_upstream.h"
#include "tests/unit/http/codec_double.h"
#include "tests/unit/websocket/websocket_world.h"
#include "transports/http/mcp_endpoint.h"

namespace stdgate::test {
namespace {

// The fake upstream is at /fake, beside the backends of the world.
class FakeWorld : public WebSocketWorld {
 public:
  FakeWorld() {
    router.add("/fake/rpc", "", std::make_unique<http::RpcEndpoint>(upstream, options.limits));
    router.add("/fake/ws", "", std::make_unique<websocket::WebSocketEndpoint>(upstream),
               http::Guards{.deliberate_get = false});
    http::add_mcp_routes(router, "/fake", mcp_sessions_, options.limits);
  }
  ~FakeWorld() { server.reset(); }  // before the MCP sessions end

  FakeUpstream& upstream = add_upstream();

 private:
  FakeUpstream& add_upstream() {
    backend::UpstreamFacts facts;
    facts.id = 7;
    facts.name = "fake";
    facts.protocol = config::Protocol::mcp;
    facts.envelope_limits.batch = 3;
    facts.held = accounts.backend(facts.id).held;
    auto owned = std::make_unique<FakeUpstream>(facts, callers);
    FakeUpstream& fake = *owned;
    backends.add(std::move(owned));
    return fake;
  }

  RandomSessionIds session_ids_{[] { return "a-session-that-nobody-guesses"; }};
  mcp::McpSessions mcp_sessions_{
      {upstream, callers, loop.timers(), loop, options.limits, loop.storages(), options.timeouts},
      std::chrono::minutes(1),
      session_ids_};
};

TEST(UpstreamOfOnesOwn, AnswersHttp) {
  FakeWorld world;
  TestClient client(world);
  EXPECT_EQ(client.ask(post(call("1", "echo", "[1]"), "", "/fake/rpc")).body, result("1", "[1]"));
  EXPECT_EQ(client.ask(post(R"({"jsonrpc":"2.0","method":"note"})", "", "/fake/rpc")).status, 204);
  EXPECT_EQ(world.upstream.notifications, std::vector<std::string>{"note"});
  EXPECT_EQ(client.ask(post("{", "", "/fake/rpc")).status, 400);

  client.send(
      post("[" + call("2", "hold", "[]") + "," + call("3", "echo", "{}") + "]", "", "/fake/rpc"));
  ASSERT_TRUE(world.until([&] { return world.upstream.calls() == 1; }));
  world.upstream.release();
  EXPECT_EQ(client.answer().body, "[" + result("3", "{}") + "," + result("2", "true") + "]");
  const std::string batch_of_four = R"([1,2,3,4])";  // the upstream's own limit is three
  EXPECT_EQ(client.ask(post(batch_of_four, "", "/fake/rpc")).status, 413);
}

// MCP and the WebSocket endpoint do not need a connection of HTTP/1.
TEST(UpstreamOfOnesOwn, AnswersOnAnyCodec) {
  FakeWorld world;
  CodecDouble codec(*world.server);
  const Fields accept = {{"accept", "application/json, text/event-stream"}};
  codec.post("/fake/mcp", R"({"jsonrpc":"2.0","method":"ping","id":1})", accept);
  EXPECT_EQ(codec.sent.status, 400) << "no session is named";
  const std::string params =
      R"({"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}})";
  codec.post("/fake/mcp", call("1", "initialize", params), accept);
  ASSERT_TRUE(world.until([&] { return codec.sent.has_ended; }));
  EXPECT_EQ(codec.sent.status, 200);
  EXPECT_THAT(codec.sent.fields, testing::HasSubstr("Mcp-Session-Id: a-session-that-nobody"));
  const Fields session = {{"mcp-session-id", "a-session-that-nobody-guesses"}};
  ASSERT_TRUE(codec.admit("DELETE", "/fake/mcp", session));
  codec.exchange.serve({});
  EXPECT_EQ(codec.sent.status, 204);

  const Fields handshake = {{"upgrade", "websocket"},
                            {"connection", "upgrade"},
                            {"sec-websocket-version", "13"},
                            {"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="}};
  codec.upgrades = false;
  EXPECT_FALSE(codec.admit("GET", "/fake/ws", handshake));
  EXPECT_EQ(codec.sent.status, 426);
  codec.upgrades = true;
  EXPECT_TRUE(codec.admit("GET", "/fake/ws", handshake));
}

TEST(UpstreamOfOnesOwn, HasNoWebSocketOverHttp10) {
  FakeWorld world;
  std::string request = handshake("/fake/ws");
  request.replace(request.find("HTTP/1.1"), 8, "HTTP/1.0");
  EXPECT_EQ(TestClient(world).ask(request).status, 426);
}

TEST(UpstreamOfOnesOwn, HearsWhoseTraceItIs) {
  FakeWorld world;
  TestClient client(world);
  const std::string parent =
      "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n";
  client.ask(post(call("1", "echo", "[1]"), parent + "tracestate: a=1\r\nTraceState: b=2, c=3\r\n",
                  "/fake/rpc"));
  EXPECT_EQ(TraceIdText(world.upstream.trace).view(), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(world.upstream.trace.parent_id[7], 0xb7);
  EXPECT_EQ(world.upstream.trace.state, "a=1,b=2,c=3");
  client.ask(post(call("1", "echo", "[1]"), "tracestate: a=1\r\n", "/fake/rpc"));
  EXPECT_EQ(world.upstream.trace, TraceContext());
}

TEST(UpstreamOfOnesOwn, HearsWhatItsCallerPassesOn) {
  FakeWorld world;
  TestClient client(world);
  const auto heard = [&](const std::string& fields) {
    client.ask(post(call("1", "echo", "[1]"), fields, "/fake/rpc"));
    return world.upstream.trace.baggage.text();
  };
  EXPECT_EQ(heard("baggage: a=1\r\nBaggage: b=2;p , c=3\r\n"), "a=1,b=2;p , c=3");
  EXPECT_EQ(heard("baggage: a=1\r\nbaggage: b\r\n"), "") << "part of it is malformed";
  EXPECT_EQ(heard(""), "");
}

TEST(UpstreamOfOnesOwn, HearsThatTheClientHasLeft) {
  FakeWorld world;
  TestClient client(world);
  client.send(post(call("1", "hold", "[]"), "", "/fake/rpc"));
  ASSERT_TRUE(world.until([&] { return world.upstream.calls() == 1; }));
  client.leave();
  ASSERT_TRUE(world.until([&] { return world.upstream.cancelled == 1; }));
}

TEST(UpstreamOfOnesOwn, HasSessionsOverWebSockets) {
  FakeWorld world;
  WebSocketClient client(world, "/fake/ws");
  EXPECT_EQ(world.upstream.sessions(), 1u);
  EXPECT_EQ(client.ask(call("1", "hello", "[1]")), R"({"jsonrpc":"2.0","method":"hello"})");
  EXPECT_EQ(client.message(), result("1", "[1]"));

  WebSocketClient second(world, "/fake/ws");
  TestClient third(world);
  EXPECT_EQ(third.ask(handshake("/fake/ws")).status, 503);
  client.close(1000);
  ASSERT_TRUE(client.wait_closed());
  EXPECT_EQ(world.upstream.sessions(), 1u);
}

TEST(UpstreamOfOnesOwn, HasSessionsOfMcp) {
  FakeWorld world;
  TestClient client(world);
  const std::string accept = "Accept: application/json, text/event-stream\r\n";
  const Answer opened = client.ask(
      post(call("0", "initialize", R"({"protocolVersion":"2025-11-25"})"), accept, "/fake/mcp"));
  EXPECT_EQ(opened.status, 200);
  EXPECT_EQ(opened.body, result("0", R"({"protocolVersion":"2025-11-25"})"));
  const std::string session = "Mcp-Session-Id: " + opened.field("Mcp-Session-Id") + "\r\n";
  EXPECT_EQ(world.upstream.sessions(), 1u);
  const Answer streamed =
      client.ask(post(call("1", "hello", "[1]"), accept + session, "/fake/mcp"));
  EXPECT_NE(streamed.body.find(R"(data: {"jsonrpc":"2.0","method":"hello"})"), std::string::npos);
  EXPECT_NE(streamed.body.find("data: " + result("1", "[1]")), std::string::npos);

  client.send("DELETE /fake/mcp HTTP/1.1\r\nHost: localhost\r\n" + session + "\r\n");
  EXPECT_EQ(client.answer().status, 204);
  EXPECT_EQ(world.upstream.sessions(), 0u);
}

TEST(UpstreamOfOnesOwn, IsOneOfTheOthers) {
  FakeWorld world;
  EXPECT_EQ(world.backends.find("fake"), &world.upstream);
  TestClient client(world);
  client.send(post(call("1", "hold", "[]"), "", "/fake/rpc"));
  ASSERT_TRUE(world.until([&] { return world.backends.calls() == 1; }));
  world.backends.drain();
  EXPECT_FALSE(world.upstream.status().ready);
  world.backends.fail_calls(rpc::faults::shutting_down());
  EXPECT_EQ(client.answer().status, 503);
  EXPECT_EQ(world.backends.calls(), 0u);
}

}  // namespace
}  // namespace stdgate::test
