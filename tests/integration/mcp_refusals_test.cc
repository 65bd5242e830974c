// Requests that /mcp refuses with an HTTP status. The body is still a JSON-RPC error, with the id
// of the request if it is known, and the connection remains usable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/integration/harness/setups.h"

namespace stdgate::harness::mcp_refusals_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kInvalid = "-32600";
constexpr const char* kOverloaded = "-31503";
constexpr const char* kTooLarge = "-31413";
constexpr const char* kParseError = "-32700";

std::string initialize(const std::string& id, const std::string& revision = "2025-11-25") {
  return request("initialize",
                 R"({"protocolVersion":")" + revision +
                     R"(","capabilities":{},"clientInfo":{"name":"c","version":"1"}})",
                 id);
}

Headers usual(Headers more = {}) {
  more.try_emplace("accept", "application/json, text/event-stream");
  more.try_emplace("content-type", "application/json");
  return more;
}

// The field with two values: once in lower case, once capitalized.
Headers twice(const std::string& name, const std::string& first, const std::string& second,
              Headers more = {}) {
  std::string again = name;
  again[0] = static_cast<char>(again[0] - 'a' + 'A');
  more[name] = first + "\r\n" + again + ": " + second;
  return more;
}

// A gateway that allows a single session.
GatewaySetup one_session(const std::string& root = "") {
  return serve_one(puppet("mcp"), "protocol: mcp, pool: { max: 1, sessions: 1, grace: 1s }", root);
}

struct McpClient {
  explicit McpClient(const GatewayProcess& gateway, const std::string& revision = "2025-11-25")
      : http(gateway.connect()) {
    const HttpResponse opened = http.post("/mcp", initialize("0", revision), usual());
    EXPECT_EQ(opened.status, 200) << opened.body;
    session = opened.header("mcp-session-id");
  }
  [[nodiscard]] Headers with_session(Headers more = {}) const {
    more.emplace("mcp-session-id", session);
    return usual(std::move(more));
  }

  HttpClient http;
  std::string session;
};

struct Refusal {
  std::string name;
  std::string method;
  Headers headers;
  std::string body;
  int status;
  std::string code;
  std::string id = "null";
};

void expect_refusal(const HttpResponse& response, const Refusal& refusal) {
  EXPECT_EQ(response.status, refusal.status) << refusal.name;
  EXPECT_EQ(response.header("content-type"), "application/json") << refusal.name;
  EXPECT_THAT(response.body, StartsWith(R"({"jsonrpc":"2.0","id":)" + refusal.id +
                                        R"(,"error":{"code":)" + refusal.code + R"(,"message":")"))
      << refusal.name;
  EXPECT_NE(JsonValue(response.body).text("/error/message"), "") << refusal.name;
}

HttpResponse ask(HttpClient& client, const Refusal& refusal) {
  client.send_request(refusal.method, "/mcp", refusal.body, refusal.headers);
  return client.read_response();
}

void check(HttpClient& client, const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) expect_refusal(ask(client, refusal), refusal);
}

const std::string kList = request("tools/list", "", "\"seven\"");

TEST(McpRefusals, OfTheHead) {
  GatewayProcess gateway(one_session());
  HttpClient client = gateway.connect();
  check(client,
        {
            {"Origin", "POST", usual({{"origin", "https://evil.example"}}), kList, 403, kInvalid},
            {"Host", "POST", usual({{"host", "evil.example"}}), kList, 403, kInvalid},
            {"site", "POST", usual({{"sec-fetch-site", "cross-site"}}), kList, 403, kInvalid},
            {"method", "PUT", usual(), "", 405, kInvalid},
            {"Accept", "POST", usual({{"accept", "application/json"}}), kList, 406, kInvalid},
            {"no Accept for a stream", "GET", usual({{"accept", "text/html"}}), "", 406, kInvalid},
            {"type", "POST", usual({{"content-type", "text/plain"}}), kList, 415, kInvalid},
            {"encoding", "POST", usual({{"content-encoding", "gzip"}}), kList, 415, kInvalid},
            {"version", "GET", usual({{"mcp-protocol-version", "1999-01-01"}}), "", 400, kInvalid},
            {"two sessions", "GET", usual(twice("mcp-session-id", "a", "b")), "", 400, kInvalid},
            {"two sessions to end", "DELETE", usual(twice("mcp-session-id", "a", "b")), "", 400,
             kInvalid},
        });
  EXPECT_EQ(client.get("/").status, 200);  // still the same connection
}

