// The limits of a WebSocket: sizes, memory, and clients that read too slowly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/websocket/client_frames.h"
#include "tests/unit/websocket/websocket_world.h"

namespace stdgate::test {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

constexpr size_t kMegabyte = 1 << 20;

std::string ask_big(size_t id, size_t size) {
  return call(std::to_string(id), "big", R"({"size":)" + std::to_string(size) + '}');
}

// --- Sizes ---------------------------------------------------------------------------------------

TEST(WebSocketLimits, AMessageAtTheLimitAndOneBeyond) {
  WorldOptions options;
  options.limits.message = 1000;
  const std::string empty = call("1", "echo", "[\"\"]");
  for (const size_t beyond : {0u, 1u}) {
    WebSocketWorld world(options);
    WebSocketClient client(world);
    const std::string params = "[\"" + std::string(1000 - empty.size() + beyond, 'x') + "\"]";
    client.send(call("1", "echo", params));
    if (beyond == 0) {
      EXPECT_EQ(client.message(), result("1", params));
    } else {
      EXPECT_EQ(client.close_code(), 1009);
    }
  }
}

TEST(WebSocketLimits, ABatchHasSoManyMessages) {
  WorldOptions options;
  options.limits.batch = 2;
  WebSocketWorld world(options);
  WebSocketClient client(world);
  const std::string one = call("1", "echo", "[]");
  EXPECT_EQ(client.ask("[" + one + "," + one + "]"),
            "[" + result("1", "[]") + "," + result("1", "[]") + "]");
  const std::string refusal = client.ask("[" + one + "," + one + "," + one + "]");
  EXPECT_NE(refusal.find("-32007"), std::string::npos) << refusal;
}

TEST(WebSocketLimits, TheAnswerOfABatchIsBounded) {
  WorldOptions options;
  options.limits.message = 1000;
  WebSocketWorld world(options);
  WebSocketClient client(world);
  const std::string answer = client.ask("[" + ask_big(1, 700) + "," + ask_big(2, 700) + "]");
  EXPECT_LT(answer.size(), 1000u);
  EXPECT_NE(answer.find(R"("id":2,"error":{"code":-32007)"), std::string::npos) << answer;
}

TEST(WebSocketLimits, ConnectionsCountWhateverTheySpeak) {
  WorldOptions options;
  options.limits.connections = 2;
  WebSocketWorld world(options);
  WebSocketClient first(world);
  TestClient second(world);
  EXPECT_EQ(second.ask(get("/")).status, 200);
  TestClient third(world);
  EXPECT_EQ(third.answer().status, 503);
}

// Sends a byte of a message every few milliseconds.
class Drip {
 public:
  Drip(WebSocketWorld& world, WebSocketClient& client)
      : world_(world), client_(client), timer_(world.loop.timers(), [this] { send(); }) {
    timer_.arm(world.loop.now());
  }

