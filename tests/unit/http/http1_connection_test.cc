// The life of a connection: keep-alive, pipelining, delivery in pieces, HEAD, 100-continue, drain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/http/http_world.h"

namespace stdgate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Connection, ByteByByte) {
  HttpWorld world;
  TestClient client(world);
  for (const std::string& request :
       {post(call("1", "echo", "[1]")), "\r\n" + post(call("2", "echo", "[2]")),
        std::string("POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n"
                    "12\r\n{\"jsonrpc\":\"2.0\",\"\r\n16;x=y\r\nid\":3,\"method\":\"echo\"}\r\n"
                    "0\r\nTrailer: dropped\r\n\r\n")}) {
    for (const char byte : request) {
      client.send({&byte, 1});
      world.loop.run_once();
    }
    EXPECT_EQ(client.answer().status, 200) << request;
  }
  EXPECT_EQ(client.received, "");
  EXPECT_EQ(world.child().calls, 3u);
}

TEST(Connection, SplitAtEveryPosition) {
  HttpWorld world;
  TestClient client(world);
  const std::string request = post(call("1", "echo", "[1]")) + get("/");
  for (size_t cut = 1; cut < request.size(); ++cut) {
    client.send(request.substr(0, cut));
    const size_t before = world.observer.bytes_in;
    ASSERT_TRUE(world.until([&] { return world.observer.bytes_in >= before + cut; }));
    client.send(request.substr(cut));
    ASSERT_EQ(client.answer().body, result("1", "[1]")) << cut;
    ASSERT_EQ(client.answer().status, 200) << cut;
  }
}

// A head that equals the last head of any connection is not parsed again. A head that is only
// similar is parsed.
TEST(Connection, HeadsThatAreAlikeAreToldApart) {
  HttpWorld world;
  TestClient client(world);
  TestClient other(world);
  const std::string good = post(call("1", "echo", "[1]"));
  std::string elsewhere = good;
  elsewhere.replace(elsewhere.find("/rpc"), 4, "/rpd");
  std::string bad = good;
  bad.replace(bad.find("HTTP/1.1"), 8, "HTTP/1.7");
  bad.replace(bad.find("Host"), 4, "H st");
  for (int round = 0; round < 3; ++round) {
    client.send(good + good);
    EXPECT_EQ(client.answer().status, 200);
    EXPECT_EQ(client.answer().body, result("1", "[1]"));
    client.send("\r\n" + good);
    EXPECT_EQ(client.answer().status, 200);
    TestClient lost(world);
    lost.send(elsewhere);
    EXPECT_EQ(lost.answer().status, 404);
    TestClient stranger(world);
    stranger.send(bad);
    EXPECT_EQ(stranger.answer().status, 400);
    other.send(good);
    EXPECT_EQ(other.answer().body, result("1", "[1]"));
  }
}

TEST(Connection, PipelinedRequestsAreAnsweredInOrder) {
  HttpWorld world;
  TestClient client(world);
  std::string requests;
  for (int i = 0; i < 50; ++i) {
    requests += i % 5 == 4 ? get("/") : post(call(std::to_string(i), "echo", "[]"));
  }
  client.send(requests);
  for (int i = 0; i < 50; ++i) {
    const Answer answer = client.answer();
    ASSERT_EQ(answer.status, 200) << i;
    if (i % 5 == 4) continue;
    EXPECT_EQ(answer.body, result(std::to_string(i), "[]"));
  }
  EXPECT_EQ(client.received, "");
  EXPECT_EQ(world.observer.opened, 1u);
}

TEST(Connection, ManyPipelinedRequestsThatAreAnsweredAtOnce) {
  HttpWorld world;
  TestClient client(world);
  std::string requests;
  for (int i = 0; i < 20000; ++i) requests += "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n";
  client.send(requests + get("/", "Connection: close\r\n"));
  ASSERT_TRUE(client.wait_closed());
  size_t answers = 0;
  for (size_t at = client.received.find("HTTP/1.1 204 "); at != std::string::npos;
       at = client.received.find("HTTP/1.1 204 ", at + 1)) {
    ++answers;
  }
  EXPECT_EQ(answers, 20000u);
  EXPECT_THAT(client.received, HasSubstr("HTTP/1.1 200 OK"));
}

TEST(Connection, PipelinedRequestsWaitWhileOneIsBusy) {
  HttpWorld world;
  TestClient client(world);
  client.send(post(call("1", "hold", "[]")) + post(call("2", "hold", "[]")));
  client.send(post(call("3", "echo", "[" + std::string(1 << 20, ' ') + "]")));
  ASSERT_TRUE(world.until([&] { return world.child().held.size() == 1; }));
  run_for(world.loop, std::chrono::milliseconds(20));
  EXPECT_EQ(world.child().calls, 1u);
  world.child().answer_held("1");
  EXPECT_EQ(client.answer().body, result("1", "1"));
  ASSERT_TRUE(world.until([&] { return world.child().held.size() == 1; }));
  world.child().answer_held("2");
  EXPECT_EQ(client.answer().body, result("2", "2"));
  EXPECT_EQ(client.answer().status, 200);
}

