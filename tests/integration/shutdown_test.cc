// The shutdown: calls in flight are answered, new calls are refused, and the exit code tells how
// the shutdown went.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"

namespace stdgate::harness::shutdown_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr int kDrainTimedOut = 3;

class Shutdown : public testing::TestWithParam<int> {};

TEST_P(Shutdown, FinishesCallsUnderWayAndTakesNoNewOnes) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient idle = gateway.connect();
  EXPECT_EQ(call(idle, "math/add", "[1,2]").status, 200);
  HttpClient working = gateway.connect();
  working.send_request("POST", "/rpc", request("sleep", "[500]"), {});
  HttpClient streaming = gateway.connect();
  streaming.send_request("POST", "/rpc", request("stream", R"({"count":5,"interval_ms":100})"),
                         wants_events());
  await_in_flight(gateway, 2);
  gateway.signal(GetParam());
  EXPECT_TRUE(idle.closed_within(Millis(400)));
  EXPECT_THROW(HttpClient(gateway.url()), std::runtime_error);

  const HttpResponse response = working.read_response();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, result("1", "{\"slept_ms\":500}"));
  EXPECT_EQ(response.header("connection"), "close");
  EXPECT_TRUE(working.closed_within(Millis(1000)));
  EXPECT_EQ(streaming.read_head().status, 200);
  std::string last;
  while (const auto event = streaming.read_event()) last = event->data;
  EXPECT_EQ(last, "[DONE]");
  working.close();
  streaming.close();

  const auto status = gateway.wait_for_exit(Millis(3000));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0);
  EXPECT_TRUE(gateway.descendants().empty()) << describe(gateway.descendants());
  EXPECT_FALSE(log_of(gateway).empty());  // throws if a line is not JSON
}

INSTANTIATE_TEST_SUITE_P(Signals, Shutdown, testing::Values(SIGTERM, SIGINT),
                         [](const auto& given) { return std::string(sigabbrev_np(given.param)); });

TEST(Hangup, IsIgnoredWhereTheGatewayWasStartedSo) {
  GatewaySetup setup = serve_one(puppet());
  setup.ignores_hangup = true;
  GatewayProcess gateway(setup);
  HttpClient client = gateway.connect();
  gateway.signal(SIGHUP);
  EXPECT_EQ(call(client, "cwd").status, 200);
  gateway.signal(SIGTERM);
  const auto status = gateway.wait_for_exit();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0);
}

// The gateway is stopped while all of this is sent, so it finds everything at once.
TEST(Drain, AnswersWhatWasOnItsWayWhenItBegan) {
  GatewayProcess gateway(serve_one(puppet()));
  HttpClient kept = gateway.connect();
  EXPECT_EQ(call(kept, "cwd").status, 200);
  gateway.signal(SIGSTOP);
  kept.send_request("POST", "/rpc", request("cwd"), {});
  HttpClient fresh = gateway.connect();
  fresh.send_request("POST", "/rpc", request("cwd"), {});
  gateway.signal(SIGTERM);
  gateway.signal(SIGCONT);
  for (HttpClient* client : {&kept, &fresh}) {
    EXPECT_EQ(client->read_response().status, 200);
    EXPECT_TRUE(client->closed_within(Millis(5000)));
    client->close();
  }
  EXPECT_EQ(gateway.wait_for_exit().value().code, 0);
}

