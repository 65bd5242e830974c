// Event streams: POST /rpc with Accept: text/event-stream, and GET /rpc/stream.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/http/http_world.h"

namespace stdgate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kAcceptStream = "Accept: text/event-stream\r\n";

std::string tick(int i) {
  return R"(data: {"jsonrpc":"2.0","method":"tick","params":[)" + std::to_string(i) + "]}\n\n";
}

TEST(EventStream, NotificationsThenTheResponseThenDone) {
  HttpWorld world;
  TestClient client(world);
  const Answer answer = client.ask(post(call("\"e\"", "events", R"({"n":3})"), kAcceptStream));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("Content-Type"), "text/event-stream");
  EXPECT_EQ(answer.field("Cache-Control"), "no-store");
  EXPECT_EQ(answer.field("X-Accel-Buffering"), "no");
  EXPECT_EQ(answer.field("Transfer-Encoding"), "chunked");
  EXPECT_EQ(answer.body, tick(0) + tick(1) + tick(2) + "data: " + result("\"e\"", "\"done\"") +
                             "\n\ndata: [DONE]\n\n");
  // The connection stays usable.
  EXPECT_EQ(client.ask(post(call("2", "echo", "[]"))).body, result("2", "[]"));
}

TEST(EventStream, HeadComesBeforeTheFirstEvent) {
  HttpWorld world;
  TestClient client(world);
  client.send(post(call("1", "hold", "[]"), kAcceptStream));
  ASSERT_TRUE(world.until([&] { return client.received.ends_with("\r\n\r\n"); }));
  world.child().say(R"({"jsonrpc":"2.0","method":"tick","params":[0]})");
  ASSERT_TRUE(world.until([&] { return client.received.find("tick") != std::string::npos; }));
  world.child().answer_held("1");
  EXPECT_EQ(client.answer().body, tick(0) + "data: " + result("1", "1") + "\n\ndata: [DONE]\n\n");
}

TEST(EventStream, Http10EndsByClosing) {
  HttpWorld world;
  TestClient client(world);
  const std::string body = call("1", "events", R"({"n":1})");
  client.send(
      "POST /rpc HTTP/1.0\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n"
      "Connection: keep-alive\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  ASSERT_TRUE(client.wait_closed());
  EXPECT_THAT(client.received, HasSubstr("Connection: close\r\n\r\ndata: "));
  EXPECT_THAT(client.received, testing::EndsWith("data: [DONE]\n\n"));
}

TEST(EventStream, RefusedAtOnceIsAPlainFault) {
  WorldOptions options;
  options.pool.max = 1;
  options.pool.max_in_flight = 1;
  options.pool.queue = 1;
  HttpWorld world(options);
  TestClient client(world);
  EXPECT_EQ(client.ask(post("{", kAcceptStream)).status, 400);
  EXPECT_EQ(client.ask(post(R"({"jsonrpc":"2.0","method":"echo"})", kAcceptStream)).status, 204);
  ASSERT_TRUE(world.until([&] { return world.child().notifications.size() == 1; }));
  TestClient first(world);
  TestClient second(world);
  first.send(post(call("1", "hold", "[]")));
  ASSERT_TRUE(world.until([&] { return world.child().held.size() == 1; }));
  second.send(post(call("2", "hold", "[]")));
  ASSERT_TRUE(world.until([&] { return world.backends.default_one()->calls() == 2; }));
  const Answer answer = client.ask(post(call("3", "echo", "[]"), kAcceptStream));
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.field("Content-Type"), "application/json");
  EXPECT_EQ(answer.field("Retry-After"), "1");
}

TEST(EventStream, BatchIsAnEventEach) {
  HttpWorld world;
  TestClient client(world);
  const Answer answer = client.ask(
      post("[" + call("1", "echo", "[1]") + ",7," + call("2", "echo", "[2]") + "]", kAcceptStream));
  EXPECT_EQ(answer.field("Content-Type"), "text/event-stream");
  EXPECT_THAT(answer.body, HasSubstr("data: " + result("1", "[1]") + "\n\n"));
  EXPECT_THAT(answer.body, HasSubstr("data: " + result("2", "[2]") + "\n\n"));
  EXPECT_THAT(answer.body, HasSubstr("-32600"));
  EXPECT_THAT(answer.body, testing::EndsWith("data: [DONE]\n\n"));
}

TEST(EventStream, ClientThatLeavesCancels) {
  HttpWorld world;
  for (const bool half : {false, true}) {
    TestClient client(world);
    client.send(post(call("1", "hold", "[]"), kAcceptStream));
    const size_t before = world.child().notifications.size();
    ASSERT_TRUE(world.until([&] { return world.child().held.size() == 1; }));
    if (half) {
      client.half_close();
    } else {
      client.leave();
    }
    ASSERT_TRUE(world.until([&] { return world.child().notifications.size() == before + 1; }));
    EXPECT_THAT(world.child().notifications.back(), HasSubstr("$/cancelRequest"));
    world.child().held.clear();
  }
}

TEST(EventStream, SilenceIsFilledWithComments) {
  WorldOptions options;
  options.timeouts.keep_alive = std::chrono::milliseconds(20);
  HttpWorld world(options);
  TestClient client(world);
  client.send(post(call("1", "hold", "[]"), kAcceptStream));
  const std::string comment = "e\r\n: keep-alive\n\n\r\n";
  ASSERT_TRUE(world.until([&] { return client.received.ends_with(comment + comment); }));
  world.child().answer_held("1");
  EXPECT_THAT(client.answer().body, HasSubstr(": keep-alive\n\n"));
}

