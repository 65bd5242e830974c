// Sessions over WebSocket: which session gets an answer, a notification or a child's request; and
// children of a single session.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/integration/harness/mcp_requests.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"

namespace stdgate::harness::session_test {

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kOneChild = "isolation: shared, pool: { min: 1, max: 1 }";
constexpr const char* kOwnChild = "isolation: session, pool: { grace: 200ms }";

WebSocketClient open(const GatewayProcess& gateway, const std::string& path = "/ws") {
  return WebSocketClient(gateway.url(), {.path = path});
}

int pid_of_child(WebSocketClient& client) {
  return static_cast<int>(JsonValue(client.call("pid")).number("/result"));
}

// The messages that a client gets before the answer to its own call.
std::vector<std::string> messages_before_answer(WebSocketClient& client) {
  client.send(request("cwd", "", "\"last\""));
  std::vector<std::string> messages;
  for (;;) {
    std::string message = client.message();
    if (message.starts_with(R"({"jsonrpc":"2.0","id":"last")")) return messages;
    messages.push_back(std::move(message));
  }
}

std::string push(int n) {
  return R"({"jsonrpc":"2.0","method":"push","params":{"n":)" + std::to_string(n) +
         R"(,"fill":""}})";
}

// --- Answers -------------------------------------------------------------------------------------

TEST(SharedChild, ManyClientsWithEqualIdsGetTheirOwnAnswers) {
  GatewayProcess gateway(serve_one(demo_server(), kOneChild, "log: { level: error }"));
  constexpr size_t kClients = 50;
  constexpr int kCalls = 40;
  const auto payload = [](size_t client, int call) {
    return "[\"" + std::to_string(client) + " calls for time " + std::to_string(call) + "\"]";
  };
  in_parallel(2 * kClients, [&](size_t i) {
    if (i % 2 == 0) {
      HttpClient client = gateway.connect();
      for (int n = 0; n < kCalls; ++n) {
        EXPECT_EQ(call(client, "echo", payload(i, n)).body, result("1", payload(i, n)));
      }
      return;
    }
    WebSocketClient client = open(gateway);
    for (int n = 0; n < kCalls; ++n) client.send(request("echo", payload(i, n)));
    // One child answers these calls, in their order.
    for (int n = 0; n < kCalls; ++n) EXPECT_EQ(client.message(), result("1", payload(i, n)));
  });
  EXPECT_EQ(gateway.metrics().sum("stdgate_request_duration_seconds_count",
                                  {{"transport", "websocket"}, {"outcome", "ok"}}),
            kClients * kCalls);
}

TEST(SharedChild, ManyClientsOverManyChildren) {
  GatewayProcess gateway(serve_one(demo_server(),
                                   "isolation: shared, pool: { min: 4, max: 4, max_in_flight: 2 }",
                                   "log: { level: error }"));
  in_parallel(50, [&](size_t i) {
    WebSocketClient client = open(gateway);
    std::set<std::string> expected;
    for (int n = 0; n < 20; ++n) {
      const std::string payload = "[" + std::to_string(i) + "," + std::to_string(n) + "]";
      client.send(request("echo", payload, std::to_string(n)));
      expected.insert(result(std::to_string(n), payload));
    }
    std::set<std::string> received;
    for (int n = 0; n < 20; ++n) received.insert(client.message());
    EXPECT_EQ(received, expected);
  });
}

TEST(SharedChild, CancelsMeanTheCallsOfTheirOwnSession) {
  GatewayProcess gateway(serve_one(demo_server(), kOneChild));
  WebSocketClient first = open(gateway);
  WebSocketClient second = open(gateway);
  first.send(request("sleep", "[600000]", "1"));
  second.send(request("sleep", "[200]", "1"));
  await_in_flight(gateway, 2);
  first.send(request("$/cancelRequest", R"({"id":1})", ""));
  EXPECT_THAT(first.message(), StartsWith(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32800)"));
  EXPECT_EQ(second.message(), result("1", R"({"slept_ms":200})"));
}

// --- Notifications -------------------------------------------------------------------------------

TEST(SharedChild, NotifiesAllSessionsOfItsBackendAndNoOther) {
  GatewayProcess gateway(
      serve({backend("main", puppet(), std::string("default: true, ") + kOneChild),
             backend("other", puppet(), kOneChild)}));
  WebSocketClient caller = open(gateway);
  WebSocketClient same = open(gateway, "/main/ws");
  WebSocketClient other = open(gateway, "/other/ws");
  EXPECT_THAT(messages_before_answer(other), testing::IsEmpty());
  caller.send(request("push", R"({"count":3})"));
  for (WebSocketClient* client : {&caller, &same}) {
    for (int n = 0; n < 3; ++n) EXPECT_EQ(client->message(), push(n));
  }
  EXPECT_EQ(caller.message(), result("1", "3"));
  EXPECT_THAT(messages_before_answer(same), testing::IsEmpty());
  EXPECT_THAT(messages_before_answer(other), testing::IsEmpty());
  // A call over HTTP notifies the sessions as well, and is answered as usual.
  HttpClient http = gateway.connect();
  EXPECT_EQ(call(http, "push", R"({"count":1})").body, result("1", "1"));
  EXPECT_EQ(same.message(), push(0));
}

// --- Requests of children ------------------------------------------------------------------------

// The client gets the child's request, and answers it.
void expect_to_be_asked(WebSocketClient& client) {
  client.send(request("ask", R"({"method":"window/show","params":{"text":"hi"}})", "\"mine\""));
  const std::string asked = client.message();
  const JsonValue question(asked);
  EXPECT_EQ(question.text("/method"), "window/show");
  EXPECT_EQ(question.text("/params/text"), "hi");
  const std::string id = std::to_string(static_cast<int64_t>(question.number("/id")));
  client.send(result(id, "[\"\\u00e9\", 1.0]"));
  // The child has received the answer unchanged, with the child's own id.
  EXPECT_EQ(client.message(), result("\"mine\"", result("\"ask-1\"", "[\"\\u00e9\", 1.0]")));
}

TEST(Requests, OfAChildGoToTheSessionWhoseCallsAreInFlight) {
  for (const char* options : {kOneChild, kOwnChild}) {
    SCOPED_TRACE(options);
    GatewayProcess gateway(serve_one(puppet(), options));
    WebSocketClient idle = open(gateway);
    WebSocketClient client = open(gateway);
    expect_to_be_asked(client);
    EXPECT_THAT(messages_before_answer(idle), testing::IsEmpty());
  }
}

TEST(Requests, OfTheDemoServer) {
  GatewayProcess gateway(serve_one(demo_server()));
  WebSocketClient client = open(gateway);
  client.send(request("ask", R"({"method":"name"})"));
  const auto id = static_cast<int64_t>(JsonValue(client.message()).number("/id"));
  client.send(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
              R"(,"error":{"code":7,"message":"no"}})");
  EXPECT_EQ(client.message(), R"({"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"no"}})");
}

