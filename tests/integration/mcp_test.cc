// An MCP server behind POST /rpc: the gateway does the handshake, so callers only call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/harness/setups.h"

namespace stdgate::harness::mcp_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

GatewaySetup mcp(const std::string& mode, const std::string& more = "") {
  return serve_one(puppet(mode),
                   "protocol: mcp, pool: { min: 1, max: 1, backoff_min: 1ms }" + more);
}

std::vector<std::string> history_of(HttpClient& client) {
  return JsonValue(call(client, "history").body).texts("/result");
}

TEST(Mcp, CallsNeedNoHandshake) {
  GatewayProcess gateway(mcp("mcp"));
  HttpClient client = gateway.connect();
  const HttpResponse tools = call(client, "tools/list", "{}", "\"list\"");
  EXPECT_EQ(tools.status, 200);
  EXPECT_EQ(JsonValue(tools.body).text("/id"), "list");
  EXPECT_EQ(JsonValue(tools.body).text("/result/tools/0/name"), "fail");
  const std::vector<std::string> lines = history_of(client);
  ASSERT_THAT(lines, SizeIs(4));
  const JsonValue initialize(lines[0]);
  EXPECT_EQ(initialize.text("/method"), "initialize");
  EXPECT_EQ(initialize.text("/params/protocolVersion"), "2025-11-25");
  EXPECT_EQ(initialize.text("/params/clientInfo/name"), "stdgate");
  EXPECT_EQ(lines[1], R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  EXPECT_THAT(lines[2], HasSubstr("tools/list"));
}

// Metrics and the log name the transport of a call.
TEST(Mcp, TransportsAreToldApart) {
  GatewayProcess gateway(serve_one(puppet("mcp"), "protocol: mcp, pool: { max: 4 }"));
  const Headers both = {{"accept", "application/json, text/event-stream"}};
  const std::string initialize = request(
      "initialize",
      R"({"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}})");
  EXPECT_EQ(gateway.connect().post("/mcp", initialize, both).status, 200);
  HttpClient stream = gateway.connect();
  stream.send_request("GET", "/sse", "", wants_events());
  EXPECT_EQ(stream.read_head().status, 200);
  const auto endpoint = stream.read_event();
  ASSERT_TRUE(endpoint);
  EXPECT_EQ(gateway.connect().post(endpoint->data, initialize).status, 202);
  EXPECT_TRUE(stream.read_event());
  HttpClient client = gateway.connect();
  EXPECT_EQ(call(client, "tools/list").status, 200);
  for (const char* transport : {"mcp", "sse", "rpc"}) {
    EXPECT_EQ(gateway.metrics().sum("stdgate_request_duration_seconds_count",
                                    {{"transport", transport}, {"outcome", "ok"}}),
              1)
        << transport;
  }
  EXPECT_TRUE(
      eventually("three calls are logged", [&] { return log_of(gateway, "call").size() == 3; }));
  std::vector<std::string> logged;
  for (const JsonValue& line : log_of(gateway, "call")) logged.push_back(line.text("/transport"));
  EXPECT_THAT(logged, ElementsAre("mcp", "sse", "rpc"));
}

// Every URL on the landing page is served.
TEST(Mcp, TheLandingPageNamesWhatIsThere) {
  GatewayProcess gateway(
      serve({backend("tools", puppet("mcp"), "protocol: mcp, default: true, pool: { max: 4 }"),
             backend("calc", demo_server())}));
  const std::string host = gateway.url().substr(std::string("http://").size());
  const std::string page = gateway.connect().get("/", {{"host", host}}).body;
  size_t urls = 0;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    const size_t scheme = line.find("://");
    if (scheme == std::string::npos || line.find("  GET") == std::string::npos) continue;
    const size_t path = line.find('/', scheme + 3);
    EXPECT_EQ(line.substr(scheme + 3, path - scheme - 3), host);
    const std::string target = line.substr(path, line.find(' ', path) - path);
    const int status = gateway.connect().get(target, {{"accept", "text/html"}}).status;
    EXPECT_THAT(status, testing::AnyOf(406, 426)) << line;
    ++urls;
  }
  EXPECT_EQ(urls, 5U) << page;
  EXPECT_THAT(page, AllOf(HasSubstr("\"url\": \"" + gateway.url() + "/mcp\""),
                          HasSubstr(gateway.url() + "/calc/rpc")));
}

TEST(Mcp, ClientsThatDoTheHandshakeAreAnsweredWithoutASecondOne) {
  GatewayProcess gateway(mcp("mcp"));
  HttpClient client = gateway.connect();
  for (const std::string id : {"0", "\"init\""}) {
    const HttpResponse response = call(
        client, "initialize",
        R"({"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}})",
        id);
    EXPECT_EQ(response.status, 200);
    EXPECT_THAT(response.body, HasSubstr("\"id\":" + id + ","));
    EXPECT_EQ(JsonValue(response.body).text("/result/serverInfo/name"), "puppet");
    EXPECT_EQ(client.post("/rpc", request("notifications/initialized", "", "")).status, 204);
  }
  EXPECT_EQ(call(client, "tools/list").status, 200);
  EXPECT_THAT(history_of(client), ElementsAre(HasSubstr("initialize"), HasSubstr("initialized"),
                                              HasSubstr("tools/list"), HasSubstr("history")));
}

