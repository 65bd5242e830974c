// Many clients at once, clients that leave, and clients that are slow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/integration/harness/setups.h"

namespace stdgate::harness::clients_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string number(size_t value) { return std::to_string(value); }

TEST(Clients, TwoHundredWithTheSameIdsGetTheirOwnAnswers) {
  GatewayProcess gateway(serve_one(demo_server(), "pool: { min: 2, max: 2 }"));
  await_children(gateway, 2);
  in_parallel(200, [&](size_t client_number) {
    HttpClient client = gateway.connect();
    for (size_t round = 0; round < 10; ++round) {
      const std::string payload = "[" + number(client_number) + "," + number(round) + "]";
      EXPECT_EQ(call(client, "echo", payload, "7").body, result("7", payload));
    }
    // Later clients are answered sooner.
    const std::string ms = number(400 - client_number);
    EXPECT_EQ(call(client, "sleep", "[" + ms + "]", "7").body,
              result("7", "{\"slept_ms\":" + ms + "}"));
  });
  const JsonValue state = state_of(gateway);
  ASSERT_EQ(state.size("/backends/0/children"), 2U);
  const double first = state.number("/backends/0/children/0/calls");
  const double second = state.number("/backends/0/children/1/calls");
  EXPECT_EQ(first + second, 200 * 11);
  EXPECT_GT(std::min(first, second), 90);  // half of the slow calls alone would be 100
}

TEST(Clients, TwoThousandConnectionsStayOpenWhileCallsGoOn) {
  allow_many_files();
  GatewayProcess gateway(serve_one(demo_server(), "pool: { min: 1 }", "log: { level: error }"));
  std::vector<HttpClient> idle;
  for (size_t i = 0; i < 2000; ++i) {
    idle.push_back(gateway.connect());
    if (i % 2 == 0) {
      ASSERT_EQ(call(idle.back(), "echo", "[" + number(i) + "]").status, 200);
    }
  }
  EXPECT_TRUE(eventually("all are accepted",
                         [&] { return state_of(gateway).number("/connections") == 2000; }));
  EXPECT_EQ(gateway.metrics().sum("stdgate_connections"), 2000);
  in_parallel(10, [&](size_t) {
    HttpClient client = gateway.connect();
    for (size_t i = 0; i < 50; ++i) EXPECT_EQ(call(client, "math/add", "[1,2]").status, 200);
  });
  for (size_t i = 0; i < idle.size(); ++i) {
    const std::string payload = "[" + number(i) + "]";
    ASSERT_EQ(call(idle[i], "echo", payload).body, result("1", payload));
  }
  idle.clear();
  EXPECT_TRUE(eventually("all are gone",
                         [&] { return gateway.metrics().sum("stdgate_connections") == 0; }));
}

// The messages that the puppet has read, without the calls of `history`.
std::vector<std::string> history_of(const GatewayProcess& gateway) {
  HttpClient client = gateway.connect();
  auto lines = JsonValue(call(client, "history").body).texts("/result");
  std::erase_if(lines, [](const auto& line) { return line.find("history") != std::string::npos; });
  return lines;
}

TEST(Clients, OneThatLeavesHasItsCallCancelledAtTheChild) {
  GatewayProcess gateway(serve_one(puppet(), "pool: { min: 1, max: 1 }"));
  HttpClient leaving = gateway.connect();
  leaving.send_request("POST", "/rpc", request("hang", "[]", "\"mine\""), {});
  await_in_flight(gateway, 1);
  leaving.close();
  await_in_flight(gateway, 0);
  const std::vector<std::string> lines = history_of(gateway);
  ASSERT_EQ(lines.size(), 2U);
  const auto wire_id = static_cast<int64_t>(JsonValue(lines[0]).number("/id"));
  EXPECT_EQ(lines[1], request("$/cancelRequest", "{\"id\":" + std::to_string(wire_id) + "}", ""));
  EXPECT_EQ(gateway.metrics().sum("stdgate_request_duration_seconds_count",
                                  {{"method", "_other"}, {"outcome", "cancelled"}}),
            1);
}

TEST(Clients, OneThatLeavesWhileItsCallWaitsCostsNoChildAnything) {
  GatewayProcess gateway(serve_one(puppet(), "pool: { min: 1, max: 1, max_in_flight: 1 }"));
  HttpClient first = gateway.connect();
  HttpClient second = gateway.connect();
  first.send_request("POST", "/rpc", request("hang", "[1]"), {});
  await_in_flight(gateway, 1);
  second.send_request("POST", "/rpc", request("hang", "[2]"), {});
  EXPECT_TRUE(eventually("one call waits",
                         [&] { return state_of(gateway).number("/backends/0/queued") == 1; }));
  second.close();
  EXPECT_TRUE(eventually("none waits",
                         [&] { return state_of(gateway).number("/backends/0/queued") == 0; }));
  first.close();
  EXPECT_THAT(history_of(gateway),
              ElementsAre(HasSubstr("\"params\":[1]"), HasSubstr("$/cancelRequest")));
}

TEST(Clients, OneThatDoesNotReadStallsNobody) {
  GatewayProcess gateway(serve_one(puppet(), "pool: { min: 1, max: 1 }"));
  constexpr size_t kAnswers = 30;
  const std::string question = request("blob", R"({"size":1000000})");
  const std::string one =
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      number(question.size()) + "\r\n\r\n" + question;
  HttpClient slow = gateway.connect();
  for (size_t i = 0; i < kAnswers; ++i) slow.send(one);
  for (size_t i = 0; i < 100; ++i) {
    HttpClient other = gateway.connect();
    ASSERT_EQ(JsonValue(call(other, "pid").body).number("/id"), 1);
  }
  // Only a part of the requests of the slow client has been given to the child.
  EXPECT_LT(state_of(gateway).number("/backends/0/children/0/calls"), 100 + kAnswers);
  const std::string expected = result("1", '"' + std::string(1'000'000, 'x') + '"');
  for (size_t i = 0; i < kAnswers; ++i) {
    ASSERT_TRUE(slow.read_response().body == expected) << "answer " << i;
  }
}

TEST(Clients, PipelinedRequestsAreAnsweredInOrder) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  const auto send = [&](const std::string& body) {
    return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
           "application/json\r\nContent-Length: " +
           number(body.size()) + "\r\n\r\n" + body;
  };
  std::string bytes = send(request("sleep", "[100]", "\"slow\""));
  bytes += send(request("echo", "[]", ""));
  bytes += "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (size_t i = 0; i < 200; ++i) bytes += send(request("math/add", "[1,2]", number(i)));
  client.send(bytes);
  EXPECT_EQ(client.read_response().body, result("\"slow\"", "{\"slept_ms\":100}"));
  EXPECT_EQ(client.read_response().status, 204);
  EXPECT_EQ(client.read_response().status, 404);
  for (size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(client.read_response().body, result(number(i), "3"));
  }
}

TEST(Clients, OneThatSendsByteByByteIsServed) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  const std::string body = request("math/add", "[1,2]");
  const std::string bytes =
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
      "application/json\r\nContent-Length: " +
      number(body.size()) + "\r\n\r\n" + body;
  for (const char byte : bytes) client.send({&byte, 1});
  EXPECT_EQ(client.read_response().body, result("1", "3"));
}

}  // namespace
}  // namespace stdgate::harness::clients_test