TEST(Requests, OfAChildWithoutAnybodyToAskAreRefused) {
  const std::string ask = request("ask", R"({"method":"x"})");
  GatewayProcess gateway(serve_one(puppet(), kOneChild));
  WebSocketClient client = open(gateway);
  // A call without a session makes the child ask, so there is no client to ask.
  HttpClient http = gateway.connect();
  EXPECT_THAT(http.post("/rpc", ask).body,
              AllOf(HasSubstr(R"("id":"ask-1")"), HasSubstr("-32601")));
  // Two sessions have calls at the child, so the child's request could be for either.
  WebSocketClient other = open(gateway);
  other.send(request("hang"));
  await_in_flight(gateway, 1);
  client.send(ask);
  EXPECT_THAT(client.message(), AllOf(HasSubstr(R"("id":"ask-2")"), HasSubstr("-32601")));
}

TEST(Requests, OfASharedChildAreAnsweredWhenTheClientLeaves) {
  GatewayProcess gateway(serve_one(puppet(), kOneChild));
  WebSocketClient client = open(gateway);
  client.send(request("ask", R"({"method":"x"})"));
  EXPECT_THAT(client.message(), HasSubstr(R"("method":"x")"));
  client.close();
  HttpClient http = gateway.connect();
  EXPECT_TRUE(eventually("the child is told", [&] {
    const auto lines = JsonValue(call(http, "history").body).texts("/result");
    for (const std::string& line : lines) {
      if (line.find(R"("id":"ask-1")") != std::string::npos)
        return line.find("-32603") < line.size();
    }
    return false;
  }));
}

