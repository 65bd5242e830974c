// The end of a WebSocket: by its client, by the protocol, by its session, by the gateway.
#include <gtest/gtest.h>

#include "tests/unit/websocket/client_frames.h"
#include "tests/unit/websocket/websocket_world.h"

namespace stdgate::test {
namespace {

using std::chrono::milliseconds;

bool wait_empty(WebSocketWorld& world) {
  return world.until([&] { return world.server->connections() == 0; });
}

// --- By the client -------------------------------------------------------------------------------

TEST(WebSocketEnd, ACloseFrameIsAnsweredWithItsCode) {
  for (const int code : {1000, 1001, 3000, 4999}) {
    WebSocketWorld world;
    WebSocketClient client(world);
    client.close(static_cast<uint16_t>(code), "bye");
    EXPECT_EQ(client.close_code(), code);
    EXPECT_EQ(client.close_reason, "");
    EXPECT_TRUE(client.wait_closed());
    EXPECT_EQ(world.observer.sessions, 0u);
    client.wire().leave();
    EXPECT_TRUE(wait_empty(world));
  }
}

TEST(WebSocketEnd, ACloseFrameWithoutCodeIsAnsweredByOne) {
  WebSocketWorld world;
  WebSocketClient client(world);
  client.wire().send(client_frame(websocket::Opcode::close, ""));
  EXPECT_TRUE(client.wire().received.empty());
  EXPECT_TRUE(world.until([&] { return client.wire().ended; }));
  EXPECT_EQ(client.wire().received, std::string("\x88\x00", 2));
}

TEST(WebSocketEnd, TheServerEndsAClosedConnectionIfTheClientDoesNot) {
  WebSocketWorld world;
  WebSocketClient client(world);
  const TimePoint start = world.loop.now();
  client.close(1000);
  EXPECT_TRUE(wait_empty(world));
  EXPECT_GE(world.loop.now() - start, websocket::WebSocketConnection::kCloseTime);
  EXPECT_LE(world.loop.now() - start,
            websocket::WebSocketConnection::kCloseTime + std::chrono::seconds(2));
}

TEST(WebSocketEnd, CallsOfAClientThatLeavesAreCancelled) {
  enum class How { leaves, half_closes, closes };
  for (const How how : {How::leaves, How::half_closes, How::closes}) {
    WebSocketWorld world;
    WebSocketClient client(world);
    client.send(call("1", "hold", "[]"));
    EXPECT_TRUE(world.until([&] { return world.child().held.size() == 1; }));
    if (how == How::leaves) client.wire().leave();
    if (how == How::half_closes) client.wire().half_close();
    if (how == How::closes) client.close(1000);
    EXPECT_TRUE(world.until([&] { return world.child().notifications.size() == 1; }));
    EXPECT_NE(world.child().notifications[0].find("$/cancelRequest"), std::string::npos);
    EXPECT_EQ(world.observer.outcomes, std::vector<std::string>{"cancelled"});
    client.wire().leave();
    EXPECT_TRUE(wait_empty(world));
  }
}

TEST(WebSocketEnd, ABatchOfAClientThatLeavesIsForgotten) {
  WebSocketWorld world;
  {
    WebSocketClient client(world);
    client.send("[" + call("1", "hold", "[]") + "," + call("2", "echo", "[]") + "]");
    EXPECT_TRUE(world.until([&] { return world.observer.outcomes.size() == 1; }));
  }
  EXPECT_TRUE(wait_empty(world));
  EXPECT_EQ(world.observer.outcomes, (std::vector<std::string>{"ok", "cancelled"}));
}

// --- By the protocol -----------------------------------------------------------------------------

TEST(WebSocketEnd, WhatIsNotAllowedIsToldAndEndsIt) {
  struct Case {
    std::string bytes;
    int code;
  };
  const Case cases[] = {
      {client_frame("x", {.masked = false}), 1002},
      {client_frame(websocket::Opcode::binary, "x"), 1003},
      {client_frame(websocket::Opcode::text, "\xff"), 1007},
      {client_frame(websocket::Opcode::close, "\x03"), 1002},
      {"GET / HTTP/1.1\r\n\r\n", 1002},
  };
  for (const Case& c : cases) {
    WebSocketWorld world;
    WebSocketClient client(world);
    client.wire().send(c.bytes + client_frame(call("1", "echo", "[]")));
    EXPECT_EQ(client.close_code(), c.code);
    EXPECT_NE(client.close_reason, "");
    EXPECT_TRUE(client.wait_closed());
    EXPECT_TRUE(client.messages.empty()) << "nothing is read after it";
    EXPECT_EQ(world.observer.sessions, 0u);
    client.wire().leave();
    EXPECT_TRUE(wait_empty(world));
  }
}

// --- By the session ------------------------------------------------------------------------------

TEST(WebSocketEnd, AChildThatEndsEndsItsSession) {
  struct Case {
    int exit;
    int code;
  };
  for (const Case& c : {Case{0, 1000}, Case{3, 1011}}) {
    WebSocketWorld world({.isolation = config::Isolation::session});
    WebSocketClient client(world);
    client.ask(call("1", "echo", "[]"));
    world.child().exit(c.exit);
    EXPECT_EQ(client.close_code(), c.code);
    EXPECT_TRUE(client.wait_closed());
    EXPECT_EQ(world.observer.sessions, 0u);
  }
}

TEST(WebSocketEnd, CallsOfAChildThatDiesAreAnsweredFirst) {
  WebSocketWorld world({.isolation = config::Isolation::session});
  WebSocketClient client(world);
  client.send(call("1", "hold", "[]"));
  EXPECT_TRUE(world.until([&] { return world.child().held.size() == 1; }));
  world.child().exit(3);
  const std::string fault = client.message();
  EXPECT_NE(fault.find("-32004"), std::string::npos) << fault;
  EXPECT_EQ(client.close_code(), 1011);
}

TEST(WebSocketEnd, TheReasonIsCutBetweenCharacters) {
  struct Case {
    std::string message;
    size_t size;
  };
  const Case cases[] = {
      {"short", 5},
      {std::string(123, 'x'), 123},
      {std::string(124, 'x'), 123},
      {std::string(121, 'x') + "\u00e9", 123},
      {std::string(122, 'x') + "\u00e9", 122},
      {std::string(120, 'x') + "\U0001f600", 120},
  };
  for (const Case& c : cases) {
    WebSocketWorld world;
    WebSocketClient client(world);
    sink_of(world).on_session_end(session::SessionEnd::failed, c.message);
    EXPECT_EQ(client.close_code(), 1011);
    EXPECT_EQ(client.close_reason, c.message.substr(0, c.size));
  }
}

TEST(WebSocketEnd, AfterItsOwnCloseFrameTheServerReadsOnlyTheClients) {
  WebSocketWorld world;
  TestClient wire(world);
  ASSERT_EQ(wire.ask(handshake()).status, 101);
  sink_of(world).on_session_end(session::SessionEnd::finished, "");
  EXPECT_TRUE(world.until([&] { return wire.received == std::string("\x88\x02\x03\xe8"); }));
  wire.send(client_frame(call("1", "echo", "[]")) + client_frame(websocket::Opcode::ping, "x"));
  run_for(world.loop, milliseconds(20));
  EXPECT_FALSE(wire.ended) << "it waits for the client's";
  wire.send(client_frame(websocket::Opcode::close, close_payload(1000)));
  EXPECT_TRUE(wire.wait_closed());
  EXPECT_EQ(wire.received, std::string("\x88\x02\x03\xe8"));
  EXPECT_EQ(world.launcher.children.size(), 0u) << "no call was made";
}

TEST(WebSocketEnd, AClientThatDoesNotAnswerACloseFrameIsNotWaitedForLong) {
  WebSocketWorld world;
  TestClient wire(world);
  ASSERT_EQ(wire.ask(handshake()).status, 101);
  const TimePoint start = world.loop.now();
  sink_of(world).on_session_end(session::SessionEnd::finished, "");
  EXPECT_TRUE(wire.wait_closed());
  EXPECT_GE(world.loop.now() - start, websocket::WebSocketConnection::kCloseTime);
  EXPECT_EQ(world.server->connections(), 0u);
}

// --- By silence ----------------------------------------------------------------------------------

WorldOptions quick_pings() {
  WorldOptions options;
  options.timeouts.ping = milliseconds(20);
  options.timeouts.pong = milliseconds(300);
  return options;
}

TEST(WebSocketSilence, APingIsSentAndItsPongKeepsTheConnection) {
  WebSocketWorld world(quick_pings());
  WebSocketClient client(world);
  EXPECT_TRUE(world.until([&] {
    client.pump();
    return client.pings == 5;
  }));
  EXPECT_EQ(client.ask(call("1", "echo", "[]")), result("1", "[]"));
}

TEST(WebSocketSilence, NoPongIsTheEnd) {
  WorldOptions options = quick_pings();
  options.timeouts.pong = milliseconds(30);
  WebSocketWorld world(options);
  WebSocketClient client(world);
  client.send(call("1", "hold", "[]"));
  EXPECT_TRUE(world.until([&] { return world.observer.sessions == 0; }));  // without pump()
  EXPECT_EQ(world.observer.outcomes, std::vector<std::string>{"cancelled"});
  EXPECT_EQ(client.close_code(), 1001);
  EXPECT_EQ(client.close_reason, "no pong");
}

TEST(WebSocketSilence, AnyByteIsASignOfLife) {
  WorldOptions options = quick_pings();
  options.timeouts.pong = milliseconds(200);
  WebSocketWorld world(options);
  TestClient wire(world);
  ASSERT_EQ(wire.ask(handshake()).status, 101);
  const std::string frame = client_frame(websocket::Opcode::text, std::string(100, ' ') + "1");
  for (size_t i = 0; i < 20; ++i) {  // twice the time for a pong, and no pong
    wire.send(frame.substr(i, 1));
    run_for(world.loop, milliseconds(20));
  }
  EXPECT_FALSE(wire.ended);
  EXPECT_EQ(world.websockets(), 1u);
}

TEST(WebSocketSilence, IsOursWhileTheCoreDoesNotRead) {
  WorldOptions options;
  options.timeouts.ping = milliseconds(150);  // reading stops first, even on a busy machine
  options.timeouts.pong = milliseconds(20);
  WebSocketWorld world(options);
  WebSocketClient client(world);
  sink_of(world).set_reading(false);
  run_for(world.loop, milliseconds(400));  // pings are not answered now
  EXPECT_EQ(world.websockets(), 1u);
  client.pump();
  EXPECT_EQ(client.pings, 0u);
  sink_of(world).set_reading(true);
  EXPECT_EQ(client.ask(call("1", "echo", "[]")), result("1", "[]"));
}

TEST(WebSocketSilence, APauseEndsTheWaitForAPong) {
  WorldOptions options = quick_pings();
  options.timeouts.pong = milliseconds(100);
  WebSocketWorld world(options);
  WebSocketClient client(world);
  EXPECT_TRUE(world.until([&] { return !client.wire().received.empty(); }));
  sink_of(world).set_reading(false);
  run_for(world.loop, milliseconds(150));
  sink_of(world).set_reading(true);
  run_for(world.loop, milliseconds(5));
  EXPECT_EQ(client.ask(call("1", "echo", "[]")), result("1", "[]"));
}

// --- By the gateway ------------------------------------------------------------------------------

TEST(WebSocketDrain, AnIdleOneIsToldAtOnce) {
  WebSocketWorld world;
  WebSocketClient client(world);
  bool gone = false;
  world.server->drain([&] { gone = true; });
  EXPECT_EQ(client.close_code(), 1001);
  EXPECT_TRUE(client.wait_closed());
  client.wire().leave();
  EXPECT_TRUE(world.until([&] { return gone; }));
}

TEST(WebSocketDrain, CallsAreAnsweredFirst) {
  WebSocketWorld world;
  WebSocketClient client(world);
  client.send(call("1", "hold", "[]"));
  client.send("[" + call("2", "hold", "[]") + "]");
  EXPECT_TRUE(world.until([&] { return world.child().held.size() == 2; }));
  world.server->drain([] {});
  world.child().answer_held("1");
  EXPECT_EQ(client.message(), result("1", "1"));
  run_for(world.loop, milliseconds(20));
  client.pump();
  EXPECT_EQ(world.observer.sessions, 1u) << "one is left";
  world.child().answer_held("2");
  EXPECT_EQ(client.message(), "[" + result("2", "2") + "]");
  EXPECT_EQ(client.close_code(), 1001);
}

TEST(WebSocketDrain, CloseAllEndsThemAtOnce) {
  WebSocketWorld world;
  WebSocketClient one(world);
  WebSocketClient two(world);
  one.send(call("1", "hold", "[]"));
  EXPECT_TRUE(world.until([&] { return world.child().held.size() == 1; }));
  world.server->close_all();
  EXPECT_EQ(world.server->connections(), 0u);
  EXPECT_EQ(world.observer.sessions, 0u);
  EXPECT_TRUE(one.wait_closed());
  EXPECT_TRUE(two.wait_closed());
}

}  // namespace
}  // namespace stdgate::test
