// A WebSocket and its messages. websocket_end_test.cc tests its end, and websocket_limits_test.cc
// its limits.
#include <gtest/gtest.h>

#include "tests/unit/websocket/client_frames.h"
#include "tests/unit/websocket/websocket_world.h"

namespace stdgate::test {
namespace {

TEST(WebSocket, TakesTheHttpConnectionsPlace) {
  WebSocketWorld world;
  WebSocketClient client(world);
  EXPECT_EQ(client.answer.field("Sec-WebSocket-Accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(client.answer.field("Content-Length"), "");
  EXPECT_EQ(world.observer.open, (std::array<size_t, kConnectionKindCount>{0, 1}));
  EXPECT_EQ(world.server->connections(), 1u);
  EXPECT_EQ(world.observer.sessions, 1u);
}

TEST(WebSocket, AnswersCalls) {
  WebSocketWorld world;
  WebSocketClient client(world);
  EXPECT_EQ(client.ask(call("1", "echo", "[1]")), result("1", "[1]"));
  EXPECT_EQ(client.ask(call("\"\\u00e9\"", "echo", "{}")), result("\"\\u00e9\"", "{}"));
  EXPECT_EQ(client.ask(call("3", "fail", "[]")),
            R"({"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no"}})");
  EXPECT_EQ(world.observer.outcomes, (std::vector<std::string>{"ok", "ok", "error"}));
}

TEST(WebSocket, ServesEachBackendUnderItsName) {
  WebSocketWorld world;
  for (const char* path : {"/ws", "/calc/ws", "/other/ws"}) {
    WebSocketClient client(world, path);
    EXPECT_EQ(client.ask(call("1", "echo", "[1]")), result("1", "[1]")) << path;
  }
}

TEST(WebSocket, AnswersComeAsTheyAreReady) {
  WebSocketWorld world;
  WebSocketClient client(world);
  client.send(call("1", "hold", "[]"));
  EXPECT_EQ(client.ask(call("2", "echo", "[]")), result("2", "[]"));
  world.child().answer_held("true");
  EXPECT_EQ(client.message(), result("1", "true"));
}

TEST(WebSocket, WhatComesWithTheHandshakeIsRead) {
  WebSocketWorld world;
  TestClient wire(world);
  wire.send(handshake() + client_frame(call("1", "echo", "[1]")));
  EXPECT_EQ(wire.answer().status, 101);
  const std::string wanted =
      "\x81" + std::string(1, static_cast<char>(result("1", "[1]").size())) + result("1", "[1]");
  EXPECT_TRUE(world.until([&] { return wire.received == wanted; })) << wire.received;
}

TEST(WebSocket, FollowsOrdinaryRequestsOnOneConnection) {
  WebSocketWorld world({.callers = 2});
  TestClient wire(world);
  EXPECT_EQ(wire.ask(post(call("1", "echo", "[1]"))).body, result("1", "[1]"));
  EXPECT_EQ(wire.ask(handshake()).status, 101);
  wire.send(client_frame(call("2", "echo", "[2]")));
  EXPECT_TRUE(world.until([&] { return wire.received.ends_with(result("2", "[2]")); }));
  WebSocketClient other(world);  // needs the last free caller
  EXPECT_EQ(other.ask(call("3", "echo", "[3]")), result("3", "[3]"));
}

// The handshake is pipelined, so it waits for the answer to the request.
TEST(WebSocket, FollowsARequestThatIsUnderWay) {
  WebSocketWorld world;
  TestClient wire(world);
  wire.send(post(call("1", "hold", "[]")) + handshake() + client_frame(call("2", "echo", "[2]")));
  EXPECT_TRUE(world.until([&] { return world.child().held.size() == 1; }));
  EXPECT_EQ(world.websockets(), 0u);
  world.child().answer_held("1");
  EXPECT_EQ(wire.answer().body, result("1", "1"));
  EXPECT_EQ(wire.answer().status, 101);
  EXPECT_TRUE(world.until([&] { return wire.received.ends_with(result("2", "[2]")); }));
}

TEST(WebSocket, FramesMayComeByteByByte) {
  WebSocketWorld world;
  WebSocketClient client(world);
  const std::string frames =
      client_frame(R"({"jsonrpc":"2.0","id":)", {.opcode = 1, .final = false}) +
      client_frame(websocket::Opcode::ping, "between") +
      client_frame(websocket::Opcode::continuation, R"(1,"method":"echo"})");
  for (const char byte : frames) {
    client.wire().send({&byte, 1});
    world.loop.run_once();
  }
  EXPECT_EQ(client.message(), result("1", "null"));
  EXPECT_EQ(client.pongs, std::vector<std::string>{"between"});
}

TEST(WebSocket, LargeMessagesBothWays) {
  WebSocketWorld world;
  WebSocketClient client(world);
  for (const size_t size : {125u, 126u, 65535u, 65536u, 3000000u}) {
    const std::string params = "[\"" + std::string(size, 'x') + "\"]";
    EXPECT_EQ(client.ask(call("1", "echo", params)), result("1", params)) << size;
  }
}

TEST(WebSocket, PingsAreAnsweredWithTheirPayload) {
  WebSocketWorld world;
  WebSocketClient client(world);
  const std::vector<std::string> payloads = {"", "a", std::string(125, 'p')};
  for (const std::string& payload : payloads) client.ping(payload);
  EXPECT_TRUE(client.wait_pongs(3));
  EXPECT_EQ(client.pongs, payloads);
}

TEST(WebSocket, NotificationsAreDeliveredAndNotAnswered) {
  WebSocketWorld world;
  WebSocketClient client(world);
  client.send(R"({"jsonrpc":"2.0","method":"note"})");
  EXPECT_EQ(client.ask(call("1", "echo", "[]")), result("1", "[]"));
  EXPECT_EQ(world.child().notifications,
            std::vector<std::string>{R"({"jsonrpc":"2.0","method":"note"})"});
}

// --- Paths ---------------------------------------------------------------------------------------

TEST(WebSocketPath, IsAlsoBesideThePost) {
  WebSocketWorld world;
  for (const char* path : {"/ws", "/ws/", "/rpc/ws", "/rpc/ws/", "/other/ws", "/other/rpc/ws"}) {
    WebSocketClient client(world, path);
    EXPECT_EQ(client.ask(call("1", "echo", "[1]")), result("1", "[1]")) << path;
  }
}

// --- Batches -------------------------------------------------------------------------------------

TEST(WebSocketBatch, IsAnsweredByOneArray) {
  WebSocketWorld world;
  WebSocketClient client(world);
  EXPECT_EQ(
      client.ask("[" + call("1", "echo", "[1]") + R"(,{"jsonrpc":"2.0","method":"note"},)" +
                 call("2", "echo", "[2]") + ",7]"),
      "[" +
          std::string(
              R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: not an object"}},)") +
          result("1", "[1]") + "," + result("2", "[2]") + "]");
}

TEST(WebSocketBatch, OfNotificationsIsNotAnswered) {
  WebSocketWorld world;
  WebSocketClient client(world);
  client.send(R"([{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}])");
  EXPECT_EQ(client.ask(call("1", "echo", "[]")), result("1", "[]"));
  EXPECT_EQ(world.child().notifications.size(), 2u);
}

TEST(WebSocketBatch, SeveralAreOpenAtOnce) {
  WebSocketWorld world;
  WebSocketClient client(world);
  client.send("[" + call("1", "hold", "[]") + "," + call("2", "echo", "[2]") + "]");
  client.send("[" + call("3", "hold", "[]") + "," + call("4", "echo", "[4]") + "]");
  EXPECT_EQ(client.ask("[" + call("5", "echo", "[]") + "]"), "[" + result("5", "[]") + "]");
  world.child().answer_held("1");
  EXPECT_EQ(client.message(), "[" + result("2", "[2]") + "," + result("1", "1") + "]");
  world.child().answer_held("3");
  EXPECT_EQ(client.message(), "[" + result("4", "[4]") + "," + result("3", "3") + "]");
}

TEST(WebSocketBatch, CancelledCallsAreLeftOut) {
  WebSocketWorld world;
  WebSocketClient client(world);
  client.send("[" + call("1", "hold", "[]") + "," + call("2", "echo", "[2]") + "]");
  EXPECT_TRUE(world.until([&] { return world.observer.outcomes.size() == 1; }));
  sink_of(world).on_cancelled(session::Tag{1}
                              << 32);  // some protocols do not answer cancelled calls
  EXPECT_EQ(client.message(), "[" + result("2", "[2]") + "]");
}

TEST(WebSocketBatch, OneTooManyIsRefused) {
  WebSocketWorld world;
  WebSocketClient client(world);
  for (size_t i = 0; i < websocket::WebSocketConnection::kMaxOpenBatches; ++i) {
    client.send("[" + call(std::to_string(i), "hold", "[]") + "]");
  }
  const std::string refusal = client.ask("[" + call("999", "echo", "[]") + "]");
  EXPECT_NE(refusal.find("-32005"), std::string::npos) << refusal;
  EXPECT_TRUE(world.until([&] {
    return world.child().held.size() == websocket::WebSocketConnection::kMaxOpenBatches;
  }));
  world.child().answer_held("true");
  EXPECT_EQ(client.message(), "[" + result("0", "true") + "]");
  EXPECT_EQ(client.ask("[" + call("1000", "echo", "[]") + "]"), "[" + result("1000", "[]") + "]");
}

// --- Invalid messages ----------------------------------------------------------------------------

TEST(WebSocketFaults, AreAnsweredAsOverHttp) {
  WebSocketWorld world;
  for (const std::string text : {"nope", "[]", "7", R"({"id":1})", R"({"jsonrpc":"2.0","id":1})",
                                 "{\"jsonrpc\":\"2.0\",\"method\":1,\"id\":\"x\"}", ""}) {
    WebSocketClient client(world);
    TestClient http(world);
    EXPECT_EQ(client.ask(text) + "\n", http.ask(post(text)).body) << text;
  }
}

TEST(WebSocketFaults, AreOutcomes) {
  WebSocketWorld world;
  WebSocketClient client(world);
  client.ask("nope");
  client.ask(R"({"jsonrpc":"2.0","id":1})");
  EXPECT_EQ(world.observer.outcomes, (std::vector<std::string>{"parse_error", "invalid_request"}));
}

TEST(WebSocketFaults, AnswersToNothingAreDropped) {
  WebSocketWorld world;
  WebSocketClient client(world);
  client.send(result("7", "true"));
  EXPECT_EQ(client.ask(call("1", "echo", "[]")), result("1", "[]"));
  EXPECT_EQ(world.observer.dropped, std::vector<DropReason>{DropReason::stray_response});
}

// --- Messages of children ------------------------------------------------------------------------

TEST(WebSocketSession, HearsNotificationsOfItsChild) {
  WebSocketWorld world({.isolation = config::Isolation::session});
  WebSocketClient one(world);
  EXPECT_EQ(one.ask(call("1", "echo", "[]")), result("1", "[]"));
  WebSocketClient two(world);
  EXPECT_EQ(two.ask(call("1", "echo", "[]")), result("1", "[]"));
  ASSERT_EQ(world.launcher.children.size(), 2u);
  const std::string tick = R"({"jsonrpc":"2.0","method":"tick"})";
  world.launcher.children[1]->say(tick);
  EXPECT_EQ(two.message(), tick);
  EXPECT_EQ(one.ask(call("2", "echo", "[]")), result("2", "[]")) << "it heard nothing";
}

TEST(WebSocketSession, AnswersRequestsOfItsChild) {
  WebSocketWorld world({.isolation = config::Isolation::session});
  WebSocketClient client(world);
  client.ask(call("1", "echo", "[]"));
  world.child().say(call("\"child's\"", "confirm", "[1]"));
  const std::string asked = client.message();
  const size_t id = asked.find("\"id\":") + 5;
  const std::string number = asked.substr(id, asked.find(',', id) - id);
  EXPECT_EQ(asked, call(number, "confirm", "[1]"));
  client.send(result(number, "true"));
  EXPECT_TRUE(world.until([&] { return world.child().answers.size() == 1; }));
  EXPECT_EQ(world.child().answers, std::vector<std::string>{result("\"child's\"", "true")});
}

// --- The handshake -------------------------------------------------------------------------------

TEST(WebSocketEndpoint, RefusesWhatIsNoHandshake) {
  struct Case {
    std::string request;
    int status;
    std::string field;  // required in the answer
    std::string value;
  };
  const Case cases[] = {
      {get("/ws"), 426, "Upgrade", "websocket"},
      {get("/ws",
           "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 8\r\n"
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"),
       426, "Sec-WebSocket-Version", "13"},
      {get("/ws", "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"),
       400, "Content-Type", "application/json"},
      {post(call("1", "echo", "[]"), "", "/ws"), 405, "Allow", "GET, HEAD, OPTIONS"},
      {handshake("/nowhere/ws"), 404, "Content-Type", "application/json"},
  };
  WebSocketWorld world;
  for (const Case& c : cases) {
    TestClient client(world);
    const Answer answer = client.ask(c.request);
    EXPECT_EQ(answer.status, c.status) << c.request;
    EXPECT_EQ(answer.field(c.field), c.value) << c.request;
    EXPECT_NE(answer.body.find(R"("error":{"code":)"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(world.observer.sessions, 0u);
}

TEST(WebSocketEndpoint, HttpGoesOnAfterARefusal) {
  WebSocketWorld world;
  TestClient client(world);
  EXPECT_EQ(client.ask(get("/ws")).status, 426);
  EXPECT_EQ(client.ask(handshake()).status, 101);
}

TEST(WebSocketEndpoint, JudgesOriginAndHost) {
  WebSocketWorld world;
  struct Case {
    std::string request;
    int status;
  };
  std::string foreign_host = handshake();
  foreign_host.replace(foreign_host.find("localhost"), 9, "rebound.example");
  const Case cases[] = {
      {handshake("/ws", "Origin: http://localhost:3000\r\n"), 101},
      {handshake("/ws", "Origin: https://evil.example\r\n"), 403},
      {handshake("/ws", "Origin: null\r\n"), 403},
      {foreign_host, 403},
  };
  for (const Case& c : cases) {
    TestClient client(world);
    EXPECT_EQ(client.ask(c.request).status, c.status) << c.request;
  }
}

TEST(WebSocketEndpoint, NamesTheSubprotocolThatItTook) {
  WebSocketWorld world;
  TestClient client(world);
  const Answer answer = client.ask(handshake("/ws", "Sec-WebSocket-Protocol: chat, mcp\r\n"));
  EXPECT_EQ(answer.field("Sec-WebSocket-Protocol"), "mcp");
}

TEST(WebSocketEndpoint, ASessionTooManyIsRefused) {
  WorldOptions options;
  options.pool.sessions = 1;
  options.callers = 2;
  WebSocketWorld world(options);
  WebSocketClient first(world);
  TestClient second(world);
  const Answer refusal = second.ask(handshake());
  EXPECT_EQ(refusal.status, 503);
  EXPECT_EQ(refusal.field("Retry-After"), "1");
  EXPECT_NE(refusal.body.find("-32005"), std::string::npos) << refusal.body;
  EXPECT_EQ(second.ask(handshake()).body, refusal.body) << "and again";
  first.wire().leave();
  EXPECT_TRUE(world.until([&] { return world.observer.sessions == 0; }));
  EXPECT_EQ(second.ask(handshake()).status, 101);
}

TEST(WebSocketEndpoint, NoOriginLeftIsARefusal) {
  WebSocketWorld world({.callers = 1});
  WebSocketClient first(world);
  TestClient second(world);
  EXPECT_EQ(second.ask(handshake()).status, 503);
  EXPECT_EQ(world.observer.sessions, 1u);
}

}  // namespace
}  // namespace stdgate::test