TEST(Mcp, ProgressGoesToItsCallEvenWhenTwoUseTheSameToken) {
  GatewayProcess gateway(mcp("mcp"));
  await_children(gateway, 1);
  const std::string question =
      request("meet", R"({"notes":3,"_meta":{"progressToken":"mine","other":1}})", "5");
  HttpClient first = gateway.connect();
  HttpClient second = gateway.connect();
  first.send_request("POST", "/rpc", question, wants_events());
  await_in_flight(gateway, 1);
  second.send_request("POST", "/rpc", question, wants_events());
  const std::map<HttpClient*, std::string> answers = {{&first, "\"first\""},
                                                      {&second, "\"second\""}};
  for (const auto& [client, answer] : answers) {
    EXPECT_EQ(client->read_head().status, 200);
    for (int note = 1; note <= 3; ++note) {
      EXPECT_EQ(client->read_event()->data,
                request("notifications/progress",
                        R"({"progressToken":"mine","progress":)" + std::to_string(note) + "}", ""));
    }
    EXPECT_EQ(client->read_event()->data, result("5", answer));
    EXPECT_EQ(client->read_event()->data, "[DONE]");
  }
}

TEST(Mcp, PingOfTheChildIsAnsweredAndOtherRequestsRefused) {
  GatewayProcess gateway(mcp("mcp"));
  HttpClient client = gateway.connect();
  call(client, "say", R"({"line":"{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}"})");
  call(client, "say",
       R"({"line":"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"sampling/createMessage\"}"})");
  std::vector<std::string> lines;
  EXPECT_TRUE(eventually("both are answered", [&] {
    lines = history_of(client);
    std::erase_if(lines, [](const std::string& line) {
      return line.find("\"method\"") != std::string::npos;
    });
    return lines.size() == 2;
  }));
  EXPECT_THAT(lines, ElementsAre(R"({"jsonrpc":"2.0","id":"p","result":{}})",
                                 AllOf(HasSubstr("\"id\":8,"), HasSubstr("-32601"))));
}

TEST(Mcp, CancelGoesToTheChildUnderItsOwnId) {
  GatewayProcess gateway(mcp("mcp", ", timeout: 100ms"));
  await_children(gateway, 1);
  HttpClient client = gateway.connect();
  const HttpResponse late = call(client, "hang");
  EXPECT_EQ(late.status, 504);
  EXPECT_THAT(late.body, HasSubstr("\"code\":-31504"));  // MCP reserves -32000 to -32099
  const std::vector<std::string> lines = history_of(client);
  ASSERT_THAT(lines, SizeIs(5));
  const JsonValue cancel(lines[3]);
  EXPECT_EQ(cancel.text("/method"), "notifications/cancelled");
  EXPECT_EQ(cancel.number("/params/requestId"), JsonValue(lines[2]).number("/id"));
}

TEST(Mcp, FailedToolsAreToldApart) {
  GatewayProcess gateway(mcp("mcp"));
  HttpClient client = gateway.connect();
  const HttpResponse response = call(client, "tools/call", R"({"name":"fail","arguments":{}})");
  EXPECT_EQ(response.body, result("1", R"({"content":[],"isError":true})"));
  EXPECT_EQ(gateway.metrics().sum("stdgate_request_duration_seconds_count",
                                  {{"method", "tools/call"}, {"outcome", "tool_error"}}),
            1);
}

TEST(Mcp, ChildThatRefusesTheHandshakeIsNoChild) {
  GatewayProcess gateway(mcp("mcp-refusing"));
  HttpClient client = gateway.connect();
  const HttpResponse response = call(client, "tools/list");
  EXPECT_THAT(response.status, testing::AnyOf(502, 503));
  EXPECT_THAT(response.body, testing::Not(HasSubstr("puppet refuses")));
  const HttpResponse ready = HttpClient(gateway.admin_url()).get("/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(JsonValue(ready.body).text("/backends/main/reason"), "the child refused the handshake");
  EXPECT_THAT(gateway.log(), HasSubstr("the puppet refuses"));
  EXPECT_GE(gateway.metrics().sum("stdgate_child_exits_total", {{"reason", "start_failed"}}), 1);
}

// Without a handshake, this server exits at the first call.
TEST(Mcp, ServerSpokenToAsPlainJsonRpcEndsAndIsReportedSo) {
  GatewayProcess gateway(serve_one(puppet("mcp"), "pool: { max: 1, backoff_min: 1ms }"));
  HttpClient client = gateway.connect();
  const HttpResponse response = call(client, "tools/list");
  EXPECT_EQ(response.status, 502);
  EXPECT_THAT(response.body, HasSubstr("the child exited with code 3"));
}

TEST(Mcp, ChildThatNeverAnswersTheHandshakeIsGivenUp) {
  GatewayProcess gateway(
      serve_one({"/bin/sleep", "600"},
                "protocol: mcp, pool: { max: 1, start_timeout: 100ms, breaker_failures: 1 }"));
  HttpClient client = gateway.connect();
  const HttpResponse response = call(client, "tools/list");
  EXPECT_THAT(response.status, testing::AnyOf(502, 503));
  EXPECT_GE(gateway.metrics().sum("stdgate_child_exits_total", {{"reason", "start_timeout"}}), 1);
}

}  // namespace
}  // namespace stdgate::harness::mcp_test
