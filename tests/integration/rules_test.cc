// Rules on every transport: for a client, a denied method or element does not exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"
#include "tests/support/test_folder.h"

namespace stdgate::harness::rules_test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kRules = R"(protocol: mcp, isolation: shared, pool: { min: 1, max: 1 },
      rules: [ { allow: ["*"], methods: [history] }, { allow: ["*"], tools: ["read_*"] },
               { allow: ["*"], resources: ["file:///open/*"], prompts: [greet] },
               { allow: [admin] } ])";

const Headers& takes_both() {
  static const Headers kBoth = {{"accept", "application/json, text/event-stream"}};
  return kBoth;
}

std::string initialize() {
  return request(
      "initialize",
      R"({"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}})");
}

// Sends a request and returns its answer.
using Ask = std::function<std::string(const std::string& request)>;

// The body, or the first event of a stream. A denied request gets no stream.
std::string data_of(const HttpResponse& response) {
  const size_t at = response.body.find("data: ");
  if (at == std::string::npos) return response.body;
  return response.body.substr(at + 6, response.body.find('\n', at) - at - 6);
}

// Calls `check` for each transport, with a function that asks over this transport.
void over_each_transport(const GatewayProcess& gateway,
                         const std::function<void(const std::string&, const Ask&)>& check) {
  HttpClient rpc = gateway.connect();
  check("/rpc", [&](const std::string& text) { return rpc.post("/rpc", text).body; });
  check("batch", [&](const std::string& text) {
    const std::string body = rpc.post("/rpc", "[" + text + "]").body;
    return body.size() > 2 ? body.substr(1, body.size() - 2) : body;
  });
  check("/rpc as events", [&](const std::string& text) {
    HttpClient client = gateway.connect();
    client.send_request("POST", "/rpc", text, wants_events());
    return data_of(client.read_response());
  });
  HttpClient mcp = gateway.connect();
  Headers session = takes_both();
  session["mcp-session-id"] = mcp.post("/mcp", initialize(), takes_both()).header("mcp-session-id");
  check("/mcp", [&](const std::string& text) { return data_of(mcp.post("/mcp", text, session)); });
  WebSocketClient socket(gateway.url());
  check("/ws", [&](const std::string& text) {
    socket.send(text);
    return socket.message();
  });
  HttpClient stream = gateway.connect();
  stream.send_request("GET", "/sse", "", wants_events());
  stream.read_head();
  const std::string endpoint = stream.read_event()->data;
  HttpClient poster = gateway.connect();
  check("/sse", [&](const std::string& text) {
    EXPECT_EQ(poster.post(endpoint, text).status, 202);
    return stream.read_event()->data;
  });
}

TEST(Rules, WhomNoRuleIsAboutGetsNothing) {
  const test::TestFolder folder;
  folder.write("ada", "the-key-of-ada-1234\n");
  folder.write("eve", "the-key-of-eve-1234\n");
  GatewayProcess gateway(serve_one(
      puppet("mcp-library"),
      "protocol: mcp, isolation: session, rules: [ { allow: [reader], tools: [\"read_*\"] } ]",
      "auth: { api_keys: [ { name: ada, roles: [reader], file: " + folder.path("ada") +
          " }, { name: eve, roles: [other], file: " + folder.path("eve") + " } ] }\n"));
  const auto as = [](const std::string& name) {
    return Headers{{"authorization", "Bearer the-key-of-" + name + "-1234"},
                   {"accept", "application/json, text/event-stream"}};
  };
  const HttpResponse refused = gateway.connect().post("/mcp", initialize(), as("eve"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, AllOf(HasSubstr("no rule of this backend is about you"),
                                  HasSubstr("-31403"), Not(HasSubstr("serverInfo"))));
  for (const char* method : {"initialize", "ping", "server/discover", "tools/list"}) {
    EXPECT_THAT(gateway.connect().post("/rpc", request(method), as("eve")).body,
                HasSubstr("-32601"))
        << method;
  }
  const std::string meta = R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                           R"("io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},)"
                           R"("io.modelcontextprotocol/clientCapabilities":{}}})";
  Headers modern = as("eve");
  modern["mcp-protocol-version"] = "2026-07-28";
  modern["mcp-method"] = "server/discover";
  EXPECT_THAT(gateway.connect().post("/mcp", request("server/discover", meta), modern).body,
              HasSubstr("-32601"));
  Headers upgrade = handshake_fields();
  upgrade.merge(as("eve"));
  HttpClient socket = gateway.connect();
  socket.send_request("GET", "/ws", "", upgrade);
  EXPECT_EQ(socket.read_response().status, 403);
  EXPECT_EQ(gateway.metrics().sum("stdgate_child_starts_total"), 0);
  EXPECT_EQ(gateway.connect().post("/mcp", initialize(), as("ada")).status, 200);
}