TEST(Drain, WaitsForARequestThatHasBegunToCome) {
  GatewayProcess gateway(serve_one(puppet()));
  HttpClient client = gateway.connect();
  const std::string body = request("cwd");
  client.send("POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
  HttpClient other = gateway.connect();
  EXPECT_EQ(call(other, "cwd").status, 200);  // by now the gateway has read the head
  other.close();
  gateway.signal(SIGTERM);
  EXPECT_TRUE(eventually("it drains", [&] { return !log_of(gateway, "draining").empty(); }));
  std::this_thread::sleep_for(Millis(400));  // longer than a draining gateway accepts new calls
  client.send("Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  const HttpResponse response = client.read_response();
  EXPECT_THAT(response.body, HasSubstr("\"result\":"));
  EXPECT_EQ(response.header("connection"), "close");
  client.close();
  EXPECT_EQ(gateway.wait_for_exit().value().code, 0);
}

TEST(Drain, DoesNotWaitForOneThatNeverComes) {
  GatewayProcess gateway(serve_one(puppet()));
  HttpClient client = gateway.connect();
  client.send("POST /rpc HTTP/1.1\r\n");
  WebSocketClient websocket(gateway.url());
  gateway.signal(SIGTERM);
  EXPECT_EQ(websocket.read_closing().code, 1001);
  client.close();
  EXPECT_EQ(gateway.wait_for_exit().value().code, 0);
}

TEST(Drain, TakesNoFurtherRequestOfABusyConnection) {
  GatewayProcess gateway(serve_one(puppet(), "timeout: 1s"));
  HttpClient client = gateway.connect();
  const auto post = [](const std::string& body) {
    return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
           "application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  };
  client.send(post(request("hang")));
  await_in_flight(gateway, 1);
  gateway.signal(SIGTERM);
  client.send(post(request("cwd")));
  const HttpResponse first = client.read_response();
  EXPECT_EQ(first.status, 504);
  EXPECT_EQ(first.header("connection"), "close");
  EXPECT_TRUE(client.closed_within(Millis(1000)));
  client.close();
  EXPECT_EQ(gateway.wait_for_exit().value().code, 0);
}

TEST(Drain, CutsOffWhatTakesTooLong) {
  GatewayProcess gateway(serve_one(puppet(), "", "timeouts: { drain: 200ms }"));
  HttpClient client = gateway.connect();
  client.send_request("POST", "/rpc", request("hang", "", "\"slow\""), {});
  HttpClient streaming = gateway.connect();
  streaming.send_request("POST", "/rpc", request("hang", "", "\"stream\""), wants_events());
  await_in_flight(gateway, 2);
  const auto begin = Clock::now();
  gateway.signal(SIGTERM);
  const HttpResponse response = client.read_response();
  EXPECT_GE(Clock::now() - begin, Millis(200));
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(response.body,
              AllOf(HasSubstr("\"id\":\"slow\""), HasSubstr("-32005"), HasSubstr("shutting down")));
  EXPECT_EQ(streaming.read_head().status, 200);
  EXPECT_THAT(streaming.read_event()->data, HasSubstr("-32005"));
  EXPECT_EQ(streaming.read_event()->data, "[DONE]");
  const auto status = gateway.wait_for_exit(Millis(3000));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, kDrainTimedOut);
  EXPECT_EQ(log_of(gateway, "drain timed out").size(), 1U);
}

TEST(Drain, SecondSignalEndsAtOnce) {
  for (const int second : {SIGTERM, SIGINT}) {
    GatewayProcess gateway(serve_one(rogue({"stubborn"}), "pool: { min: 1, grace: 30s }"));
    await_children(gateway, 1);
    HttpClient client = gateway.connect();
    gateway.signal(SIGTERM);
    EXPECT_TRUE(eventually("it drains", [&] { return !log_of(gateway, "draining").empty(); }));
    // A second equal signal soon after the first counts as the same request, because timeout(1)
    // sends two.
    if (second == SIGTERM) std::this_thread::sleep_for(Millis(600));
    const auto begin = Clock::now();
    gateway.signal(second);
    const auto status = gateway.wait_for_exit();
    ASSERT_TRUE(status);
    EXPECT_EQ(status->code, 128 + second);
    EXPECT_LT(Clock::now() - begin, Millis(1500));
    EXPECT_TRUE(gateway.descendants().empty()) << describe(gateway.descendants());
  }
}

TEST(Drain, EndsChildrenThatDoNotWantToWithinTheirGrace) {
  GatewayProcess gateway(serve_one(rogue({"stubborn"}), "pool: { min: 3, max: 3, grace: 300ms }"));
  await_children(gateway, 3);
  const auto begin = Clock::now();
  gateway.signal(SIGTERM);
  const auto status = gateway.wait_for_exit();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0);
  EXPECT_GE(Clock::now() - begin, Millis(600));
  EXPECT_LT(Clock::now() - begin, Millis(1600));
}

TEST(Drain, OneThatStillStartsIsEndedToo) {
  GatewayProcess gateway(
      serve_one({"/bin/sleep", "600"}, "protocol: mcp, pool: { min: 1, grace: 300ms }"));
  HttpClient client = gateway.connect();
  client.send_request("POST", "/rpc", request("tools/list"), {});
  EXPECT_TRUE(eventually("the call waits",
                         [&] { return state_of(gateway).number("/backends/0/queued") == 1; }));
  client.close();
  gateway.signal(SIGTERM);
  const auto status = gateway.wait_for_exit(Millis(3000));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0);
}

TEST(Drain, SlowReaderOfAnAnswerGetsIt) {
  GatewayProcess gateway(serve_one(puppet()));
  HttpClient client = gateway.connect();
  client.send_request("POST", "/rpc", request("blob", R"({"size":8000000})"), {});
  EXPECT_TRUE(eventually("the answer is on its way", [&] {
    return gateway.metrics().sum("stdgate_request_duration_seconds_count") == 1;
  }));
  gateway.signal(SIGTERM);
  EXPECT_TRUE(eventually("it drains", [&] { return !log_of(gateway, "draining").empty(); }));
  EXPECT_EQ(client.read_response().body.size(), result("1", "\"\"").size() + 8'000'000);
  client.close();
  EXPECT_EQ(gateway.wait_for_exit(Millis(3000)).value().code, 0);
}

}  // namespace
}  // namespace stdgate::harness::shutdown_test
