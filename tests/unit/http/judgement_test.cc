// A judgement is reused for the same head, and for nothing else.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/http/codec_double.h"
#include "tests/unit/http/http_world.h"

namespace stdgate::test {
namespace {

constexpr const char* kPage = "Origin: http://localhost:3000\r\n";
constexpr const char* kJudgedPage = "Origin: https://evil.example\r\n";
constexpr const char* kJudgedOrigin = "Access-Control-Allow-Origin";

TEST(Judgement, IsTheSameForTheSameHead) {
  HttpWorld world;
  TestClient client(world);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.ask(get("/", kPage)).field(kJudgedOrigin), "http://localhost:3000");
    EXPECT_EQ(client.ask(get("/nowhere", kPage)).status, 404);
    EXPECT_EQ(client.ask(get("/nowhere", kPage)).status, 404);
    EXPECT_EQ(client.ask(get("/")).field(kJudgedOrigin), "");
    EXPECT_EQ(client.ask(get("/")).status, 200);
  }
}

TEST(Judgement, OfWhatIsRefusedIsMadeAnew) {
  HttpWorld world;
  TestClient client(world);
  client.send(get("/nowhere", kPage) + get("/nowhere", kPage));
  client.half_close();
  client.wait_closed();
  size_t count = 0;
  for (size_t at = client.received.find(kJudgedOrigin); at != std::string::npos;
       at = client.received.find(kJudgedOrigin, at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 2U) << client.received;
}

// A page that a Unix socket serves is refused on the loopback interface.
TEST(Judgement, IsAnothersOnAnotherListener) {
  HttpWorld world;
  const Address loopback = world.address;
  const std::string path = testing::TempDir() + "stdgate_judgement_" + std::to_string(::getpid());
  const auto bound = world.server->listen(*Address::parse("unix:" + path));
  ASSERT_TRUE(bound) << bound.error();
  const std::string request = post("[]", kJudgedPage);
  for (int i = 0; i < 3; ++i) {
    world.address = *bound;
    EXPECT_EQ(TestClient(world).ask(request).status, 400) << "an empty batch";
    world.address = loopback;
    EXPECT_EQ(TestClient(world).ask(request).status, 403);
  }
}

TEST(Judgement, EndsWithAnotherHead) {
  HttpWorld world;
  TestClient page(world);
  EXPECT_EQ(page.ask(get("/", kPage)).field(kJudgedOrigin), "http://localhost:3000");
  const Answer refused = TestClient(world).ask("GET / HTTP/1.1\r\nBad line\r\n\r\n");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.field(kJudgedOrigin), "");
}

// The answer to HEAD has no body, and the next answer has one.
TEST(Judgement, EndsWithAnotherMethod) {
  HttpWorld world;
  EXPECT_EQ(TestClient(world).ask("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n", true).status, 200);
  EXPECT_NE(TestClient(world).ask("GET / HTTP/1.1\r\nBad line\r\n\r\n").body, "");
}

TEST(Judgement, IsNotOfWhoIsTurnedAway) {
  WorldOptions options;
  options.limits.connections = 1;
  HttpWorld world(options);
  TestClient page(world);
  EXPECT_EQ(page.ask(get("/", kPage)).field(kJudgedOrigin), "http://localhost:3000");
  const Answer turned_away = TestClient(world).answer();
  EXPECT_EQ(turned_away.status, 503);
  EXPECT_EQ(turned_away.field(kJudgedOrigin), "");
}

// A peer with the address `client`, whose connection came from the network or from this machine.
http::Peer peer_at(std::string_view client, http::ConnectionTraits::Reach reach) {
  http::Peer peer;
  peer.client = *ClientAddress::parse(client);
  peer.traits.reach = reach;
  return peer;
}

TEST(Judgement, HoldsForTheNextConnectionAndNotForItsClient) {
  using Reach = http::ConnectionTraits::Reach;
  HttpWorld world;
  CodecDouble first(*world.server, peer_at("127.0.0.1", Reach::loopback));
  CodecDouble second(*world.server, peer_at("127.0.0.2", Reach::loopback));
  CodecDouble far(*world.server, peer_at("192.0.2.1", Reach::network));
  http::Exchange& exchange = first.exchange;
  ASSERT_TRUE(first.admit("GET", "/", {{"origin", "http://localhost:3000"}}));
  const auto go_on_at = [&exchange](CodecDouble& codec) {
    exchange.rest();
    exchange.leave();
    exchange.serve_for(codec);
    exchange.begin();
  };
  go_on_at(second);
  EXPECT_TRUE(exchange.admitted);
  exchange.identity.principal = std::make_shared<const policy::Principal>();
  ASSERT_TRUE(exchange.admit());
  EXPECT_EQ(exchange.client().to_string(), "127.0.0.2");
  exchange.identity_revision = 1;  // valid as long as this client repeats its head
  go_on_at(far);
  EXPECT_EQ(exchange.identity.principal, nullptr);
  exchange.cors_fields = "of the former connection";
  static_cast<void>(exchange.admit());
  EXPECT_EQ(exchange.client().to_string(), "192.0.2.1");
  EXPECT_NE(exchange.cors_fields, "of the former connection");
}

TEST(SpareExchanges, ForgetAHeadWithCredentials) {
  HttpWorld world;
  CodecDouble codec(*world.server);
  http::SpareExchanges spares;
  for (const bool has_credentials : {false, true}) {
    std::string head = get("/", has_credentials ? "Authorization: Bearer secret\r\n" : "");
    auto used = spares.take(*world.server, codec);
    used->exchange.begin();
    used->request.start_head();
    ASSERT_EQ(used->request.read_head(head).outcome, http::Http1Request::Outcome::complete);
    ASSERT_TRUE(used->exchange.admit());
    used->exchange.rest();
    spares.give(std::move(used));
    const auto next = spares.take(*world.server, codec);
    EXPECT_EQ(next->exchange.admitted, !has_credentials);
    EXPECT_EQ(next->request.head().block(), has_credentials ? "" : head);
  }
}

TEST(SpareExchanges, SoManyAreKept) {
  HttpWorld world;
  CodecDouble codec(*world.server);
  http::SpareExchanges spares;
  std::vector<std::unique_ptr<http::Http1Exchange>> used;
  std::vector<const http::Http1Exchange*> kept;
  for (size_t i = 0; i <= http::SpareExchanges::kMax; ++i) {
    used.push_back(spares.take(*world.server, codec));
    if (i < http::SpareExchanges::kMax) kept.push_back(used.back().get());
  }
  for (auto& one : used) spares.give(std::move(one));
  EXPECT_EQ(spares.size(), http::SpareExchanges::kMax);
  used.clear();
  for (; !kept.empty(); kept.pop_back()) {
    used.push_back(spares.take(*world.server, codec));
    EXPECT_EQ(used.back().get(), kept.back());
  }
  EXPECT_EQ(spares.size(), 0U);
}

TEST(SpareExchanges, AreNoCallers) {
  HttpWorld world;
  for (int i = 0; i < 3; ++i) {
    TestClient client(world);
    EXPECT_EQ(client.ask(post(call("1", "echo", "[1]"))).body, result("1", "[1]"));
    EXPECT_EQ(world.callers.size(), 1U);
    client.leave();
    EXPECT_TRUE(world.until([&world] { return world.callers.size() == 0; }));
    EXPECT_EQ(world.server->spare_exchanges()->size(), 1U);
  }
}

}  // namespace
}  // namespace stdgate::test