TEST(EventStream, OneThatReadsTooSlowlyIsDropped) {
  WorldOptions options;
  options.limits.outbox = 100000;
  HttpWorld world(options);
  TestClient client(world, false);
  client.send(post(call("1", "hold", "[]"), kAcceptStream));
  ASSERT_TRUE(world.until([&] { return world.child().held.size() == 1; }));
  const std::string event =
      R"({"jsonrpc":"2.0","method":"tick","params":[")" + std::string(50000, 'x') + "\"]}";
  for (int i = 0; i < 400 && world.observer.closed == 0; ++i) {
    world.child().say(event);
    world.loop.run_once();
  }
  EXPECT_TRUE(world.until([&] { return world.observer.closed == 1; }));
  EXPECT_THAT(world.observer.dropped, testing::Contains(DropReason::outbox_full));
  EXPECT_THAT(world.observer.outcomes, ElementsAre("cancelled"));
  EXPECT_THAT(world.child().notifications.back(), HasSubstr("$/cancelRequest"));
}

TEST(EventStream, OneLargeEventIsNotTooMuch) {
  WorldOptions options;
  options.limits.outbox = 1000;
  HttpWorld world(options);
  TestClient client(world, false);
  client.send(post(call("1", "big", R"({"size":8000000})"), kAcceptStream));
  ASSERT_TRUE(world.until([&] { return world.observer.outcomes.size() == 1; }));
  client.read();
  EXPECT_EQ(client.answer().body.size(), 8000000 + result("1", "\"\"").size() +
                                             std::string("data: \n\ndata: [DONE]\n\n").size());
}

TEST(EventStream, DrainEndsTheConnectionWithTheStream) {
  HttpWorld world;
  TestClient client(world);
  client.send(post(call("1", "hold", "[]"), kAcceptStream));
  ASSERT_TRUE(world.until([&] { return world.child().held.size() == 1; }));
  int gone = 0;
  world.server->drain([&gone] { ++gone; });
  world.child().answer_held("1");
  EXPECT_THAT(client.answer().body, HasSubstr("[DONE]"));
  EXPECT_TRUE(client.wait_closed());
  client.leave();
  EXPECT_TRUE(world.until([&] { return gone == 1; }));
}

TEST(StreamByGet, BuildsTheRequest) {
  struct Case {
    std::string query;
    std::string id;
    std::string value;
  };
  const std::vector<Case> cases = {
      {"method=echo", "1", "null"},
      {"method=echo&params=%5B1,%202%5D&id=7", "7", "[1, 2]"},
      {"method=echo&params=%7B%22a%22:%22b+c%22%7D&id=%22x%22", "\"x\"", R"({"a":"b c"})"},
      {"method=echo&id=abc", "\"abc\"", "null"},
      {"method=echo&id=12a", "\"12a\"", "null"},
      {"method=echo&id=", "\"\"", "null"},
      {"method=echo&id=null", "null", "null"},
      {"method=echo&id=1.5", "1.5", "null"},
      {"method=echo&id=1,%22x%22:2", "\"1,\\\"x\\\":2\"", "null"},
      {"method=e%63ho&params=%5B%5D", "1", "[]"},
  };
  HttpWorld world;
  TestClient client(world);
  for (const Case& c : cases) {
    const Answer answer = client.ask(get("/rpc/stream?" + c.query, kAcceptStream));
    EXPECT_EQ(answer.field("Content-Type"), "text/event-stream") << c.query;
    EXPECT_EQ(answer.body, "data: " + result(c.id, c.value) + "\n\ndata: [DONE]\n\n") << c.query;
  }
}

TEST(StreamByGet, Statuses) {
  struct Case {
    std::string request;
    int status;
  };
  const std::vector<Case> cases = {
      {get("/rpc/stream?method=echo"), 406},
      {get("/rpc/stream?method=echo", "Accept: */*\r\n"), 406},
      {get("/rpc/stream?method=echo", "Accept: application/json, text/event-stream\r\n"), 200},
      {get("/rpc/stream", kAcceptStream), 400},
      {get("/rpc/stream?method=", kAcceptStream), 400},
      {get("/rpc/stream?method=echo&params=", kAcceptStream), 400},
      {get("/rpc/stream?method=echo&params=1", kAcceptStream), 400},
      {get("/rpc/stream?method=echo&params=%5B", kAcceptStream), 400},
      {get("/rpc/stream?method=echo&params=%5B%5D,%22x%22:1", kAcceptStream), 400},
      {get("/rpc/stream?method=echo&params=%5B%5D%7D", kAcceptStream), 400},
      {get("/rpc/stream?method=echo&params=%zz", kAcceptStream), 400},
      {get("/rpc/stream?method=echo",
           std::string(kAcceptStream) + "Origin: http://evil.example\r\n"),
       403},
      {"GET /rpc/stream?method=echo HTTP/1.1\r\nHost: evil.example\r\n" +
           std::string(kAcceptStream) + "\r\n",
       403},
      {"GET /other/rpc/stream?method=echo HTTP/1.1\r\nHost: 127.0.0.1\r\n" +
           std::string(kAcceptStream) + "\r\n",
       200},
  };
  HttpWorld world;
  for (const Case& c : cases) {
    TestClient client(world);
    EXPECT_EQ(client.ask(c.request).status, c.status) << c.request;
  }
}

TEST(StreamByGet, HeadMakesNoCall) {
  HttpWorld world;
  TestClient client(world);
  const Answer answer = client.ask("HEAD /rpc/stream?method=echo HTTP/1.1\r\nHost: localhost\r\n" +
                                       std::string(kAcceptStream) + "\r\n",
                                   true);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("Content-Type"), "text/event-stream");
  EXPECT_EQ(client.ask(get("/")).status, 200);
  EXPECT_TRUE(world.observer.outcomes.empty());
}

}  // namespace
}  // namespace stdgate::test
