// A WebSocket while the core takes no messages: what it still handles, what it keeps, and how much.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/websocket/client_frames.h"
#include "tests/unit/websocket/websocket_world.h"

namespace stdgate::test {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMaxKept = websocket::WebSocketConnection::kMaxKept;

std::string cancel(std::string_view id) {
  return R"({"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":)" + std::string(id) + "}}";
}

std::string note(std::string_view text) {
  return R"({"jsonrpc":"2.0","method":"note","params":[")" + std::string(text) + "\"]}";
}

WorldOptions small_queue(config::Isolation isolation) {
  WorldOptions options;
  options.isolation = isolation;
  options.pool.queue = 2;
  if (isolation == config::Isolation::shared) options.pool.min = options.pool.max = 1;
  return options;
}

// A client with call 1 in flight and call 2 in the queue, which is half full with that.
struct PausedClient {
  explicit PausedClient(const WorldOptions& options) : world(options), client(world) {
    client.send(call("1", "hold", "[]"));
    world.until([this] { return !world.launcher.children.empty() && child().calls == 1; });
    child().set_unsent(pool::ChildLink::kHighWatermark);
    client.send(call("2", "echo", "[2]"));
    world.until([this] { return queued() == 1; });
  }
  ScriptedChild& child() { return *world.launcher.children.front(); }
  size_t queued() { return world.backends.all()[0]->status().queued; }
  // Waits until the server has read what was sent so far.
  void let_be_read() { run_for(world.loop, milliseconds(20)); }
  void go_on() { child().set_unsent(0); }
  void expect_result(const std::string& id, const std::string& value) {
    EXPECT_EQ(client.message(), result(id, value));
  }

  WebSocketWorld world;
  WebSocketClient client;
};

class WebSocketPaused : public testing::TestWithParam<config::Isolation> {
 protected:
  PausedClient paused_{small_queue(GetParam())};
  WebSocketWorld& world_ = paused_.world;
  WebSocketClient& client_ = paused_.client;
};

INSTANTIATE_TEST_SUITE_P(Isolations, WebSocketPaused,
                         testing::Values(config::Isolation::shared, config::Isolation::session),
                         [](const auto& param) {
                           return param.param == config::Isolation::shared ? "Shared" : "Session";
                         });

// --- Messages that are handled -------------------------------------------------------------------

TEST_P(WebSocketPaused, TakesAnAnswer) {
  client_.send(call("3", "echo", "[3]"));  // comes before the answer
  paused_.child().say(R"({"jsonrpc":"2.0","id":"q","method":"ask"})");
  const std::string question = client_.message();
  const size_t at = question.find(R"("id":)") + 5;
  const std::string id = question.substr(at, question.find(',', at) - at);
  client_.send(result(id, "42"));
  EXPECT_TRUE(world_.until([&] { return paused_.child().answers.size() == 1; }));
  EXPECT_EQ(paused_.child().answers, std::vector<std::string>{result("\"q\"", "42")});
  EXPECT_EQ(paused_.child().calls, 1u) << "the requests wait";
}

TEST_P(WebSocketPaused, TakesTheAnswersOfABatchAndKeepsTheRest) {
  paused_.child().say(R"({"jsonrpc":"2.0","id":"q","method":"ask"})");
  const std::string question = client_.message();
  const size_t at = question.find(R"("id":)") + 5;
  const std::string id = question.substr(at, question.find(',', at) - at);
  client_.send("[" + call("3", "echo", "[3]") + "," + result(id, "42") + "," +
               call("4", "echo", "[4]") + "]");
  EXPECT_TRUE(world_.until([&] { return paused_.child().answers.size() == 1; }));
  paused_.go_on();
  paused_.expect_result("2", "[2]");
  EXPECT_EQ(client_.message(), "[" + result("3", "[3]") + "," + result("4", "[4]") + "]");
  EXPECT_EQ(paused_.child().answers.size(), 1u);
  EXPECT_TRUE(world_.observer.dropped.empty());
}

TEST_P(WebSocketPaused, TakesTheCancelOfACallUnderWay) {
  client_.send(call("3", "echo", "[3]"));
  client_.send(cancel("1"));
  EXPECT_TRUE(world_.until([&] { return paused_.child().notifications.size() == 1; }));
  EXPECT_NE(paused_.child().notifications[0].find("$/cancelRequest"), std::string::npos);
}

