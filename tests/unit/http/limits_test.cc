// Each limit at its value, and one beyond it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/http/http_world.h"

namespace stdgate::test {
namespace {

using testing::AllOf;
using testing::Contains;
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
    // The length alone decides. The client can still read the answer while it is sending.
    TestClient client(world);
    const std::string request = post(call_of_size(501));
    client.send(request.substr(0, request.size() - 501));
    const Answer answer = client.answer();
    EXPECT_EQ(answer.status, 413);
    EXPECT_EQ(answer.field("Connection"), "close");
    EXPECT_THAT(answer.body, HasSubstr(R"("id":null,"error":{"code":-32007)"));
    EXPECT_THAT(answer.body, HasSubstr("larger than limits.message"));
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
            "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
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
  EXPECT_LE(world.observer.bytes_in,
            http::Http1Connection::kLingerBytes + 2 * net::Loop::kReadBufferSize);
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
  EXPECT_EQ(ask(http::RequestHead::kMaxTarget), 404);
  EXPECT_EQ(ask(http::RequestHead::kMaxTarget + 1), 414);
}

void expect_turned_away(TestClient& client, int status) {
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, status);
  EXPECT_EQ(answer.field("Retry-After"), "1");
  EXPECT_EQ(answer.field("Connection"), "close");
  EXPECT_TRUE(client.wait_closed());
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
  expect_turned_away(third, 503);
  third.leave();
  first.leave();
  ASSERT_TRUE(world.until([&] { return world.server->connections() == 1; }));
  TestClient fourth(world);
  EXPECT_EQ(fourth.ask(get("/")).status, 200);
}

