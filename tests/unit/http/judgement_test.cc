// What has been judged once holds for the same head, and for nothing else.
#include <gtest/gtest.h>
#include <unistd.h>

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

// Of a HEAD request's answer there is no body; of the next one's there is.
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

}  // namespace
}  // namespace stdgate::test