TEST(McpRefusals, OfFieldsThatAreThereTwice) {
  GatewayProcess gateway(one_session());
  HttpClient client = gateway.connect();
  check(client,
        {{"sessions", "POST", usual(twice("mcp-session-id", "a", "a")), kList, 400, kInvalid,
          "\"seven\""},
         {"versions", "POST", usual(twice("mcp-protocol-version", "2025-11-25", "2025-06-18")),
          kList, 400, kInvalid, "\"seven\""},
         {"events", "POST", usual(twice("last-event-id", "a", "b")), initialize("5"), 400, kInvalid,
          "5"}});
  const std::string modern =
      request("tools/list",
              R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
              R"("io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},)"
              R"("io.modelcontextprotocol/clientCapabilities":{}}})",
              "\"seven\"");
  const HttpResponse mismatch = client.post("/mcp", modern,
                                            usual(twice("mcp-method", "tools/list", "tools/call",
                                                        {{"mcp-protocol-version", "2026-07-28"}})));
  EXPECT_EQ(mismatch.status, 400);
  EXPECT_THAT(mismatch.body, AllOf(HasSubstr("\"code\":-32020"), HasSubstr("\"id\":\"seven\"")));
  // Contradictory fields are refused on other paths too, because a proxy in front may have acted on
  // the other value.
  const HttpResponse elsewhere =
      client.post("/rpc", kList, twice("mcp-method", "tools/list", "tools/call"));
  EXPECT_EQ(elsewhere.status, 400);
  EXPECT_TRUE(gateway.descendants().empty());
}

TEST(McpRefusals, OfMessages) {
  GatewayProcess gateway(one_session());
  HttpClient client = gateway.connect();
  const std::string batch = "[" + kList + "," + kList + "]";
  check(client,
        {
            {"no JSON", "POST", usual(), "{", 400, kParseError},
            {"empty batch", "POST", usual(), "[]", 400, kInvalid},
            {"no envelope", "POST", usual(), R"({"id":5})", 400, kInvalid, "5"},
            {"wrong version", "POST", usual(), R"({"jsonrpc":"1.0","id":5,"method":"a"})", 400,
             kInvalid, "5"},
            {"bad response", "POST", usual(), R"({"jsonrpc":"2.0","id":5,"result":1,"error":1})",
             400, kInvalid},
            {"batch of bad envelopes", "POST", usual(), R"([{"id":5},1])", 400, kInvalid},
            {"null id", "POST", usual(), request("tools/list", "", "null"), 400, kInvalid},
            {"null id of initialize", "POST", usual(), initialize("null"), 400, kInvalid},
            {"null id in a batch", "POST", usual(),
             "[" + kList + "," + request("ping", "", "null") + "]", 400, kInvalid},
            {"no session", "POST", usual(), kList, 400, kInvalid, "\"seven\""},
            {"no session, batch", "POST", usual(), batch, 400, kInvalid},
            {"no session, notification", "POST", usual(), request("notifications/x", "", ""), 400,
             kInvalid},
            {"no session, response", "POST", usual(), R"({"jsonrpc":"2.0","id":5,"result":{}})",
             400, kInvalid},
            {"no session to listen to", "GET", usual(), "", 400, kInvalid},
            {"no session to end", "DELETE", usual(), "", 400, kInvalid},
            {"unknown session", "POST", usual({{"mcp-session-id", "x"}}), kList, 404, kInvalid,
             "\"seven\""},
            {"unknown session, batch", "POST", usual({{"mcp-session-id", "x"}}), batch, 404,
             kInvalid},
            {"unknown session, GET", "GET", usual({{"mcp-session-id", "x"}}), "", 404, kInvalid},
            {"unknown session, DELETE", "DELETE", usual({{"mcp-session-id", "x"}}), "", 404,
             kInvalid},
            {"batch of initialize", "POST", usual(), "[" + initialize("5") + "]", 400, kInvalid},
            {"version", "POST", usual({{"mcp-protocol-version", "1999-01-01"}}), kList, 400,
             kInvalid, "\"seven\""},
        });
  EXPECT_EQ(client.get("/").status, 200);
  EXPECT_TRUE(gateway.descendants().empty());
}

TEST(McpRefusals, OfASession) {
  GatewayProcess gateway(one_session());
  McpClient client(gateway);
  check(
      client.http,
      {
          {"initialized twice", "POST", client.with_session(), initialize("5"), 400, kInvalid, "5"},
          {"no batches", "POST", client.with_session(), "[" + kList + "]", 400, kInvalid},
          {"unknown event", "GET", client.with_session({{"last-event-id", "nonsense"}}), "", 400,
           kInvalid},
      });
  HttpClient second = gateway.connect();
  const Refusal full{"no more sessions", "POST", usual(), initialize("\"a\""), 503,
                     kOverloaded,        "\"a\""};
  const HttpResponse refused = ask(second, full);
  expect_refusal(refused, full);
  EXPECT_NE(refused.header("retry-after"), "");
}