TEST_P(WebSocketPaused, TheCancelOfARequestThatWaitsComesBehindIt) {
  client_.send(call("3", "hold", "[3]"));
  client_.send(cancel("3"));
  paused_.let_be_read();
  EXPECT_TRUE(paused_.child().notifications.empty());
  paused_.go_on();
  paused_.expect_result("2", "[2]");
  EXPECT_TRUE(world_.until([&] { return paused_.child().notifications.size() == 1; }));
  EXPECT_EQ(paused_.child().held.size(), 2u);
  EXPECT_TRUE(world_.observer.dropped.empty());
}

TEST_P(WebSocketPaused, AnswersAPing) {
  client_.send(call("3", "echo", "[3]"));
  client_.ping("here");
  EXPECT_TRUE(client_.wait_pongs(1));
  EXPECT_EQ(paused_.child().calls, 1u);
}

TEST_P(WebSocketPaused, RefusesWhatIsNoMessage) {
  client_.send("nonsense");
  EXPECT_NE(client_.message().find("-32700"), std::string::npos);
}

// --- Messages that are kept ----------------------------------------------------------------------

TEST_P(WebSocketPaused, KeepsRequestsInTheirOrder) {
  const std::string last = "[" + call("5", "echo", "[5]") + "]";
  client_.send(call("3", "echo", "[3]"));
  client_.send(note("a"));
  client_.send(call("4", "echo", "[4]"));
  client_.wire().send(client_frame(websocket::Opcode::text, last.substr(0, 9), false));
  paused_.let_be_read();
  client_.wire().send(client_frame(websocket::Opcode::continuation, last.substr(9)));
  paused_.let_be_read();
  EXPECT_EQ(paused_.child().calls, 1u);
  EXPECT_EQ(paused_.queued(), 1u);
  paused_.go_on();
  paused_.expect_result("2", "[2]");
  paused_.expect_result("3", "[3]");
  paused_.expect_result("4", "[4]");
  EXPECT_EQ(client_.message(), "[" + result("5", "[5]") + "]");
  EXPECT_EQ(paused_.child().notifications, std::vector<std::string>{note("a")});
  EXPECT_EQ(world_.in_transit(), 0u);
}

TEST_P(WebSocketPaused, ReadsNoMoreThanTheBound) {
  const size_t before = world_.observer.bytes_in;
  const std::string params = "[\"" + std::string(1000, 'x') + "\"]";
  constexpr size_t kCalls = 20'000;
  std::string all;
  for (size_t id = 3; id < 3 + kCalls; ++id) {
    all += client_frame(call(std::to_string(id), "echo", params));
  }
  client_.wire().send(all);
  run_for(world_.loop, milliseconds(50));
  const size_t read = world_.observer.bytes_in - before;
  EXPECT_GT(read, kMaxKept);
  EXPECT_LE(read, kMaxKept + net::ByteStream::kReadShare);
  EXPECT_GE(world_.in_transit(), kMaxKept) << "they are accounted for";
  EXPECT_LE(world_.in_transit(), 2 * (kMaxKept + net::ByteStream::kReadShare));
  paused_.go_on();
  paused_.expect_result("2", "[2]");
  for (size_t id = 3; id < 3 + kCalls; ++id) {
    ASSERT_EQ(client_.message(), result(std::to_string(id), params));
  }
  EXPECT_EQ(world_.in_transit(), 0u);
}

TEST_P(WebSocketPaused, KeepsOneLargeMessage) {
  const std::string params = "[\"" + std::string(8 * kMaxKept, 'x') + "\"]";
  client_.send(call("3", "echo", params));
  client_.send(call("4", "echo", "[4]"));
  paused_.let_be_read();
  paused_.go_on();
  paused_.expect_result("2", "[2]");
  paused_.expect_result("3", params);
  paused_.expect_result("4", "[4]");
}

TEST(WebSocketPause, IsNotReadOnWhenMemoryIsUsedUp) {
  WorldOptions options = small_queue(config::Isolation::shared);
  options.limits.buffered = 3000;
  PausedClient paused(options);
  for (size_t id = 3; id < 10; ++id) {
    paused.client.send(call(std::to_string(id), "echo", "[\"" + std::string(400, 'x') + "\"]"));
    paused.let_be_read();
  }
  EXPECT_GT(paused.world.in_transit(), 1000u);
  EXPECT_LT(paused.world.in_transit(), 4000u);
  paused.go_on();
  paused.expect_result("2", "[2]");
  for (size_t id = 3; id < 10; ++id) {
    paused.expect_result(std::to_string(id), "[\"" + std::string(400, 'x') + "\"]");
  }
}

// --- Leaving -------------------------------------------------------------------------------------