 private:
  void send() {
    client_.wire().send(client_frame(websocket::Opcode::continuation, " ", false));
    timer_.arm(world_.loop.now() + milliseconds(5));
  }
  WebSocketWorld& world_;
  WebSocketClient& client_;
  Timer timer_;
};

TEST(WebSocketLimits, AMessageThatDripsIsTooLate) {
  for (const bool by_rate : {true, false}) {
    WorldOptions options;
    options.timeouts.body = by_rate ? milliseconds(300) : std::chrono::hours(1);
    options.timeouts.request = by_rate ? std::chrono::hours(1) : milliseconds(300);
    options.limits.min_rate = size_t{1} << 20;
    WebSocketWorld world(options);
    WebSocketClient client(world);
    client.wire().send(client_frame(websocket::Opcode::text, " ", false));
    const Drip drip(world, client);
    EXPECT_EQ(client.close_code(), 1008);
  }
}

TEST(WebSocketLimits, MessagesOneAfterTheOtherAreNotOneThatIsLate) {
  WorldOptions options;
  options.timeouts.request = milliseconds(300);
  options.limits.min_rate = 0;
  WebSocketWorld world(options);
  WebSocketClient client(world);
  // The client is always in the middle of a message.
  client.wire().send(client_frame(websocket::Opcode::text, call("1", "echo", "[]"), false));
  const TimePoint start = world.loop.now();
  while (world.loop.now() - start < milliseconds(900)) {
    client.wire().send(client_frame(websocket::Opcode::continuation, "", true) +
                       client_frame(websocket::Opcode::text, call("1", "echo", "[]"), false));
    ASSERT_EQ(client.message(), result("1", "[]"));
    run_for(world.loop, milliseconds(20));
  }
}

TEST(WebSocketLimits, WhoTakesTooLittleIsClosed) {
  WorldOptions options;
  options.timeouts.ping = options.timeouts.pong = milliseconds(150);
  options.limits.min_rate = size_t{1} << 30;
  WebSocketWorld world(options);
  WebSocketClient client(world, "/ws", false);
  client.send(ask_big(1, 15'000'000));
  Timer sip(world.loop.timers(), [&] {
    client.wire().read_once();
    sip.arm(world.loop.now() + milliseconds(10));
  });
  sip.arm(world.loop.now());
  EXPECT_TRUE(world.until([&] { return world.websockets() == 0; }));
  EXPECT_LT(client.wire().received.size(), 15'000'000U);
}

TEST(WebSocketLimits, BytesInMemoryAreCountedTogether) {
  WorldOptions options;
  options.limits.buffered = 13'000;  // the sessions need a part of it
  WebSocketWorld world(options);
  WebSocketClient one(world);
  WebSocketClient two(world);
  // Both messages have begun and are incomplete. The last part of the second message exceeds the
  // limit.
  one.wire().send(client_frame(websocket::Opcode::text, std::string(5000, ' '), false));
  run_for(world.loop, milliseconds(20));
  two.wire().send(client_frame(websocket::Opcode::text, std::string(5000, ' '), false));
  run_for(world.loop, milliseconds(20));
  EXPECT_EQ(world.observer.sessions, 2u) << "near the limit";
  two.wire().send(client_frame(websocket::Opcode::continuation, std::string(5000, ' '), false));
  EXPECT_EQ(two.close_code(), 1013);
  one.wire().send(client_frame(websocket::Opcode::continuation, call("1", "echo", "[]")));
  EXPECT_EQ(one.message(), result("1", "[]")) << "there is room again";
}

TEST(WebSocketLimits, AnswersOfBatchesAreCountedWhileTheyWait) {
  WorldOptions options;
  options.limits.buffered = 10000;
  WebSocketWorld world(options);
  WebSocketClient client(world);
  client.send("[" + ask_big(1, 20000) + "," + call("2", "hold", "[]") + "]");
  EXPECT_TRUE(world.until([&] { return world.observer.outcomes.size() == 1; }));
  client.send(call("3", "echo", "[]"));
  EXPECT_THAT(client.message(), AllOf(HasSubstr("-32005"), HasSubstr("limits.buffered")));
}

TEST(WebSocketLimits, AnswersOfBatchesAreNotCountedWhenTheirClientHasLeft) {
  WorldOptions options;
  options.limits.buffered = 10000;
  WebSocketWorld world(options);
  for (size_t i = 1; i <= 3; ++i) {
    WebSocketClient client(world);
    client.send("[" + ask_big(1, 5000) + "," + call("2", "hold", "[]") + "]");
    EXPECT_TRUE(world.until([&] { return world.child().held.size() == i; }));
    EXPECT_TRUE(world.until([&] { return world.observer.outcomes.size() == 2 * i - 1; }));
    client.close(1000);
    EXPECT_TRUE(world.until([&] { return world.observer.outcomes.size() == 2 * i; }));
  }
  WebSocketClient client(world);
  client.wire().send(client_frame(websocket::Opcode::text, std::string(1000, ' '), false));
  run_for(world.loop, milliseconds(20));  // these bytes are held
  client.wire().send(client_frame(websocket::Opcode::continuation, call("3", "echo", "[]")));
  EXPECT_EQ(client.message(), result("3", "[]"));
}

// --- Slow readers --------------------------------------------------------------------------------

// Sends calls with answers of 1 MB until the server stops reading. Returns the number of calls that
// were read.
size_t ask_until_stuck(WebSocketWorld& world, WebSocketClient& client) {
  size_t asked = 0;
  for (size_t read = SIZE_MAX; read != world.child().calls;) {
    read = world.child().calls;
    for (int i = 0; i < 16; ++i) client.send(ask_big(++asked, kMegabyte));
    run_for(world.loop, milliseconds(30));
    if (asked > 400) break;
  }
  EXPECT_LT(world.child().calls, asked);
  return asked;
}

TEST(WebSocketSlowReader, IsNotReadFromAndLosesNothing) {
  WorldOptions options;
  options.isolation = config::Isolation::session;
  options.limits.outbox = 64 << 10;  // has no effect, because the child can wait
  WebSocketWorld world(options);
  WebSocketClient client(world, "/ws", false);
  client.send(call("0", "echo", "[]"));
  EXPECT_TRUE(world.until([&] { return world.launcher.children.size() == 1; }));
  const size_t asked = ask_until_stuck(world, client);
  EXPECT_FALSE(world.child().is_read()) << "its child is held";

  client.wire().read();
  EXPECT_EQ(client.wire().answer().status, 101);
  EXPECT_EQ(client.message(), result("0", "[]"));
  for (size_t id = 1; id <= asked; ++id) {
    const std::string answer = client.message();
    ASSERT_TRUE(answer.starts_with(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + ","));
    ASSERT_GT(answer.size(), kMegabyte);
  }
  EXPECT_TRUE(world.child().is_read());
  EXPECT_TRUE(world.observer.dropped.empty());
}

TEST(WebSocketSlowReader, OnASharedChildIsEnded) {
  WorldOptions options;
  options.limits.outbox = 2 * kMegabyte;
  WebSocketWorld world(options);
  WebSocketClient slow(world, "/ws", false);
  WebSocketClient other(world);
  // Notifications go to all sessions, whether their clients read or not.
  other.ask(call("1", "echo", "[]"));
  const std::string tick =
      R"({"jsonrpc":"2.0","method":"tick","params":[")" + std::string(kMegabyte, 'x') + "\"]}";
  size_t said = 0;
  while (world.observer.dropped.empty() && said < 100) {
    world.child().say(tick);
    ++said;
    EXPECT_EQ(other.message(), tick) << "nobody else is kept waiting";
  }
  EXPECT_EQ(world.observer.dropped, std::vector<DropReason>{DropReason::outbox_full});
  EXPECT_TRUE(world.until([&] { return world.observer.sessions == 1; }));
  const TimePoint start = world.loop.now();
  EXPECT_TRUE(world.until([&] { return world.websockets() == 1; }));
  EXPECT_LE(world.loop.now() - start,
            websocket::WebSocketConnection::kCloseTime + std::chrono::seconds(1));
  EXPECT_EQ(other.ask(call("2", "echo", "[]")), result("2", "[]"));
}