TEST(Requests, CanBeAnsweredOnceByTheOneWhoWasAsked) {
  GatewayProcess gateway(serve_one(puppet(), kOneChild));
  WebSocketClient thief = open(gateway);
  WebSocketClient client = open(gateway);
  client.send(request("ask", R"({"method":"x"})"));
  const auto id = std::to_string(static_cast<int64_t>(JsonValue(client.message()).number("/id")));
  thief.send(result(id, "\"stolen\""));
  EXPECT_THAT(messages_before_answer(thief), testing::IsEmpty());
  client.send(result(id, "\"first\""));
  EXPECT_THAT(client.message(), HasSubstr("first"));
  client.send(result(id, "\"second\""));
  EXPECT_THAT(messages_before_answer(client), testing::IsEmpty());
  EXPECT_EQ(gateway.metrics().sum("stdgate_messages_dropped_total", {{"reason", "stray_response"}}),
            2);
}

// --- Children of one session ---------------------------------------------------------------------

TEST(OwnChild, IsAnotherForEachClient) {
  GatewayProcess gateway(serve_one(puppet(), kOwnChild));
  constexpr size_t kClients = 8;
  std::vector<WebSocketClient> clients;
  std::set<int> pids;
  for (size_t i = 0; i < kClients; ++i) {
    clients.push_back(open(gateway));
    pids.insert(pid_of_child(clients.back()));
  }
  HttpClient http = gateway.connect();
  pids.insert(static_cast<int>(JsonValue(call(http, "pid").body).number("/result")));
  EXPECT_EQ(pids.size(), kClients + 1);
  EXPECT_TRUE(pids.contains(pid_of_child(clients[0])));  // the same process as before

  // Notifications of a child go only to the client of its session.
  clients[0].send(request("push", R"({"count":2})"));
  for (int n = 0; n < 2; ++n) EXPECT_EQ(clients[0].message(), push(n));
  EXPECT_EQ(clients[0].message(), result("1", "2"));
  EXPECT_THAT(messages_before_answer(clients[1]), testing::IsEmpty());

  const JsonValue state = state_of(gateway);
  EXPECT_EQ(state.number("/backends/0/sessions"), kClients);
  size_t leased = 0;
  for (size_t i = 0; i < state.size("/backends/0/children"); ++i) {
    const std::string child = "/backends/0/children/" + std::to_string(i);
    if (state.has(child + "/leased") && state.flag(child + "/leased")) ++leased;
  }
  EXPECT_EQ(leased, kClients);
}

TEST(OwnChild, IsOneThatWasWarm) {
  GatewayProcess gateway(
      serve_one(puppet(), "isolation: session, pool: { warm: 1, max: 4, grace: 200ms }"));
  std::set<int> seen;
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    // The only child without a session.
    int warm = 0;
    ASSERT_TRUE(eventually("one is ready", [&] {
      const JsonValue state = state_of(gateway);
      for (size_t i = 0; i < state.size("/backends/0/children"); ++i) {
        const std::string child = "/backends/0/children/" + std::to_string(i);
        if (state.text(child + "/state") != "ready") continue;
        warm = static_cast<int>(state.number(child + "/pid"));
        return true;
      }
      return false;
    }));
    WebSocketClient client = open(gateway);
    EXPECT_EQ(pid_of_child(client), warm);
    EXPECT_TRUE(seen.insert(warm).second) << "used for a second session";
    client.send_close(1000);
    EXPECT_EQ(client.read_closing().code, 1000);
    ASSERT_TRUE(eventually("it is gone, and replaced", [&] {
      const std::vector<ProcessInfo> left = gateway.descendants();
      return left.size() == 2 && left[0].pid != warm && left[1].pid != warm;
    }));
  }
}