TEST_P(WebSocketPaused, NoticesThatItsClientHasGone) {
  client_.send(call("3", "echo", "[3]"));
  client_.send(note("last words"));
  paused_.let_be_read();
  client_.wire().leave();
  EXPECT_TRUE(world_.until([&] { return world_.observer.sessions == 0; }));
  EXPECT_EQ(world_.observer.outcomes, std::vector<std::string>(3, "cancelled"));
  EXPECT_TRUE(world_.until([&] { return world_.server->connections() == 0; }));
}

TEST_P(WebSocketPaused, AnswersACloseFrame) {
  client_.close(1000, "bye");
  EXPECT_EQ(client_.close_code(), 1000);
  EXPECT_EQ(world_.observer.sessions, 0u);
}

// The end of the input comes after the unread bytes, so these must fit into the kernel's buffer.
TEST_P(WebSocketPaused, NoticesBeyondTheBoundToo) {
  const std::string fill = call("3", "echo", "[\"" + std::string(1000, 'x') + "\"]");
  std::string piece;
  while (piece.size() < 8'000) piece += client_frame(fill);
  const size_t before = world_.observer.bytes_in;
  size_t sent = 0;
  do {
    client_.wire().send(piece);
    sent += piece.size();
    paused_.let_be_read();
  } while (sent < 4 * kMaxKept && world_.observer.bytes_in - before >= sent);
  ASSERT_LT(world_.observer.bytes_in - before, sent) << "reading does not pause";
  EXPECT_GE(world_.observer.bytes_in - before, kMaxKept);
  client_.wire().leave();
  const TimePoint start = world_.loop.now();
  EXPECT_TRUE(world_.until([&] { return world_.observer.sessions == 0; }));
  // The time is far below the time for pings, which would also notice the end.
  EXPECT_LE(world_.loop.now() - start, 8 * websocket::WebSocketConnection::kLookTime);
}

// The child has stopped reading, and notifications without a deadline fill the queue. A kept call
// times out like any other call, and the child is given up for it.
TEST(WebSocketPause, KeptCallsTimeOut) {
  for (const auto isolation : {config::Isolation::shared, config::Isolation::session}) {
    WorldOptions options = small_queue(isolation);
    options.timeout = milliseconds(50);
    WebSocketWorld world(options);
    WebSocketClient client(world);
    EXPECT_EQ(client.ask(call("1", "echo", "[1]")), result("1", "[1]"));
    world.launcher.children.front()->set_unsent(pool::ChildLink::kHighWatermark);
    client.send(note("in the queue"));
    ASSERT_TRUE(world.until([&] { return world.backends.all()[0]->status().queued == 1; }));
    for (int late = 0; late < 3; ++late) {
      client.send(call("3", "echo", "[3]"));
      EXPECT_THAT(client.message(), testing::HasSubstr("stdgate gave up"));
    }
    if (isolation == config::Isolation::shared) {
      EXPECT_TRUE(world.until([&] { return world.launcher.children.size() > 1; }));
    } else {
      EXPECT_EQ(client.close_code(), 1011) << "a session ends with its child";
    }
  }
}

TEST(WebSocketPause, WhatAClientLeavesBehindIsToldToASharedChild) {
  PausedClient paused(small_queue(config::Isolation::shared));
  WebSocketClient other(paused.world);
  paused.client.send(note("last words"));
  paused.client.close(1000);
  EXPECT_EQ(paused.client.close_code(), 1000);
  paused.go_on();
  EXPECT_EQ(other.ask(call("9", "echo", "[9]")), result("9", "[9]"));
  const auto& notes = paused.child().notifications;
  EXPECT_EQ(std::count(notes.begin(), notes.end(), note("last words")), 1);
}

TEST(WebSocketPause, BlocksNobodyElse) {
  PausedClient paused(small_queue(config::Isolation::shared));
  WebSocketClient other(paused.world);
  paused.client.send(call("3", "echo", "[3]"));
  paused.let_be_read();
  paused.client.wire().leave();
  EXPECT_TRUE(paused.world.until([&] { return paused.queued() == 0; }));
  paused.go_on();
  EXPECT_EQ(other.ask(call("9", "echo", "[9]")), result("9", "[9]"));
}

TEST_P(WebSocketPaused, KeptRequestsAreAnsweredBeforeADrainedConnectionCloses) {
  client_.send(call("3", "echo", "[3]"));
  paused_.let_be_read();
  world_.server->drain([] {});
  paused_.go_on();
  paused_.expect_result("2", "[2]");
  paused_.expect_result("3", "[3]");
  paused_.child().answer_held("1");
  paused_.expect_result("1", "1");
  EXPECT_EQ(client_.close_code(), 1001);
}

}  // namespace
}  // namespace stdgate::test
