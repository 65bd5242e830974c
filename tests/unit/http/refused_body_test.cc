// The body of a request whose head was refused: a small body is read and discarded, and the
// connection stays open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/http/http_world.h"

namespace stdgate::test {
namespace {

// A POST that is refused for its content type.
std::string refused(size_t size, const std::string& more_fields = "") {
  return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: " +
         std::to_string(size) + "\r\n" + more_fields + "\r\n";
}

TEST(RefusedBody, WhatIsBehindItIsAnswered) {
  const std::string body = call("1", "echo", "[]");
  const std::string evil = "Origin: https://evil.example\r\n";
  struct Case {
    std::string request;
    int status;
  };
  const std::vector<Case> cases = {
      {refused(body.size()) + body, 415},
      {refused(body.size(), "Expect: 100-continue\r\n") + body, 415},
      {post(body, "", "/nothing"), 404},
      {post(body, "", "/rpc/stream"), 405},
      {post(body, evil), 403},
      {post(body, "Content-Encoding: gzip\r\n"), 415},
      // The inner request is part of the body.
      {post(post(body), evil), 403},
  };
  HttpWorld world;
  TestClient client(world);
  for (const Case& c : cases) {
    client.send(c.request + post(body));
    const Answer answer = client.answer();
    EXPECT_EQ(answer.status, c.status) << c.request;
    EXPECT_EQ(answer.field("Connection"), "") << c.request;
    EXPECT_EQ(client.answer().body, result("1", "[]")) << c.request;
  }
  EXPECT_EQ(world.child().calls, cases.size());
}

TEST(RefusedBody, InPieces) {
  HttpWorld world;
  TestClient client(world);
  EXPECT_EQ(client.ask(refused(5)).status, 415);
  for (const char c : std::string("hello")) {
    client.send(std::string_view(&c, 1));
    run_for(world.loop, std::chrono::milliseconds(1));
  }
  EXPECT_EQ(client.ask(get("/")).status, 200);
}

TEST(RefusedBody, AtTheLimit) {
  constexpr size_t kLimit = http::Http1Request::kMaxDiscard;
  HttpWorld world;
  TestClient client(world);
  client.send(refused(kLimit) + std::string(kLimit, 'x') + get("/"));
  EXPECT_EQ(client.answer().status, 415);
  EXPECT_EQ(client.answer().status, 200);
  client.send(refused(kLimit + 1) + std::string(kLimit + 1, 'x') + get("/"));
  const Answer closing = client.answer();
  EXPECT_EQ(closing.status, 415);
  EXPECT_EQ(closing.field("Connection"), "close");
  EXPECT_TRUE(client.wait_closed());
  EXPECT_EQ(client.received, "");
}

// A body beyond limits.message counts as large.
TEST(RefusedBody, ThatIsTooLargeForAMessage) {
  WorldOptions options;
  options.limits.message = 100;
  HttpWorld world(options);
  TestClient client(world);
  client.send(post(std::string(101, ' ')) + get("/"));
  EXPECT_EQ(client.answer().status, 413);
  EXPECT_TRUE(client.wait_closed());
  EXPECT_EQ(client.received, "");
}

// The end of the body is unknown, or the body may never come.
TEST(RefusedBody, ClosesWhatCannotGoOn) {
  const std::string chunked =
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::vector<std::string> requests = {
      chunked + "0\r\n\r\n",
      refused(5, "Expect: 100-continue\r\n"),
      refused(5, "Connection: close\r\n") + "hello",
      get("/", "Content-Length: 5\r\n") + "hello",
  };
  for (const std::string& request : requests) {
    HttpWorld world;
    TestClient client(world);
    client.send(request);
    EXPECT_EQ(client.answer().field("Connection"), "close") << request;
    EXPECT_TRUE(client.wait_closed()) << request;
    EXPECT_EQ(client.received, "") << request;
  }
}

TEST(RefusedBody, HasTheTimeOfABody) {
  WorldOptions options;
  options.timeouts.body = std::chrono::milliseconds(30);
  HttpWorld world(options);
  TestClient client(world);
  EXPECT_EQ(client.ask(refused(5) + "hell").status, 415);
  EXPECT_TRUE(client.wait_closed());
  EXPECT_EQ(client.received, "");
}

TEST(RefusedBody, EndOfInputInItEndsTheConnection) {
  HttpWorld world;
  TestClient client(world);
  client.send(refused(5) + "hell");
  client.half_close();
  EXPECT_EQ(client.answer().status, 415);
  EXPECT_TRUE(client.wait_closed());
  EXPECT_EQ(client.error, 0);
  EXPECT_TRUE(world.until([&] { return world.server->connections() == 0; }));
}

TEST(RefusedBody, DrainDoesNotWaitForIt) {
  HttpWorld world;
  TestClient client(world);
  EXPECT_EQ(client.ask(refused(5) + "hell").status, 415);
  int gone = 0;
  world.server->drain([&gone] { ++gone; });
  EXPECT_TRUE(client.wait_closed());
  client.leave();
  EXPECT_TRUE(world.until([&] { return gone == 1; }));
}

}  // namespace
}  // namespace stdgate::test