TEST(OwnChild, ThereAreNoMoreThanMax) {
  GatewayProcess gateway(
      serve_one(puppet(), "isolation: session, pool: { min: 1, max: 3, grace: 200ms }"));
  HttpClient http = gateway.connect();
  EXPECT_EQ(call(http, "cwd").status, 200);  // the minimum is kept for calls without a session
  WebSocketClient first = open(gateway);
  WebSocketClient second = open(gateway);
  pid_of_child(second);
  for (int i = 0; i < 2; ++i) {  // on one connection, which is not upgraded
    const HttpResponse refused = http.get("/ws", handshake_fields());
    EXPECT_EQ(refused.status, 503);
    EXPECT_GE(std::stoi(refused.header("retry-after")), 1);
    EXPECT_EQ(refused.header("content-type"), "application/json");
    EXPECT_THAT(refused.body, StartsWith(R"({"jsonrpc":"2.0","id":null,"error":{"code":-32005,)"));
  }
  EXPECT_EQ(call(http, "cwd").status, 200);
  first.close();
  EXPECT_TRUE(eventually("there is room again", [&] {
    return gateway.connect().get("/nothing").status == 404 &&
           state_of(gateway).number("/backends/0/sessions") == 1;
  }));
  WebSocketClient third = open(gateway);
  EXPECT_GT(pid_of_child(third), 0);
}

TEST(Sessions, ThereAreNoMoreThanConfigured) {
  GatewayProcess gateway(serve_one(demo_server(), "isolation: shared, pool: { sessions: 2 }"));
  WebSocketClient first = open(gateway);
  WebSocketClient second = open(gateway);
  const HttpResponse refused = gateway.connect().get("/ws", handshake_fields());
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("-32005"));
  EXPECT_EQ(first.call("math/add", "[1,2]"), result("1", "3"));
}

// --- Metrics -------------------------------------------------------------------------------------

// The size of the head on the wire.
size_t size_of(const HttpResponse& head) {
  size_t size = std::string("HTTP/1.1 101 \r\n\r\n").size() + head.reason.size();
  for (const auto& [name, value] : head.headers) size += name.size() + value.size() + 4;
  return size;
}

TEST(SessionMetrics, CountSessionsConnectionsMessagesAndEveryByte) {
  GatewayProcess gateway(
      serve({backend("main", puppet(), std::string("default: true, ") + kOneChild),
             backend("own", puppet(), kOwnChild)}));
  const auto websockets = [&](const char* name) {
    return gateway.metrics().sum(name, {{"transport", "websocket"}});
  };
  size_t received = 0;
  std::string sent;
  {
    WebSocketClient shared = open(gateway);
    WebSocketClient own = open(gateway, "/own/ws");
    // The first bytes that the WebSocket sends are the answer to the handshake.
    received += size_of(shared.handshake()) + size_of(own.handshake());
    for (const std::string& text :
         {request("push", R"({"count":2})"), request("unheard of", "", "")}) {
      sent += frame_bytes({.payload = text});
    }
    shared.send_bytes(sent);
    for (int i = 0; i < 3; ++i) {
      const std::string message = shared.message();
      received += message.size() + 2;  // plus the frame header: payloads are at most 125 bytes
      ASSERT_LE(message.size(), 125U);
    }
    const MetricsText metrics = gateway.metrics();
    EXPECT_EQ(metrics.value("stdgate_sessions", {{"backend", "main"}, {"state", "live"}}), 1);
    EXPECT_EQ(metrics.value("stdgate_sessions", {{"backend", "own"}, {"state", "live"}}), 1);
    EXPECT_EQ(websockets("stdgate_connections"), 2);
    EXPECT_EQ(websockets("stdgate_request_duration_seconds_count"), 1);
  }
  EXPECT_TRUE(eventually("all are gone", [&] {
    return websockets("stdgate_connections") == 0 && gateway.metrics().sum("stdgate_sessions") == 0;
  }));
  const MetricsText metrics = gateway.metrics();
  const auto count = [&](const char* name, const Labels& labels) {
    return metrics.sum(name, labels);
  };
  EXPECT_EQ(count("stdgate_bytes_total", {{"transport", "websocket"}, {"direction", "in"}}),
            sent.size());
  EXPECT_EQ(count("stdgate_bytes_total", {{"transport", "websocket"}, {"direction", "out"}}),
            received);
  EXPECT_EQ(count("stdgate_notifications_total", {{"direction", "to_child"}}), 1);
  EXPECT_EQ(count("stdgate_notifications_total", {{"method", "push"}, {"direction", "to_client"}}),
            2);
}

}  // namespace

// Sessions and places: which sessions wait for a place, and which need none.