TEST(Connection, KeepAliveAndClose) {
  struct Case {
    std::string request;
    bool stays;
    std::string connection;
  };
  const std::vector<Case> cases = {
      {get("/"), true, ""},
      {get("/", "Connection: close\r\n"), false, "close"},
      {"GET / HTTP/1.0\r\n\r\n", false, "close"},
      {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true, "keep-alive"},
      {post(call("1", "echo", "[]"), "Connection: close\r\n"), false, "close"},
      {post("{", ""), true, ""},
      // A small body that is not needed is read and discarded.
      {post(call("1", "echo", "[]"), "", "/nothing"), true, ""},
      {get("/nothing"), true, ""},
  };
  HttpWorld world;
  for (const Case& c : cases) {
    TestClient client(world);
    const Answer answer = client.ask(c.request);
    EXPECT_EQ(answer.field("Connection"), c.connection) << c.request;
    if (c.stays) {
      EXPECT_EQ(client.ask(get("/")).status, 200) << c.request;
    } else {
      EXPECT_TRUE(client.wait_closed()) << c.request;
      EXPECT_EQ(client.error, 0) << c.request;
    }
  }
}

TEST(Connection, HeadHasTheHeadOfGetOnly) {
  HttpWorld world;
  TestClient client(world);
  const Answer got = client.ask(get("/"));
  const Answer head = client.ask("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n", true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.field("Content-Length"), got.field("Content-Length"));
  EXPECT_EQ(head.field("Content-Type"), got.field("Content-Type"));
  const Answer missing = client.ask("HEAD /x HTTP/1.1\r\nHost: localhost\r\n\r\n", true);
  EXPECT_EQ(missing.status, 404);
  // The next bytes are the next answer.
  EXPECT_EQ(client.ask(get("/")).body, got.body);
}

TEST(Connection, ContinueIsSentOnlyWhenTheBodyIsAwaited) {
  HttpWorld world;
  const std::string body = call("1", "echo", "[]");
  const std::string whole = post(body, "Expect: 100-continue\r\n");
  const std::string head = whole.substr(0, whole.size() - body.size());
  {
    TestClient client(world);
    EXPECT_EQ(client.ask(head, true).status, 100);
    EXPECT_EQ(client.ask(body).status, 200);
  }
  {
    TestClient client(world);
    EXPECT_EQ(client.ask(whole).status, 200);  // a byte of the body had already arrived
  }
  {
    TestClient client(world);
    const Answer answer = client.ask(post("", "Expect: 100-continue\r\n", "/nothing"));
    EXPECT_EQ(answer.status, 404);
  }
  {
    TestClient client(world);
    EXPECT_EQ(client.ask(post(body, "Expect: something\r\n")).status, 417);
    EXPECT_TRUE(client.wait_closed());
  }
  {
    TestClient client(world);
    const std::string refused =
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n"
        "Expect: 100-continue\r\n\r\n";
    EXPECT_EQ(client.ask(refused).status, 415);
  }
}

TEST(Connection, BytesAndConnectionsAreCounted) {
  HttpWorld world;
  {
    TestClient client(world);
    const std::string request = get("/");
    client.send(request);
    ASSERT_TRUE(world.until([&] { return !client.received.empty(); }));
    const size_t answered = client.received.size();
    EXPECT_EQ(world.server->connections(), 1u);
    client.leave();
    ASSERT_TRUE(world.until([&] { return world.observer.closed == 1; }));
    EXPECT_EQ(world.observer.bytes_in, request.size());
    EXPECT_EQ(world.observer.bytes_out, answered);
  }
  EXPECT_EQ(world.observer.opened, 1u);
  EXPECT_EQ(world.server->connections(), 0u);
}

TEST(Connection, LargeAnswerToASlowReader) {
  HttpWorld world;
  TestClient client(world, false);
  // The answer exceeds the backlog, so the second request is read only after the first answer was
  // taken.
  client.send(post(call("1", "big", R"({"size":8000000})")) + post(call("2", "echo", "[]")));
  ASSERT_TRUE(world.until([&] { return world.observer.outcomes.size() == 1; }));
  run_for(world.loop, std::chrono::milliseconds(20));
  EXPECT_EQ(world.child().calls, 1u);
  client.read();
  EXPECT_EQ(client.answer().body, result("1", '"' + std::string(8000000, 'x') + '"'));
  EXPECT_EQ(client.answer().body, result("2", "[]"));
}

TEST(Connection, UnixSocket) {
  WorldOptions options;
  options.address.kind = Address::Kind::unix_socket;
  options.address.path = testing::TempDir() + "http_" + std::to_string(::getpid()) + ".sock";
  HttpWorld world(options);
  TestClient client(world);
  // No browser reaches a Unix socket, so by default every origin may call.
  EXPECT_EQ(client.ask(post(call("1", "echo", "[]"), "Origin: https://a.example\r\n")).status, 200);
}