// A batch with at least one good message is answered message by message.
TEST(McpRefusals, NotOfABatchWithAGoodMessage) {
  GatewayProcess gateway(one_session());
  McpClient client(gateway, "2025-03-26");
  client.http.post("/mcp", request("notifications/initialized", "", ""), client.with_session());
  const HttpResponse answer =
      client.http.post("/mcp", "[" + kList + R"(,{"id":5}])", client.with_session());
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr(R"("id":5,"error":{"code":-32600)"));
  EXPECT_THAT(answer.body, HasSubstr(R"("id":"seven")"));
}

TEST(McpRefusals, OfWhatIsNoLongerKept) {
  GatewayProcess gateway(one_session("limits: { replay_events: 1 }\n"));
  McpClient client(gateway);
  client.http.post("/mcp", request("notifications/initialized", "", ""), client.with_session());
  client.http.send_request("POST", "/mcp",
                           request("meet", R"({"notes":3,"_meta":{"progressToken":"t"}})", "5"),
                           client.with_session());
  HttpClient other = gateway.connect();
  other.send_request("POST", "/mcp",
                     request("meet", R"({"notes":3,"_meta":{"progressToken":"u"}})", "6"),
                     client.with_session());
  EXPECT_EQ(client.http.read_head().status, 200);
  std::vector<std::string> ids;
  while (const auto event = client.http.read_event()) ids.push_back(event->id);
  EXPECT_EQ(other.read_head().status, 200);
  while (other.read_event()) {
  }
  ASSERT_GE(ids.size(), 3u);
  check(other, {{"what followed is lost", "GET",
                 client.with_session({{"last-event-id", ids.front()}}), "", 410, kInvalid}});
}

TEST(McpRefusals, OfBodies) {
  GatewayProcess gateway(one_session("limits: { message: 1KiB }\n"));
  const Refusal too_large{"too large", "POST", usual(), std::string(1025, ' '), 413, kTooLarge};
  HttpClient client = gateway.connect();
  expect_refusal(ask(client, too_large), too_large);
  HttpClient chunked = gateway.connect();
  chunked.send(
      "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Accept: application/json, text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n");
  expect_refusal(chunked.read_response(), {"chunks", "POST", {}, "", 400, kInvalid});
}

// A failed initialization begins no session: the client gets no id, and the gateway keeps nothing.
TEST(McpRefusals, ByTheServerBeginNoSession) {
  struct Failure {
    std::string name;
    Command command;
    std::string timeout = "60s";
  };
  for (const Failure& failure :
       {Failure{"refuses", puppet("mcp-refusing")}, Failure{"crashes", shell("read line; exit 3")},
        Failure{"is silent", shell("cat > /dev/null"), "300ms"}}) {
    GatewayProcess gateway(serve_one(
        failure.command,
        "protocol: mcp, bridge: false, pool: { min: 0, grace: 1s }, timeout: " + failure.timeout));
    HttpClient client = gateway.connect();
    const HttpResponse refused = client.post("/mcp", initialize("5"), usual());
    EXPECT_NE(JsonValue(refused.body).text("/error/message"), "") << failure.name;
    EXPECT_FALSE(refused.headers.contains("mcp-session-id")) << failure.name;
    EXPECT_TRUE(eventually("no session is left", [&] {
      const JsonValue state = state_of(gateway);
      return state.number("/backends/0/sessions") == 0 &&
             state.number("/backends/0/parked_sessions") == 0;
    })) << failure.name;
  }
}

TEST(McpRefusals, ByAFullQueueBeginNoSession) {
  GatewayProcess gateway(serve_one(shell("cat > /dev/null"),
                                   "protocol: mcp, isolation: shared, revision: legacy, "
                                   "pool: { max: 1, queue: 2, remember: false, grace: 1s }"));
  std::vector<HttpClient> waiting;
  for (int i = 0; i < 2; ++i) {
    const std::string body = request("tools/list", "{}");
    waiting.push_back(gateway.connect());
    waiting.back().send(
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  ASSERT_TRUE(eventually("the queue is full",
                         [&] { return state_of(gateway).number("/backends/0/queued") == 2; }));
  HttpClient client = gateway.connect();
  const HttpResponse refused = client.post("/mcp", initialize("5"), usual());
  EXPECT_EQ(refused.status, 503) << refused.body;
  EXPECT_FALSE(refused.headers.contains("mcp-session-id"));
  EXPECT_EQ(state_of(gateway).number("/backends/0/sessions"), 0);
}

}  // namespace
}  // namespace stdgate::harness::mcp_refusals_test