namespace {

using testing::HasSubstr;

// One place, which a session with a call in flight has.
class OnePlace : public testing::Test {
 protected:
  OnePlace() {
    HttpClient client = gateway_.connect();
    id_ = open_mcp_session(client);
    working_.send_request("POST", "/mcp", request("hang", "", "9"), in_session());
    await_in_flight(gateway_, 1);
  }
  [[nodiscard]] Headers in_session() const {
    Headers fields = in_mcp_session(id_);
    fields["content-type"] = "application/json";
    return fields;
  }
  void finish_work() {
    HttpClient client = gateway_.connect();
    const std::string cancel = request("notifications/cancelled", R"({"requestId":9})", "");
    EXPECT_EQ(client.post("/mcp", cancel, in_mcp_session(id_)).status, 202);
  }

  GatewayProcess gateway_{serve_one(
      puppet("mcp"), "protocol: mcp, revision: legacy, pool: { max: 1, min_hold: 50ms }")};
  std::string id_;
  HttpClient working_{gateway_.connect()};
};

TEST_F(OnePlace, IsWaitedForByASessionThatBegins) {
  HttpClient other = gateway_.connect();
  Headers fields = in_mcp_session("");
  fields["content-type"] = "application/json";
  other.send_request("POST", "/mcp", mcp_greeting(), fields);
  EXPECT_TRUE(
      eventually("it waits", [&] { return state_of(gateway_).number("/backends/0/queued") == 1; }));
  EXPECT_TRUE(other.silent_for(Millis(200)));
  finish_work();
  const HttpResponse begun = other.read_response();
  EXPECT_EQ(begun.status, 200);
  EXPECT_THAT(begun.body, HasSubstr("protocolVersion"));
}

TEST_F(OnePlace, IsWaitedForByAWebSocketToo) {
  WebSocketClient socket(gateway_.url());
  socket.send(mcp_greeting());
  EXPECT_TRUE(
      eventually("it waits", [&] { return state_of(gateway_).number("/backends/0/queued") == 1; }));
  finish_work();
  EXPECT_THAT(socket.message(), HasSubstr("protocolVersion"));
}

TEST_F(OnePlace, ThatIsNeededByTwoIsTooFew) {
  finish_work();
  HttpClient client = gateway_.connect();
  const std::string other = open_mcp_session(client);
  for (int turn = 0; turn < 2; ++turn) {
    for (const std::string& id : {id_, other}) {
      EXPECT_THAT(client.post("/mcp", request("pid"), in_mcp_session(id)).body,
                  HasSubstr("result"));
    }
  }
  EXPECT_EQ(state_of(gateway_).number("/backends/0/missing_places"), 1);
  const auto told = log_of(gateway_, "sessions take turns");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].text("/level"), "warn");
  EXPECT_EQ(told[0].number("/sessions"), 2);
  EXPECT_EQ(told[0].number("/places"), 1);
  EXPECT_EQ(told[0].number("/missing"), 1);
  EXPECT_THAT(told[0].text("/hint"), HasSubstr("raise backends.main.pool.max by 1"));
}

// Every WebSocket counts as a session, even if its client never begins an MCP session.
TEST(Places, AreNotTakenByWebSocketsThatNeedNone) {
  GatewayProcess gateway(serve_one(puppet("mcp"), "protocol: mcp, pool: { max: 4 }"));
  WebSocketClient socket(gateway.url());
  socket.send(modern_request("server/discover", ""));
  EXPECT_THAT(socket.message(), HasSubstr(R"("id")"));
  const JsonValue state = state_of(gateway);
  EXPECT_EQ(state.number("/backends/0/sessions"), 1);
  EXPECT_EQ(state.number("/backends/0/parked_sessions"), 1);
  for (size_t i = 0; i < state.size("/backends/0/children"); ++i) {
    EXPECT_FALSE(state.has("/backends/0/children/" + std::to_string(i) + "/leased"));
  }
  const auto started = gateway.metrics().sum("stdgate_child_starts_total", {});
  WebSocketClient silent(gateway.url());
  EXPECT_EQ(gateway.metrics().sum("stdgate_child_starts_total", {}), started);
  socket.send(mcp_greeting());
  EXPECT_THAT(socket.message(), HasSubstr("protocolVersion"));
}

}  // namespace

}  // namespace stdgate::harness::session_test