std::vector<std::string> history_of(const GatewayProcess& gateway) {
  HttpClient client = gateway.connect();
  return JsonValue(call(client, "history").body).texts("/result");
}

TEST(Rules, WhatIsDeniedDoesNotExistOnAnyTransport) {
  GatewayProcess gateway(serve_one(puppet("mcp-library"), kRules));
  const std::pair<std::string, std::string> denied[] = {
      {request("tools/call", R"({"name":"delete_file"})"), "Unknown tool: delete_file"},
      {request("tools/call", R"({"name":"\u0064elete_file"})"), "Unknown tool: delete_file"},
      {request("prompts/get", R"({"name":"secret"})"), "Unknown prompt: secret"},
      {request("resources/read", R"({"uri":"file:///b"})"), "Resource not found"},
      {request("resources/read", R"({"uri":"file:///open/../b"})"), "Resource not found"},
      {request("resources/subscribe", R"({"uri":"file:///b"})"), "Resource not found"},
      {request("pid", "{}"), "Method not found"},
  };
  over_each_transport(gateway, [&](const std::string& transport, const Ask& ask) {
    for (const auto& [text, message] : denied) {
      EXPECT_EQ(JsonValue(ask(text)).text("/error/message"), message) << transport << " " << text;
    }
    EXPECT_THAT(ask(request("tools/call", R"({"name":"read_file","name":"delete_file"})")),
                HasSubstr("-32600"))
        << transport;
    EXPECT_THAT(ask(request("tools/call", R"({"name":"read_file"})")), HasSubstr("isError"))
        << transport;
  });
  const std::vector<std::string> seen = history_of(gateway);
  EXPECT_THAT(seen, Each(AllOf(Not(HasSubstr("elete_file")), Not(HasSubstr("secret")),
                               Not(HasSubstr("///b")), Not(HasSubstr("\"pid\"")))));
}

TEST(Rules, ListsAreCutOnEveryTransport) {
  GatewayProcess gateway(serve_one(puppet("mcp-library"), kRules));
  over_each_transport(gateway, [&](const std::string& transport, const Ask& ask) {
    // The cursor in the answer is sealed.
    EXPECT_THAT(
        ask(request("tools/list", "{}")),
        AllOf(HasSubstr(
                  R"("result":{"tools":[ {"name":"read_file","title":"\u00e4"} ],"nextCursor":")"),
              Not(HasSubstr(R"("nextCursor":"2")"))))
        << transport;
    EXPECT_THAT(ask(request("resources/list", "{}")),
                HasSubstr(R"({"resources":[{"uri":"file:///open/a","name":"a"}]})"))
        << transport;
    EXPECT_THAT(ask(request("resources/templates/list", "{}")),
                HasSubstr(R"({"resourceTemplates":[{"uriTemplate":"file:///open/{x}"}]})"))
        << transport;
    EXPECT_THAT(ask(request("prompts/list", "{}")), HasSubstr(R"({"prompts":[{"name":"greet"}]})"))
        << transport;
  });
}

TEST(Rules, DeniedCallsAreCountedAndLogged) {
  GatewayProcess gateway(serve_one(puppet("mcp-library"), kRules));
  HttpClient client = gateway.connect();
  EXPECT_EQ(call(client, "tools/call", R"({"name":"delete_file"})").status, 200);
  EXPECT_EQ(client.post("/rpc", request("notifications/made-up", "{}", "")).status, 204);
  const MetricsText metrics = gateway.metrics();
  EXPECT_EQ(metrics.sum("stdgate_request_duration_seconds_count", {{"outcome", "denied"}}), 1);
  EXPECT_EQ(metrics.sum("stdgate_messages_dropped_total", {{"reason", "denied"}}), 1);
  EXPECT_TRUE(eventually("the call is logged", [&] { return !log_of(gateway, "call").empty(); }));
  const std::vector<JsonValue> lines = log_of(gateway, "call");
  EXPECT_EQ(lines.front().text("/outcome"), "denied");
  EXPECT_EQ(lines.front().text("/tool"), "delete_file");
}

// 127.0.0.1 is one client, no matter how many connections it has.
TEST(ClientLimits, ARateIsAnsweredBy429) {
  GatewayProcess gateway(serve_one(
      demo_server(), "protocol: jsonrpc, calls_per_principal: { rate: 2/m, in_flight: 8 }"));
  for (int i = 0; i < 2; ++i) {
    HttpClient client = gateway.connect();
    EXPECT_EQ(call(client, "echo", "[1]").status, 200);
  }
  HttpClient client = gateway.connect();
  const HttpResponse refused = call(client, "echo", "[1]");
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.body, HasSubstr("too many calls of this client"));
  const int wait = std::stoi(refused.header("retry-after"));
  EXPECT_GT(wait, 10);
  EXPECT_LE(wait, 30);
  WebSocketClient socket(gateway.url());
  EXPECT_THAT(socket.call("echo", "[1]"), HasSubstr("too many calls of this client"));
  EXPECT_EQ(gateway.metrics().sum("stdgate_rejected_total", {{"reason", "rate"}}), 2);
}

TEST(ClientLimits, AllClientsTogether) {
  GatewayProcess gateway(
      serve({backend("one", demo_server(), "calls: { rate: 2/h }"), backend("two", demo_server())},
            "calls: { rate: 4/h }"));
  HttpClient client = gateway.connect();
  const auto ask = [&client](const std::string& name) {
    const HttpResponse answer = client.post("/" + name + "/rpc", request("echo", "[1]"));
    return std::to_string(answer.status) + " " + answer.body;
  };
  EXPECT_THAT(ask("one"), HasSubstr("200 "));
  EXPECT_THAT(ask("one"), HasSubstr("200 "));
  EXPECT_THAT(ask("one"), AllOf(HasSubstr("429 "), HasSubstr("too many calls of this backend")));
  EXPECT_THAT(ask("two"), HasSubstr("200 "));
  EXPECT_THAT(ask("two"), HasSubstr("200 "));
  EXPECT_THAT(ask("two"), AllOf(HasSubstr("429 "), HasSubstr(R"("too many calls")")));
  EXPECT_EQ(gateway.metrics().sum("stdgate_rejected_total", {{"reason", "rate"}}), 2);
}

TEST(ClientLimits, SessionsOfOneClient) {
  GatewayProcess gateway(serve_one(
      puppet("mcp"), "protocol: mcp, pool: { max: 4 }, calls_per_principal: { sessions: 2 }"));
  const Headers both = {{"accept", "application/json, text/event-stream"}};
  HttpClient client = gateway.connect();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(client.post("/mcp", initialize(), both).status, 200);
  const HttpResponse refused = client.post("/mcp", initialize(), both);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.header("retry-after"), "1");
  EXPECT_EQ(gateway.metrics().sum("stdgate_rejected_total", {{"reason", "sessions"}}), 1);
}

// A list of methods needs neither principals nor MCP.
TEST(Rules, AnAllowlistOfMethods) {
  GatewayProcess gateway(
      serve({backend("calc", demo_server(), "protocol: jsonrpc, methods: [\"math/*\", echo]")}));
  HttpClient client = gateway.connect();
  EXPECT_EQ(client.post("/calc/rpc", request("math/add", "[2,3]")).body, result("1", "5"));
  EXPECT_EQ(client.post("/calc/rpc", request("echo", "[1]")).body, result("1", "[1]"));
  const HttpResponse denied = client.post("/calc/rpc", request("sleep", "[2,3]"));
  EXPECT_EQ(denied.status, 200);
  EXPECT_EQ(denied.body,
            R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}})");
  const std::string batch = client
                                .post("/calc/rpc", "[" + request("sleep", "[2,3]", "1") + "," +
                                                       request("math/add", "[2,3]", "2") + "]")
                                .body;
  EXPECT_THAT(batch, AllOf(HasSubstr("-32601"), HasSubstr(R"("id":2,"result":5)")));
}

}  // namespace
}  // namespace stdgate::harness::rules_test
