// Time limits, configured short; each test waits for the event.
#include <gtest/gtest.h>

#include "tests/unit/http/http_world.h"

namespace stdgate::test {
namespace {

constexpr Duration kShort = std::chrono::milliseconds(30);
// For what has to stay within its limit, also on a machine that stops for a while.
constexpr Duration kAmple = std::chrono::milliseconds(300);

TEST(Timeouts, SlowHeader) {
  WorldOptions options;
  options.timeouts.header = kShort;
  HttpWorld world(options);
  TestClient client(world);
  client.send("GET / HT");
  const TimePoint start = world.loop.now();
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, 408);
  EXPECT_EQ(answer.field("Connection"), "close");
  EXPECT_GE(world.loop.now() - start, kShort);
  EXPECT_TRUE(client.wait_closed());
}

TEST(Timeouts, DrippingDoesNotExtendTheHeader) {
  WorldOptions options;
  options.timeouts.header = kShort;
  HttpWorld world(options);
  TestClient client(world);
  client.send("GET / HTTP/1.1\r\nX: ");
  Timer drip(world.loop.timers(), [&] {
    client.send("x");
    drip.arm(world.loop.now() + std::chrono::milliseconds(2));
  });
  drip.arm(world.loop.now());
  EXPECT_EQ(client.answer().status, 408);
}

TEST(Timeouts, SilentBody) {
  WorldOptions options;
  options.timeouts.body = kShort;
  HttpWorld world(options);
  TestClient client(world);
  const std::string request = post(call("1", "echo", "[]"));
  client.send(request.substr(0, request.size() - 5));
  EXPECT_EQ(client.answer().status, 408);
  EXPECT_TRUE(client.wait_closed());
  EXPECT_TRUE(world.observer.outcomes.empty());
}

TEST(Timeouts, BodyThatKeepsComingIsInTime) {
  WorldOptions options;
  options.timeouts.body = kAmple;
  HttpWorld world(options);
  TestClient client(world);
  const std::string request = post(call("1", "echo", "[" + std::string(30, ' ') + "]"));
  size_t sent = request.size() - 30;
  client.send(request.substr(0, sent));
  const TimePoint start = world.loop.now();
  Timer drip(world.loop.timers(), [&] {
    client.send(request.substr(sent++, 1));
    if (sent < request.size()) drip.arm(world.loop.now() + kAmple / 15);
  });
  drip.arm(world.loop.now());
  EXPECT_EQ(client.answer().status, 200);
  EXPECT_GT(world.loop.now() - start, kAmple);
}

TEST(Timeouts, IdleConnectionIsClosedSilently) {
  WorldOptions options;
  options.timeouts.idle = kAmple;
  HttpWorld world(options);
  TestClient silent(world);
  TestClient served(world);
  EXPECT_EQ(served.ask(get("/")).status, 200);
  EXPECT_TRUE(silent.wait_closed());
  EXPECT_TRUE(served.wait_closed());
  EXPECT_EQ(silent.received + served.received, "");
}

TEST(Timeouts, EmptyLineBetweenRequestsIsNoRequest) {
  WorldOptions options;
  options.timeouts.header = kShort;
  HttpWorld world(options);
  TestClient client(world);
  EXPECT_EQ(client.ask(get("/") + "\r\n").status, 200);
  EXPECT_TRUE(client.wait_closed());
  EXPECT_EQ(client.received, "");
}

TEST(Timeouts, BusyConnectionIsNotIdle) {
  WorldOptions options;
  options.timeouts.idle = options.timeouts.header = options.timeouts.body = kShort;
  HttpWorld world(options);
  TestClient client(world);
  client.send(post(call("1", "hold", "[]")));
  ASSERT_TRUE(world.until([&] { return world.child().held.size() == 1; }));
  run_for(world.loop, 3 * kShort);
  world.child().answer_held("1");
  EXPECT_EQ(client.answer().status, 200);
}

TEST(Timeouts, AnswerThatIsNotTaken) {
  WorldOptions options;
  options.timeouts.body = kShort;
  HttpWorld world(options);
  TestClient client(world, false);
  client.send(post(call("1", "big", R"({"size":12000000})")));
  ASSERT_TRUE(world.until([&] { return world.observer.outcomes.size() == 1; }));
  EXPECT_TRUE(world.until([&] { return world.observer.closed == 1; }));
}

TEST(Timeouts, AnswerThatIsTakenSlowlyGoesOn) {
  WorldOptions options;
  options.timeouts.body = options.timeouts.idle = kAmple;
  HttpWorld world(options);
  TestClient client(world, false);
  client.send(post(call("1", "big", R"({"size":12000000})")));
  const TimePoint start = world.loop.now();
  Timer sip(world.loop.timers(), [&] {
    client.read_once();
    sip.arm(world.loop.now() + kAmple / 20);
  });
  sip.arm(world.loop.now());
  EXPECT_EQ(client.answer().body.size(), 12000000 + result("1", "\"\"").size());
  EXPECT_GT(world.loop.now() - start, kAmple);
}

TEST(Timeouts, ClientThatDoesNotCloseIsClosed) {
  HttpWorld world;
  TestClient client(world);
  EXPECT_EQ(client.ask(get("/", "Connection: close\r\n")).status, 200);
  const TimePoint start = world.loop.now();
  EXPECT_TRUE(world.until([&] { return world.observer.closed == 1; }));
  EXPECT_LE(world.loop.now() - start, Connection::kLingerTime + std::chrono::seconds(1));
}

}  // namespace
}  // namespace stdgate::test
