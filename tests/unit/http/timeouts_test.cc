// Time limits, which are configured short. Each test waits for the event.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/http/http_world.h"

namespace stdgate::test {
namespace {

constexpr Duration kShort = std::chrono::milliseconds(30);
// A limit that must not pass in a test, even if the machine stops for a while.
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
  options.limits.min_rate = 0;
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

// Sends `text` in pieces, one per `pause`, without end. After the end of the text it continues at
// `again`.
class Drip {
 public:
  Drip(HttpWorld& world, TestClient& client, std::string text, size_t again, Duration pause)
      : world_(world),
        client_(client),
        text_(std::move(text)),
        again_(again),
        pause_(pause),
        timer_(world.loop.timers(), [this] { send(); }) {
    timer_.arm(world.loop.now());
  }

 private:
  void send() {
    client_.send(text_.substr(at_++, 1));
    if (at_ == text_.size()) at_ = again_;
    timer_.arm(world_.loop.now() + pause_);
  }
  HttpWorld& world_;
  TestClient& client_;
  const std::string text_;
  const size_t again_;
  const Duration pause_;
  Timer timer_;
  size_t at_ = 0;
};

constexpr Duration kDrip = std::chrono::milliseconds(2);  // 500 bytes per second

TEST(Timeouts, ABodyThatDripsIsTooLate) {
  const std::string head =
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  const std::string chunked = "Transfer-Encoding: chunked\r\n\r\n";
  struct Case {
    const char* what;
    std::string first;   // sent at once
    std::string second;  // sent in drops, again and again
  };
  const Case cases[] = {
      {"length", head + "Content-Length: 1000000\r\n\r\n", " "},
      {"chunks", head + chunked, "1\r\n \r\n"},
      {"one chunk", head + chunked + "f0000\r\n", " "},
      {"trailers", head + chunked + "2\r\n[]\r\n0\r\n", "a: b\r\n"},
  };
  for (const Case& body : cases) {
    SCOPED_TRACE(body.what);
    WorldOptions options;
    options.timeouts.body = kAmple;
    HttpWorld world(options);
    TestClient client(world);
    client.send(body.first);
    const Drip drip(world, client, body.second, 0, kDrip);
    EXPECT_EQ(client.answer().status, 408);
    EXPECT_TRUE(client.wait_closed());
  }
}

TEST(Timeouts, ABodyThatDripsAtTheMinimumRateHasAnEnd) {
  WorldOptions options;
  options.timeouts.body = kAmple;  // a busy machine may delay a drop
  options.timeouts.request = 3 * kAmple;
  options.limits.min_rate = 0;
  HttpWorld world(options);
  TestClient client(world);
  const TimePoint start = world.loop.now();
  client.send(
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 1000000\r\n\r\n");
  const Drip drip(world, client, " ", 0, kDrip);
  EXPECT_EQ(client.answer().status, 408);
  EXPECT_GE(world.loop.now() - start, options.timeouts.request);
}

TEST(Timeouts, AnAnswerThatIsSippedIsGivenUp) {
  WorldOptions options;
  options.timeouts.body = kAmple;
  options.limits.min_rate = size_t{1} << 30;
  HttpWorld world(options);
  TestClient client(world, false);
  client.send(post(call("1", "big", R"({"size":15000000})")));
  Timer sip(world.loop.timers(), [&] {
    client.read_once();
    sip.arm(world.loop.now() + kAmple / 20);
  });
  sip.arm(world.loop.now());
  EXPECT_TRUE(world.until([&] { return world.observer.closed == 1; }));
  EXPECT_LT(client.received.size(), 15000000U);
  EXPECT_THAT(world.log.lines,
              testing::Contains(testing::HasSubstr("its client reads too slowly")));
}

TEST(Timeouts, AStreamThatHasNothingToSayIsNotSlow) {
  WorldOptions options;
  options.timeouts.body = kShort;
  options.timeouts.keep_alive = kShort / 2;
  options.limits.min_rate = size_t{1} << 30;
  HttpWorld world(options);
  TestClient client(world);
  client.send(post(call("1", "hold", "[]"), "Accept: text/event-stream\r\n"));
  ASSERT_TRUE(world.until([&] { return world.child().held.size() == 1; }));
  run_for(world.loop, 10 * kShort);
  EXPECT_FALSE(client.ended);
  world.child().answer_held("1");
  EXPECT_EQ(client.answer().status, 200);
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
  EXPECT_LE(world.loop.now() - start, http::Http1Connection::kLingerTime + std::chrono::seconds(1));
}

}  // namespace
}  // namespace stdgate::test