TEST(Limits, BufferedBodies) {
  WorldOptions options;
  options.limits.buffered = 85'000;
  HttpWorld world(options);
  const std::string request = post(call_of_size(40'000));
  const std::string head = request.substr(0, request.size() - 40'000);
  const std::string body = request.substr(head.size());
  TestClient first(world);
  TestClient second(world);
  first.send(head + body.substr(0, 30'000));
  second.send(head + body.substr(0, 30'000));
  ASSERT_TRUE(world.until([&] { return world.observer.bytes_in == 2 * (head.size() + 30'000); }));
  // The storage is charged, and not only the received bytes.
  EXPECT_GE(world.in_transit(), 60'000U);
  EXPECT_TRUE(second.received.empty());
  TestClient over(world);
  over.send(head + body.substr(0, 30'000));
  const Answer answer = over.answer();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.field("Retry-After"), "1");
  EXPECT_EQ(answer.field("Connection"), "close");
  EXPECT_THAT(answer.body, HasSubstr("-32005"));
  EXPECT_THAT(answer.body, HasSubstr("limits.buffered_per_client"));
  // The other clients are not affected, and their memory is free again afterwards.
  EXPECT_EQ(first.ask(body.substr(30'000)).status, 200);
  EXPECT_EQ(second.ask(body.substr(30'000)).status, 200);
  TestClient third(world);
  third.send(head + body.substr(0, 30'000));
  run_for(world.loop, std::chrono::milliseconds(5));
  EXPECT_EQ(third.ask(body.substr(30'000)).status, 200);
}

TEST(Limits, AnAnnouncedLengthIsNotHeldBeforeItComes) {
  HttpWorld world;
  const std::string request = post(std::string(1 << 20, ' '));
  TestClient client(world);
  client.send(request.substr(0, request.size() - (1 << 20) + 100));
  ASSERT_TRUE(world.until([&] { return world.in_transit() > 0; }));
  EXPECT_LE(world.in_transit(), StoragePool::kSmall);
  client.leave();
  EXPECT_TRUE(world.until([&] { return world.in_transit() == 0; }));
}

TEST(Limits, ConnectionsOfOneAddress) {
  WorldOptions options;
  options.limits.connections_per_address = 2;
  options.limits.unlimited_addresses.clear();
  HttpWorld world(options);
  TestClient first(world);
  TestClient second(world);
  EXPECT_EQ(first.ask(get("/")).status, 200);
  EXPECT_EQ(second.ask(get("/")).status, 200);
  TestClient third(world);
  expect_turned_away(third, 429);
  TestClient other(world, true, "127.0.0.2");
  EXPECT_EQ(other.ask(get("/")).status, 200);
  third.leave();
  first.leave();
  ASSERT_TRUE(world.until([&] { return world.server->connections() == 2; }));
  TestClient fourth(world);
  EXPECT_EQ(fourth.ask(get("/")).status, 200);
  EXPECT_THAT(world.log.lines,
              Contains(AllOf(HasSubstr("connection refused"), HasSubstr("client=127.0.0.1"))));
}

TEST(Limits, LoopbackIsNotCountedUnlessItIsSaid) {
  WorldOptions options;
  options.limits.connections_per_address = 1;
  HttpWorld world(options);
  TestClient first(world);
  TestClient second(world);
  EXPECT_EQ(first.ask(get("/")).status, 200);
  EXPECT_EQ(second.ask(get("/")).status, 200);
}

TEST(Limits, AUnixSocketHasNoAddress) {
  WorldOptions options;
  options.limits.connections_per_address = 1;
  options.limits.unlimited_addresses.clear();
  options.address.kind = Address::Kind::unix_socket;
  options.address.path = testing::TempDir() + "bounds." + std::to_string(getpid()) + ".sock";
  HttpWorld world(options);
  TestClient first(world);
  TestClient second(world);
  EXPECT_EQ(first.ask(get("/")).status, 200);
  EXPECT_EQ(second.ask(get("/")).status, 200);
}

// Refused connections receive an answer, as long as this takes no place from other connections.
TEST(Limits, WhoIsTurnedAwayTakesNoPlace) {
  WorldOptions options;
  options.limits.connections = 3;
  options.limits.connections_per_address = 1;
  options.limits.unlimited_addresses.clear();
  HttpWorld world(options);
  TestClient first(world);
  EXPECT_EQ(first.ask(get("/")).status, 200);
  std::vector<std::unique_ptr<TestClient>> refused;
  for (int i = 0; i < 100; ++i) refused.push_back(std::make_unique<TestClient>(world));
  size_t told = 0;
  for (auto& client : refused) told += client->answer().status == 429 ? 1 : 0;
  EXPECT_EQ(told, 64U);
  TestClient other(world, true, "127.0.0.2");
  EXPECT_EQ(other.ask(get("/")).status, 200);
}

TEST(Limits, WhatABatchCollectsIsCounted) {
  WorldOptions options;
  options.limits.buffered = 1 << 20;
  HttpWorld world(options);
  const auto ask = [](TestClient& client, size_t size) {
    const std::string big = call("1", "big", R"({"size":)" + std::to_string(size) + "}");
    client.send(post("[" + call("2", "hold", "[]") + "," + big + "]"));
  };
  TestClient first(world);
  ask(first, 600'000);
  ASSERT_TRUE(world.until([&] { return world.in_transit() > 600'000; }));
  TestClient second(world);
  ask(second, 600'000);
  ASSERT_TRUE(world.until([&] { return world.in_transit() > 1 << 20; }));
  TestClient third(world);
  ask(third, 10);
  EXPECT_THAT(third.answer().body, AllOf(HasSubstr("-32005"), HasSubstr("limits.buffered")));
  world.child().answer_held("true");
  EXPECT_EQ(first.answer().status, 200);
  world.child().answer_held("true");
  EXPECT_EQ(second.answer().status, 200);
  EXPECT_TRUE(world.until([&] { return world.in_transit() == 0; }));
}

constexpr size_t kBig = 12'000'000;  // the gateway holds what the kernel does not take

std::string big_call() { return post(call("1", "big", R"({"size":12000000})")); }

TEST(Limits, AnswersThatAreNotTakenAreCountedAndTheStillestGo) {
  WorldOptions options;
  options.limits.buffered = 32 << 20;
  HttpWorld world(options);
  std::vector<std::unique_ptr<TestClient>> still;
  for (int i = 0; i < 8; ++i) {
    still.push_back(std::make_unique<TestClient>(world, false));
    const size_t answered = world.observer.outcomes.size();
    still.back()->send(big_call());
    ASSERT_TRUE(world.until([&] { return world.observer.outcomes.size() > answered; }));
    run_for(world.loop, std::chrono::milliseconds(20));
    EXPECT_LE(world.in_transit(), *options.limits.buffered);
  }
  EXPECT_GT(world.observer.closed, 0U);
  EXPECT_GT(world.server->connections(), 0U);  // no more are closed than necessary
  EXPECT_THAT(world.log.lines, Contains(HasSubstr("limits.buffered is used up")));
  // A client that reads always gets its answer, and there is always room for bodies.
  TestClient healthy(world);
  EXPECT_EQ(healthy.ask(big_call()).body.size(), kBig + result("1", "\"\"").size());
  EXPECT_EQ(healthy.ask(post(call_of_size(300'000))).status, 200);
  still.clear();
  EXPECT_TRUE(world.until([&] { return world.in_transit() == 0; }));
}

// Stands for memory that can be given up, for example memory of parked sessions. Notes the number
// of closed connections when the memory is given up.
class FakeRelief final : public policy::Relief {
 public:
  FakeRelief(HttpWorld& world, size_t bytes) : world_(world) {
    const AccountRef account = world.accounts.of({nullptr, *ClientAddress::parse("127.0.0.1")});
    kept_ = Share({account.get(), &world.accounts.unrouted()}, Holding::replay);
    kept_.set(bytes);
    world.server->services().relief = this;
  }
  void relieve_now() override {
    if (kept_.bytes() == 0) return;
    closed_before = world_.observer.closed;
    kept_.set(0);
  }

  std::optional<size_t> closed_before;

 private:
  HttpWorld& world_;
  Share kept_;
};

// The memory is given up in the same turn, not in the next turn.
TEST(Limits, WhatNobodyWaitsForGoesBeforeAConnectionDoes) {
  WorldOptions options;
  options.limits.buffered = options.limits.buffered_per_client = 40 << 20;
  for (const bool is_there : {false, true}) {
    HttpWorld world(options);
    FakeRelief relief(world, (40 << 20) - 100'000);
    if (!is_there) world.server->services().relief = nullptr;
    TestClient client(world, false);
    client.send(big_call());
    ASSERT_TRUE(world.until([&] { return !world.observer.outcomes.empty(); }));
    run_for(world.loop, std::chrono::milliseconds(20));
    EXPECT_EQ(world.observer.closed, is_there ? 0U : 1U);
    EXPECT_EQ(relief.closed_before, is_there ? std::optional<size_t>(0) : std::nullopt);
  }
}

TEST(Limits, WhatNobodyWaitsForGoesBeforeABodyIsRefused) {
  WorldOptions options;
  options.limits.buffered = options.limits.buffered_per_client = 40 << 20;
  options.limits.message = 8 << 20;
  for (const bool is_there : {false, true}) {
    HttpWorld world(options);
    const FakeRelief relief(world, (40 << 20) - 100'000);
    if (!is_there) world.server->services().relief = nullptr;
    TestClient client(world);
    EXPECT_EQ(client.ask(post(call_of_size(3'000'000))).status, is_there ? 200 : 503);
  }
}

TEST(Limits, WhoTakesGoesOnWhereOthersAreStill) {
  WorldOptions options;
  options.limits.buffered = 40 << 20;  // room for three answers, whatever the kernel takes
  options.limits.buffered_per_client = 40 << 20;
  HttpWorld world(options);
  std::vector<std::unique_ptr<TestClient>> clients;
  const auto ask = [&] {
    const size_t answered = world.observer.outcomes.size();
    clients.push_back(std::make_unique<TestClient>(world, false));
    clients.back()->send(big_call());
    ASSERT_TRUE(world.until([&] { return world.observer.outcomes.size() > answered; }));
  };
  for (int i = 0; i < 3; ++i) ask();
  TestClient& slow = *clients[0];
  Timer sip(world.loop.timers(), [&] {
    slow.read_once();
    sip.arm(world.loop.now() + std::chrono::milliseconds(15));
  });
  sip.arm(world.loop.now());
  run_for(world.loop, std::chrono::milliseconds(1100));
  for (int i = 0; i < 8 && world.observer.closed == 0; ++i) {
    ask();
    run_for(world.loop, std::chrono::milliseconds(5));
  }
  // The two clients that had not read for a second were closed, and that was enough.
  EXPECT_GT(world.observer.closed, 0U);
  EXPECT_LE(world.observer.closed, 2U);
  sip.disarm();
  slow.read();
  EXPECT_FALSE(slow.ended);
}

}  // namespace
}  // namespace stdgate::test