TEST(WebSocketSlowReader, IsToldWhyIfItReadsAgain) {
  WorldOptions options;
  options.limits.outbox = 2 * kMegabyte;
  WebSocketWorld world(options);
  WebSocketClient slow(world, "/ws", false);
  WebSocketClient other(world);
  other.ask(call("1", "echo", "[]"));
  const std::string tick =
      R"({"jsonrpc":"2.0","method":"tick","params":[")" + std::string(kMegabyte, 'x') + "\"]}";
  for (size_t said = 0; world.observer.dropped.empty() && said < 100; ++said) {
    world.child().say(tick);
    other.message();
  }
  slow.wire().read();
  EXPECT_EQ(slow.wire().answer().status, 101);
  EXPECT_EQ(slow.close_code(), 1013);
  EXPECT_TRUE(slow.wait_closed());
}

TEST(WebSocketSlowReader, ThatTakesNothingIsGivenUp) {
  WorldOptions options;
  options.isolation = config::Isolation::session;
  options.timeouts.ping = milliseconds(100);
  options.timeouts.pong = milliseconds(100);
  WebSocketWorld world(options);
  WebSocketClient client(world, "/ws", false);
  for (size_t id = 1; id <= 20; ++id) client.send(ask_big(id, kMegabyte));
  EXPECT_TRUE(world.until([&] { return world.server->connections() == 0; }));
  EXPECT_EQ(world.observer.sessions, 0u);
}

TEST(WebSocketSlowReader, CannotMakeTheServerHoldPongs) {
  WebSocketWorld world;
  WebSocketClient client(world, "/ws", false);
  const std::string pings = [] {
    std::string all;
    while (all.size() < kMegabyte)
      all += client_frame(websocket::Opcode::ping, std::string(125, 'p'));
    return all;
  }();
  constexpr size_t kSent = 40;
  for (size_t i = 0; i < kSent; ++i) client.wire().send(pings);
  size_t read = 0;
  do {
    read = world.observer.bytes_in;
    run_for(world.loop, milliseconds(50));
  } while (read != world.observer.bytes_in);
  EXPECT_LT(read, kSent * pings.size());
  client.wire().read();
  EXPECT_TRUE(world.until([&] {
    client.wire().received.clear();
    return world.observer.bytes_in > kSent * pings.size();
  }));
}

// --- The core takes no messages ------------------------------------------------------------------

TEST(WebSocketPause, TheClientWaitsWhileItsChildTakesNothing) {
  WorldOptions options;
  options.isolation = config::Isolation::session;
  options.pool.queue = 2;
  WebSocketWorld world(options);
  WebSocketClient client(world);
  client.ask(call("1", "echo", "[]"));
  world.child().set_unsent(pool::ChildLink::kHighWatermark);
  client.send(call("2", "echo", "[2]"));
  run_for(world.loop, milliseconds(20));
  // The call waits in the queue, which is half full now.
  client.send(call("3", "echo", "[3]"));
  run_for(world.loop, milliseconds(20));
  EXPECT_EQ(world.child().calls, 1u);
  EXPECT_EQ(world.backends.all()[0]->status().queued, 1u);
  world.child().set_unsent(0);
  EXPECT_EQ(client.message(), result("2", "[2]"));
  EXPECT_EQ(client.message(), result("3", "[3]"));
}

// The close frame comes after a message that made the core stop reading.
TEST(WebSocketPause, DoesNotHideACloseFrame) {
  WorldOptions options;
  options.isolation = config::Isolation::session;
  options.pool.queue = 2;
  WebSocketWorld world(options);
  WebSocketClient client(world);
  client.ask(call("1", "echo", "[]"));
  world.child().set_unsent(pool::ChildLink::kHighWatermark);
  client.wire().send(client_frame(call("2", "echo", "[2]")) +
                     client_frame(websocket::Opcode::close, close_payload(1000)));
  EXPECT_EQ(client.close_code(), 1000);
  EXPECT_EQ(world.observer.sessions, 0u);
}

}  // namespace
}  // namespace stdgate::test
