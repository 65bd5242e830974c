// Answers as event streams: POST /rpc with a matching Accept, and GET /rpc/stream for EventSource.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/integration/harness/setups.h"

namespace stdgate::harness::stream_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

void ask(HttpClient& client, const std::string& body) {
  client.send_request("POST", "/rpc", body, wants_events());
}

void ask_by_get(HttpClient& client, const std::string& query) {
  client.send_request("GET", "/rpc/stream?" + query, "", wants_events());
}

// The data of all events. "[DONE]" must come last, and the body must end right after it.
std::vector<std::string> read_stream(HttpClient& client) {
  const HttpResponse head = client.read_head();
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("content-type"), "text/event-stream");
  EXPECT_EQ(head.header("cache-control"), "no-store");
  EXPECT_EQ(head.header("x-accel-buffering"), "no");
  std::vector<std::string> data;
  while (const auto event = client.read_event()) {
    if (event->comment.empty()) data.push_back(event->data);
  }
  EXPECT_FALSE(data.empty());
  if (!data.empty()) {
    EXPECT_EQ(data.back(), "[DONE]");
    data.pop_back();
  }
  return data;
}

// Reads up to the next event that is not a comment.
std::string next_data(HttpClient& client) {
  auto event = client.read_event();
  while (event && !event->comment.empty()) event = client.read_event();
  return event ? event->data : "";
}

std::string progress(int step, int count) {
  return request("progress",
                 "{\"step\":" + std::to_string(step) + ",\"of\":" + std::to_string(count) + "}",
                 "");
}

std::string note(const std::string& text) {
  return request("note", "{\"text\":\"" + text + "\"}", "");
}

// Makes the puppet write `line`: before its answer, or instead of it.
std::string say(const std::string& line, bool instead = false, const std::string& id = "1") {
  std::string escaped;
  for (const char byte : line) escaped += byte == '"' ? "\\\"" : std::string(1, byte);
  return request(
      "say", "{\"line\":\"" + escaped + "\",\"instead\":" + (instead ? "true" : "false") + "}", id);
}

TEST(Stream, NotificationsThenTheResponseThenDone) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  for (const std::string id : {"1", "\"\\u00e9\"", "1.0"}) {
    ask(client, request("stream", R"({"count":3,"interval_ms":5})", id));
    EXPECT_THAT(read_stream(client), ElementsAre(progress(1, 3), progress(2, 3), progress(3, 3),
                                                 result(id, R"({"steps":3})")));
  }
  // The connection can be used for further requests.
  EXPECT_EQ(call(client, "math/add", "[1,2]").body, result("1", "3"));
}

TEST(Stream, EventSourceGetsTheSame) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  struct Case {
    const char* query;
    const char* id;
  };
  for (const Case& given : {Case{"", "1"}, Case{"&id=7", "7"}, Case{"&id=%22a%22", "\"a\""},
                            Case{"&id=plain", "\"plain\""}}) {
    ask_by_get(client, "method=stream&params=%7B%22count%22%3A2%2C%22interval_ms%22%3A5%7D" +
                           std::string(given.query));
    EXPECT_THAT(read_stream(client),
                ElementsAre(progress(1, 2), progress(2, 2), result(given.id, R"({"steps":2})")));
  }
}

TEST(Stream, WhatEventSourceMayNotAskHasItsStatus) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  EXPECT_EQ(client.get("/rpc/stream?method=echo").status, 406);
  EXPECT_EQ(client.get("/rpc/stream", wants_events()).status, 400);
  EXPECT_EQ(client.get("/rpc/stream?method=echo&params=%7B", wants_events()).status, 400);
  EXPECT_EQ(client.get("/rpc/stream?method=echo&params=1", wants_events()).status, 400);
  // Params that close the object early must not add members to the request.
  EXPECT_EQ(client.get("/rpc/stream?method=echo&params=[]}%0A{}", wants_events()).status, 400);
  EXPECT_EQ(
      client.get("/rpc/stream?method=echo&params=[],%22method%22:%22x%22", wants_events()).status,
      400);
  client.send_request("POST", "/rpc/stream?method=echo", "", wants_events());
  EXPECT_EQ(client.read_response().status, 405);
}

TEST(Stream, WhatIsWrittenInTheQueryIsNotGuessedAt) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  struct Case {
    const char* query;
    const char* why;
  };
  for (const Case& given : {
           Case{"params=%5B%5D", "method is missing; write ?method=NAME"},
           Case{"method=%22echo%22", "write it without quotes"},
           Case{"method=echo&params=%22text%22",
                "write params=[1] or params={\"name\":1}, URL-enc"},
           Case{"method=echo&params=", "or leave it out"},
           Case{"method=echo&id=%7B%7D", "is neither a number nor a text"},
           Case{"method=echo&id=%5B1%5D", "is neither a number nor a text"},
           Case{"method=echo&id=%22a", "is neither a number nor a text"},
           Case{"method=echo&method=fail", "is there twice"},
           Case{"method=echo&params=%5B1%5D&params=%5B2%5D", "is there twice"},
           Case{"method=echo&id=1&id=2", "is there twice"},
       }) {
    const HttpResponse response =
        client.get("/rpc/stream?" + std::string(given.query), wants_events());
    EXPECT_EQ(response.status, 400) << given.query;
    EXPECT_THAT(JsonValue(response.body).text("/error/message"), HasSubstr(given.why))
        << given.query;
  }
}

TEST(Stream, EventsComeWhileTheCallGoesOn) {
  GatewayProcess gateway(serve_one(puppet()));
  HttpClient client = gateway.connect();
  ask(client, say(note("early"), true));
  EXPECT_EQ(client.read_head().status, 200);
  EXPECT_EQ(next_data(client), note("early"));
  EXPECT_EQ(state_of(gateway).number("/backends/0/in_flight"), 1);
}

