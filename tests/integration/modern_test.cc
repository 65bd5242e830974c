// Requests of MCP's modern era over sockets, at servers of both eras: arguments repeated in header
// fields, kept answers, and messages over WebSockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/integration/harness/mcp_requests.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"
#include "tests/support/test_folder.h"

namespace stdgate::harness::modern_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// modern.py (legacy | modern): a server that counts the requests for its list. The argument
// "region" of its tool is repeated in a header field.
constexpr const char* kServer = R"py(
import json, sys
ERA = sys.argv[1]
TOOL = {"name": "sql", "inputSchema": {"type": "object", "properties": {
    "region": {"type": "string", "x-mcp-header": "Region"},
    "query": {"type": "string"}}}}
lists = 0
cancelled = 0
listening = []
def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def tagged(id):
    return {"_meta": {"io.modelcontextprotocol/subscriptionId": id}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        if message["method"] == "notifications/cancelled":
            cancelled += 1
            id = message["params"]["requestId"]
            listening = [other for other in listening if other != id]
        continue
    method, error = message["method"], None
    if method == "initialize" and ERA == "legacy":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}},
                  "serverInfo": {"name": "s", "version": "1"}}
    elif method == "server/discover" and ERA == "modern":
        result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    elif method == "tools/list":
        lists += 1
        result = {"tools": [TOOL], "count": lists}
        if ERA == "modern":
            result.update({"resultType": "complete", "ttlMs": 600000, "cacheScope": "public"})
    elif method == "tools/call":
        result = {"content": [], "lists": lists}
    elif method == "subscriptions/listen" and ERA == "modern":
        listening.append(message["id"])
        say({"method": "notifications/subscriptions/acknowledged",
             "params": {**tagged(message["id"]), "notifications": {"toolsListChanged": True}}})
        continue
    elif method == "change":
        for id in listening:
            say({"method": "notifications/tools/list_changed", "params": tagged(id)})
        if ERA == "legacy":
            say({"method": "notifications/tools/list_changed"})
        result = {}
    elif method == "hang":
        continue
    elif method == "cancelled":
        result = {"cancelled": cancelled}
    else:
        error = {"code": -32601, "message": "no"}
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    reply.update({"error": error} if error else {"result": result})
    print(json.dumps(reply), flush=True)
)py";

std::string compact(std::string text) {
  std::erase(text, ' ');
  return text;
}

class ModernEra : public testing::TestWithParam<std::string> {
 protected:
  ModernEra() { folder_.write("modern.py", kServer); }

  GatewaySetup setup(const std::string& options = "isolation: shared") {
    return serve_one({"python3", folder_.path("modern.py"), GetParam()},
                     "protocol: mcp, revision: " + GetParam() + ", " + options);
  }

  test::TestFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Servers, ModernEra, testing::Values("legacy", "modern"),
                         [](const auto& server) { return server.param; });

