// Limits at their value and one beyond it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/http/http_world.h"

namespace stdgate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string call_of_size(size_t size) {
  const std::string empty = call("1", "echo", "[]");
  return call("1", "echo", "[" + std::string(size - empty.size(), ' ') + "]");
}

TEST(Limits, Message) {
  WorldOptions options;
  options.limits.message = 500;
  HttpWorld world(options);
  {
    TestClient client(world);
    EXPECT_EQ(client.ask(post(call_of_size(500))).status, 200);
  }
  {
    // Answered from the length alone; the client can still read it while it goes on writing.
    TestClient client(world);
    const std::string request = post(call_of_size(501));
    client.send(request.substr(0, request.size() - 501));
    const Answer answer = client.answer();
    EXPECT_EQ(answer.status, 413);
    EXPECT_EQ(answer.field("Connection"), "close");
    EXPECT_THAT(answer.body, HasSubstr(R"("id":null,"error":{"code":-32007)"));
    client.send(std::string(100000, 'x'));
    EXPECT_TRUE(client.wait_closed());
    EXPECT_EQ(client.error, 0);
  }
  EXPECT_THAT(world.observer.outcomes, ElementsAre("ok", "too_large"));
}

TEST(Limits, ChunkedMessage) {
  WorldOptions options;
  options.limits.message = 500;
  HttpWorld world(options);
  const auto ask = [&world](size_t size) {
    TestClient client(world);
    const std::string body = call_of_size(size);
    return client
        .ask(
            "POST /rpc HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            "Transfer-Encoding: chunked\r\n\r\n64\r\n" +
            body.substr(0, 100) + "\r\n" + (size == 500 ? "190\r\n" : "191\r\n") +
            body.substr(100) + "\r\n0\r\n\r\n")
        .status;
  };
  EXPECT_EQ(ask(500), 200);
  EXPECT_EQ(ask(501), 413);
}

TEST(Limits, TooMuchInputAfterTheLastAnswerIsCutOff) {
  WorldOptions options;
  options.limits.message = 500;
  HttpWorld world(options);
  TestClient client(world);
  client.send(post(std::string(3 << 20, 'x')));
  EXPECT_TRUE(world.until([&] { return world.observer.closed == 1; }));
  EXPECT_LE(world.observer.bytes_in, Connection::kLingerBytes + 2 * Loop::kReadBufferSize);
}

TEST(Limits, Headers) {
  WorldOptions options;
  options.limits.headers = 300;
  HttpWorld world(options);
  const std::string empty = get("/", "X: \r\n");
  const auto ask = [&](size_t size) {
    TestClient client(world);
    return client.ask(get("/", "X: " + std::string(size - empty.size(), 'x') + "\r\n")).status;
  };
  EXPECT_EQ(ask(300), 200);
  EXPECT_EQ(ask(301), 431);
}

TEST(Limits, Target) {
  HttpWorld world;
  const auto ask = [&world](size_t size) {
    TestClient client(world);
    return client.ask(get("/" + std::string(size - 1, 'x'))).status;
  };
  EXPECT_EQ(ask(HeadScanner::kTargetLimit), 404);
  EXPECT_EQ(ask(HeadScanner::kTargetLimit + 1), 414);
}

TEST(Limits, Connections) {
  WorldOptions options;
  options.limits.connections = 2;
  HttpWorld world(options);
  TestClient first(world);
  TestClient second(world);
  EXPECT_EQ(first.ask(get("/")).status, 200);
  EXPECT_EQ(second.ask(get("/")).status, 200);
  TestClient third(world);
  const Answer answer = third.answer();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.field("Retry-After"), "1");
  EXPECT_EQ(answer.field("Connection"), "close");
  EXPECT_TRUE(third.wait_closed());
  third.leave();
  first.leave();
  ASSERT_TRUE(world.until([&] { return world.server->connections() == 1; }));
  TestClient fourth(world);
  EXPECT_EQ(fourth.ask(get("/")).status, 200);
}

TEST(Limits, BufferedBodies) {
  WorldOptions options;
  options.limits.buffered = 1000;
  HttpWorld world(options);
  const std::string request = post(call_of_size(800));
  const std::string head = request.substr(0, request.size() - 800);
  const std::string body = request.substr(head.size());
  TestClient first(world);
  TestClient second(world);
  first.send(head + body.substr(0, 500));
  second.send(head + body.substr(0, 500));
  ASSERT_TRUE(world.until([&] { return world.observer.bytes_in == 2 * (head.size() + 500); }));
  EXPECT_TRUE(second.received.empty());
  second.send(body.substr(500, 1));
  const Answer answer = second.answer();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.field("Retry-After"), "1");
  EXPECT_EQ(answer.field("Connection"), "close");
  EXPECT_THAT(answer.body, HasSubstr("-32005"));
  // The first is not touched, and room is there again.
  EXPECT_EQ(first.ask(body.substr(500)).status, 200);
  TestClient third(world);
  third.send(head + body.substr(0, 700));
  run_for(world.loop, std::chrono::milliseconds(5));
  EXPECT_EQ(third.ask(body.substr(700)).status, 200);
}

}  // namespace
}  // namespace stdgate::test