TEST(Stream, SilentOnesGetKeepAliveComments) {
  GatewayProcess gateway(serve_one(puppet(), "", "timeouts: { keep_alive: 30ms }"));
  HttpClient client = gateway.connect();
  ask(client, request("hang"));
  EXPECT_EQ(client.read_head().status, 200);
  for (int i = 0; i < 3; ++i) {
    const auto event = client.read_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->comment, "keep-alive");
  }
}

TEST(Stream, LeavingCancelsAtTheChild) {
  GatewayProcess gateway(serve_one(puppet(), "pool: { min: 1, max: 1 }"));
  for (const bool by_get : {false, true}) {
    HttpClient leaving = gateway.connect();
    if (by_get) {
      ask_by_get(leaving, "method=hang");
    } else {
      ask(leaving, request("hang"));
    }
    EXPECT_EQ(leaving.read_head().status, 200);
    await_in_flight(gateway, 1);
    leaving.close();
    await_in_flight(gateway, 0);
  }
  HttpClient client = gateway.connect();
  const auto lines = JsonValue(call(client, "history").body).texts("/result");
  EXPECT_THAT(lines, ElementsAre(HasSubstr("hang"), HasSubstr("$/cancelRequest"), HasSubstr("hang"),
                                 HasSubstr("$/cancelRequest"), HasSubstr("history")));
}

TEST(Stream, TwoAtOnceSeeOnlyTheirOwn) {
  GatewayProcess gateway(serve_one(demo_server(), "pool: { min: 2, max: 2 }"));
  await_children(gateway, 2);
  in_parallel(2, [&](size_t i) {
    const int count = 20 + static_cast<int>(i);
    HttpClient client = gateway.connect();
    ask(client, request("stream", "{\"count\":" + std::to_string(count) + ",\"interval_ms\":10}"));
    const std::vector<std::string> data = read_stream(client);
    ASSERT_EQ(data.size(), static_cast<size_t>(count) + 1);
    for (int step = 1; step <= count; ++step) {
      EXPECT_EQ(data[static_cast<size_t>(step) - 1], progress(step, count));
    }
  });
}

TEST(Stream, WhatNobodyCanAttributeGoesToNobody) {
  GatewayProcess gateway(serve_one(puppet(), "pool: { min: 1, max: 1 }"));
  HttpClient other = gateway.connect();
  ask(other, request("hang"));
  EXPECT_EQ(other.read_head().status, 200);
  await_in_flight(gateway, 1);
  HttpClient client = gateway.connect();
  ask(client, say(note("whose?")));
  EXPECT_THAT(read_stream(client), ElementsAre(result("1", "true")));
  EXPECT_TRUE(other.silent_for(Millis(50)));
  EXPECT_EQ(gateway.metrics().sum("stdgate_messages_dropped_total", {{"reason", "no_listener"}}),
            1);
}

TEST(Stream, ErrorsOfTheChildAreEvents) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  ask(client, request("fail"));
  EXPECT_THAT(read_stream(client), ElementsAre(AllOf(HasSubstr("-32603"), HasSubstr("\"id\":1"))));
}

TEST(Stream, BatchesAreAnsweredEventByEvent) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  ask(client, "[" + request("sleep", "[50]", "1") + "," + request("math/add", "[1,2]", "2") + "]");
  EXPECT_THAT(read_stream(client), ElementsAre(result("2", "3"), result("1", "{\"slept_ms\":50}")));
  ask(client, request("echo", "[]", ""));
  EXPECT_EQ(client.read_response().status, 204);
}

TEST(Stream, FaultsThatAreKnownAtOnceHaveTheirStatus) {
  GatewayProcess gateway(
      serve_one(puppet(), "pool: { min: 1, max: 1, max_in_flight: 1, queue: 1 }"));
  HttpClient client = gateway.connect();
  EXPECT_EQ(client.post("/rpc", "{", wants_events()).status, 400);
  EXPECT_EQ(client.post("/rpc", "[]", wants_events()).status, 400);
  EXPECT_EQ(client.post("/rpc", R"({"jsonrpc":"1.0","method":"a","id":1})", wants_events()).status,
            400);
  std::vector<HttpClient> occupied;
  for (const char* place : {"in_flight", "queued"}) {
    occupied.push_back(gateway.connect());
    ask(occupied.back(), request("hang"));
    EXPECT_TRUE(eventually(
        place, [&] { return state_of(gateway).number("/backends/0/" + std::string(place)) == 1; }));
  }
  const HttpResponse refused = client.post("/rpc", request("pid"), wants_events());
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("content-type"), "application/json");
  EXPECT_NE(refused.header("retry-after"), "");
  const HttpResponse refused_get = client.get("/rpc/stream?method=pid", wants_events());
  EXPECT_EQ(refused_get.status, 503);
}

TEST(Stream, FaultsThatComeLaterAreEvents) {
  GatewayProcess gateway(serve_one(puppet(), "timeout: 100ms, pool: { max: 1 }"));
  HttpClient client = gateway.connect();
  ask(client, request("hang", "", "\"late\""));
  EXPECT_THAT(read_stream(client),
              ElementsAre(AllOf(HasSubstr("\"id\":\"late\""), HasSubstr("-32003"))));
  ask(client, request("exit", R"({"code":9})"));
  EXPECT_THAT(read_stream(client), ElementsAre(AllOf(HasSubstr("-32004"), HasSubstr("code 9"))));
}

}  // namespace
}  // namespace stdgate::harness::stream_test