TEST_P(ModernEra, RepeatedArgumentsAreCompared) {
  GatewayProcess gateway(setup());
  HttpClient client = gateway.connect();
  const auto call = [&](const std::string& arguments, const Headers& fields) {
    return client.post("/mcp",
                       modern_request("tools/call", R"("name":"sql","arguments":)" + arguments),
                       modern_headers("tools/call", "sql", fields));
  };
  const std::string west = R"({"region":"us-west1","query":"SELECT 1"})";
  const std::pair<std::string, Headers> refused[] = {
      {west, {}},
      {west, {{"mcp-param-region", "us-east1"}}},
      {west, {{"mcp-param-region", "=?base64?dXMtZWFzdDE=?="}}},
      {west, {{"mcp-param-region", "\xC3\xA4"}}},
      {R"({"query":"SELECT 1"})", {{"mcp-param-region", "us-west1"}}},
  };
  for (const auto& [arguments, fields] : refused) {
    const HttpResponse response = call(arguments, fields);
    EXPECT_EQ(response.status, 400) << response.body;
    EXPECT_THAT(
        response.body,
        HasSubstr(R"("error":{"code":-32020,"message":"Header mismatch: Mcp-Param-Region)"));
  }
  const std::pair<std::string, Headers> taken[] = {
      {west, {{"mcp-param-region", "us-west1"}, {"mcp-param-tenant", "x"}}},
      {west, {{"Mcp-Param-REGION", "=?base64?dXMtd2VzdDE=?="}}},
      {R"({"region":null})", {}},
      {"{}", {}},
  };
  for (const auto& [arguments, fields] : taken) {
    const HttpResponse response = call(arguments, fields);
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_THAT(response.body, HasSubstr(R"("lists": 1)")) << "one list, for all of them";
  }
  const MetricsText calls = gateway.metrics();
  EXPECT_EQ(calls.sum("stdgate_mcp_requests_total"), 9) << "its own list is none";
}

TEST_P(ModernEra, AnswersAreKept) {
  for (const bool keeps : {true, false}) {
    const std::string cache = keeps ? "true" : "false";
    GatewayProcess gateway(setup("isolation: shared, cache: " + cache));
    const auto list = [&] {
      return gateway.connect()
          .post("/mcp", modern_request("tools/list", ""), modern_headers("tools/list", ""))
          .body;
    };
    EXPECT_THAT(list(), HasSubstr(R"("count": 1)"));
    const bool is_kept = keeps && GetParam() == "modern";
    const JsonValue again(list());
    EXPECT_EQ(again.number("/result/count"), is_kept ? 1 : 2);
    if (is_kept) {
      EXPECT_LT(again.number("/result/ttlMs"), 600000);
    }
    EXPECT_EQ(gateway.metrics().sum("stdgate_mcp_cache_hits_total"), is_kept ? 1 : 0);
  }
}

// --- Over WebSockets, where the rules of stdio apply

TEST_P(ModernEra, MessagesOverWebSocketsStandAlone) {
  GatewayProcess gateway(setup());
  WebSocketClient socket(gateway.url());
  socket.send(modern_request("server/discover", ""));
  EXPECT_THAT(socket.message(), HasSubstr("supportedVersions"));
  socket.send(modern_request("tools/call", R"("name":"sql","arguments":{"region":"a"})"));
  EXPECT_THAT(socket.message(), HasSubstr(R"("lists": 0)")) << "there are no headers to compare";
  // A message without a version is legacy. A connection may mix both eras.
  socket.send(request("initialize",
                      R"({"protocolVersion":"2025-11-25","capabilities":{},)"
                      R"("clientInfo":{"name":"c","version":"1"}})",
                      "\"i\""));
  EXPECT_THAT(compact(socket.message()),
              AllOf(HasSubstr(R"("id":"i")"), HasSubstr(R"("protocolVersion":"2025-11-25")")));
  socket.send(modern_request("tools/list", ""));
  EXPECT_THAT(socket.message(), HasSubstr(R"("name": "sql")"));
  const MetricsText metrics = gateway.metrics();
  EXPECT_EQ(metrics.sum("stdgate_mcp_requests_total"), 3);
}

TEST_P(ModernEra, WhatIsWrongWithAMessageOverAWebSocketIsSaid) {
  GatewayProcess gateway(setup());
  WebSocketClient socket(gateway.url());
  const std::string version = R"("io.modelcontextprotocol/protocolVersion":")";
  const std::string good = R"({"_meta":{)" + version +
                           R"(2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}})";
  const std::pair<std::string, std::string> cases[] = {
      {request("tools/list", R"({"_meta":{)" + version + R"(2026-07-28"}})"),
       R"(1,"error":{"code":-32602)"},
      {request("tools/list", R"({"_meta":{)" + version + R"(2027-01-01"}})"),
       R"(1,"error":{"code":-32022)"},
      {modern_request("ping", ""), R"(1,"error":{"code":-32601)"},
      {modern_request("initialize", ""), R"(1,"error":{"code":-32601)"},
      {modern_request("tools/call", ""), R"(1,"error":{"code":-32602)"},
      {request("tools/list", good, "null"), R"(null,"error":{"code":-32600)"},
      {"[" + modern_request("tools/list", "") + "]", R"(null,"error":{"code":-32600)"},
  };
  for (const auto& [text, expected] : cases) {
    socket.send(text);
    EXPECT_THAT(socket.message(), StartsWith(R"({"jsonrpc":"2.0","id":)" + expected)) << text;
  }
  socket.send(modern_request("tools/list", ""));
  EXPECT_THAT(socket.message(), HasSubstr("sql"));
}

TEST_P(ModernEra, ACallOverAWebSocketIsCancelledByANotification) {
  GatewayProcess gateway(setup());
  WebSocketClient socket(gateway.url());
  socket.send(modern_request("hang", ""));
  await_in_flight(gateway, 1);
  socket.send(request("notifications/cancelled", R"({"requestId":1})", ""));
  await_in_flight(gateway, 0);
  socket.send(modern_request("cancelled", ""));
  EXPECT_EQ(JsonValue(socket.message()).number("/result/cancelled"), 1) << "it is not answered";
  WebSocketClient other(gateway.url());
  other.send(modern_request("hang", ""));
  await_in_flight(gateway, 1);
  other.send_close(1000);
  await_in_flight(gateway, 0);
  socket.send(modern_request("cancelled", ""));
  EXPECT_EQ(JsonValue(socket.message()).number("/result/cancelled"), 2) << "a client that leaves";
}

// Also with `isolation: session`, where the end of a connection otherwise ends only the calls of
// its session.
TEST_P(ModernEra, ACallOverAWebSocketEndsWithTheConnection) {
  GatewayProcess gateway(setup("bridge: true"));
  WebSocketClient socket(gateway.url());
  socket.send(modern_request("hang", ""));
  await_in_flight(gateway, 1);
  socket.send_close(1000);
  await_in_flight(gateway, 0);
}

TEST_P(ModernEra, ListeningOverAWebSocket) {
  GatewayProcess gateway(setup());
  WebSocketClient silent(gateway.url());
  silent.send(modern_request("tools/list", ""));
  silent.message();
  WebSocketClient socket(gateway.url());
  socket.send(request("subscriptions/listen",
                      R"({"notifications":{"toolsListChanged":true},"_meta":)"
                      R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                      R"("io.modelcontextprotocol/clientCapabilities":{}}})",
                      "\"s\""));
  const std::string tag = R"("io.modelcontextprotocol/subscriptionId":"s")";
  EXPECT_THAT(compact(socket.message()), AllOf(HasSubstr("acknowledged"), HasSubstr(tag)));
  socket.send(modern_request("change", ""));
  const std::string one = compact(socket.message());
  const std::string other = compact(socket.message());
  EXPECT_THAT(one + other, AllOf(HasSubstr("tools/list_changed"), HasSubstr(tag)));
  silent.send(modern_request("prompts/list", ""));
  EXPECT_THAT(silent.message(), HasSubstr("-32601")) << "it has heard of no change";
  socket.send(request("notifications/cancelled", R"({"requestId":"s"})", ""));
  await_in_flight(gateway, 0);
  socket.send(modern_request("change", ""));
  EXPECT_THAT(socket.message(), HasSubstr(R"("result")"));
}

}  // namespace
}  // namespace stdgate::harness::modern_test