// Two clients with open connections. `busy` has a call under way.
struct IdleAndBusy {
  explicit IdleAndBusy(HttpWorld& world) : idle(world), busy(world) {
    EXPECT_EQ(idle.ask(get("/")).status, 200);
    busy.send(post(call("1", "hold", "[]")));
    EXPECT_TRUE(world.until([&world] { return world.child().held.size() == 1; }));
  }

  TestClient idle;
  TestClient busy;
};

TEST(Connection, DrainClosesIdleOnesAndLetsTheOthersFinish) {
  HttpWorld world;
  IdleAndBusy clients(world);
  int gone = 0;
  world.server->drain([&gone] { ++gone; });
  EXPECT_TRUE(clients.idle.wait_closed());
  EXPECT_EQ(gone, 0);
  world.child().answer_held("1");
  const Answer answer = clients.busy.answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("Connection"), "close");
  EXPECT_TRUE(clients.busy.wait_closed());
  clients.busy.leave();
  EXPECT_TRUE(world.until([&] { return gone == 1; }));
  EXPECT_EQ(world.server->connections(), 0u);
}

// Drains the server at a time when the kernel holds bytes of clients that have not been read.
class Drain final : public net::Flushable {
 public:
  explicit Drain(HttpWorld& world) : world_(world) { world_.loop.flush_later(*this); }
  ~Drain() override { world_.loop.forget(*this); }
  [[nodiscard]] int gone() const { return gone_; }

 private:
  void flush() override {
    world_.server->drain([this] { ++gone_; });
  }
  HttpWorld& world_;
  int gone_ = 0;
};

TEST(Connection, WhatHasArrivedIsAnsweredBeforeADrainCloses) {
  HttpWorld world;
  TestClient accepted(world);
  EXPECT_EQ(accepted.ask(get("/")).status, 200);
  accepted.send(post(call("1", "echo", "[]")));
  TestClient waiting(world);  // not accepted yet
  waiting.send(post(call("2", "echo", "[]")));
  const Drain drain(world);
  for (TestClient* client : {&accepted, &waiting}) {
    const Answer answer = client->answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.field("Connection"), "close");
    EXPECT_TRUE(client->wait_closed());
    client->leave();
  }
  EXPECT_TRUE(world.until([&] { return drain.gone() == 1; }));
}

TEST(Connection, OpenOnesAreServedWhenNoMoreAreAccepted) {
  HttpWorld world;
  TestClient client(world);
  EXPECT_EQ(client.ask(get("/")).status, 200);
  world.server->stop_accepting();
  const Answer answer = client.ask(post(call("1", "echo", "[]")));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("Connection"), "close");
  EXPECT_TRUE(client.wait_closed());
}

TEST(Connection, DrainOfAnEmptyServerIsAtOnce) {
  HttpWorld world;
  int gone = 0;
  world.server->drain([&gone] { ++gone; });
  EXPECT_EQ(gone, 1);
}

TEST(Connection, CloseAllCancelsCalls) {
  HttpWorld world;
  TestClient client(world);
  client.send(post(call("1", "hold", "[]")));
  ASSERT_TRUE(world.until([&] { return world.child().held.size() == 1; }));
  world.server->close_all();
  EXPECT_EQ(world.server->connections(), 0u);
  EXPECT_THAT(world.observer.outcomes, ElementsAre("cancelled"));
  EXPECT_TRUE(client.wait_closed());
}

TEST(Connection, TheLastOneOfAClosedListenerIsTold) {
  HttpWorld world;
  IdleAndBusy clients(world);
  int told = 0;
  world.server->close_listener(world.address, [&told] { ++told; });
  EXPECT_TRUE(clients.idle.wait_closed());
  EXPECT_EQ(told, 0) << "a call is under way on the other one";
  world.child().answer_held("1");
  EXPECT_EQ(clients.busy.answer().status, 200);
  EXPECT_TRUE(world.until([&] { return told == 1; }));
  EXPECT_EQ(world.server->connections(), 0u);
}

TEST(Connection, AListenerWithoutAnyHasLostTheLastAtOnce) {
  HttpWorld world;
  int told = 0;
  world.server->change_listener(world.address, {}, [&told] { ++told; });
  EXPECT_EQ(told, 1);
  TestClient client(world);
  EXPECT_EQ(client.ask(get("/")).status, 200);
  world.server->change_listener(world.address, {}, [&told] { ++told; });
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(client.wait_closed());
  EXPECT_TRUE(world.until([&] { return told == 2; }));
}

TEST(Connection, IsSmallWhenIdle) {
  EXPECT_LT(sizeof(http::Http1Connection) + sizeof(net::ByteStream), 768u);
}

}  // namespace
}  // namespace stdgate::test
