// Children that work longer than `timeout`: they report progress, or ask a client that takes its
// time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "tests/integration/harness/eventually.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"

namespace stdgate::harness::timeout_test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

constexpr const char* kShort = "timeout: 1s, pool: { max: 4 }";
constexpr const char* kOwnShort = "isolation: session, timeout: 1s, pool: { max: 4 }";
// A report every 100 ms for 2 s.
constexpr const char* kReports = R"({"count":20,"interval_ms":100})";

// A client's time to answer a question, which is longer than `timeout`.
void think() { std::this_thread::sleep_for(std::chrono::milliseconds(1800)); }

std::string gave_up(const std::string& what) {
  return R"("code":-32003,"message":"stdgate gave up: )" + what + "\"";
}

TEST(Timeout, AStreamThatReportsIsNotCut) {
  GatewayProcess gateway(serve_one(demo_server(), kShort));
  HttpClient client = gateway.connect();
  const HttpResponse stream = client.post("/rpc", request("stream", kReports), wants_events());
  EXPECT_THAT(stream.body, AllOf(HasSubstr(R"("step":20)"), HasSubstr(R"("result":{"steps":20})"),
                                 EndsWith("data: [DONE]\n\n")));
  // Without a stream the reports reach no client, so they do not count.
  const HttpResponse plain = call(client, "stream", kReports);
  EXPECT_EQ(plain.status, 504);
  EXPECT_THAT(plain.body,
              HasSubstr(gave_up("no answer and no sign of life for 1s (backends.main.timeout)")));
}

TEST(Timeout, ASessionsChildThatReportsIsNotCut) {
  GatewayProcess gateway(serve_one(demo_server(), kOwnShort));
  WebSocketClient client(gateway.url());
  client.send(request("stream", kReports));
  std::string last;
  for (int i = 0; i < 21; ++i) last = client.message();
  EXPECT_EQ(last, result("1", R"({"steps":20})"));
}

TEST(Timeout, MaxTimeEndsWhatReportsForEver) {
  GatewayProcess gateway(
      serve_one(demo_server(), "isolation: session, timeout: 1s, max_time: 2s, pool: { max: 4 }"));
  WebSocketClient client(gateway.url());
  client.send(request("stream", R"({"count":1000,"interval_ms":100})"));
  std::string last;
  do {
    last = client.message();
  } while (last.find("\"progress\"") != std::string::npos);
  EXPECT_THAT(last, HasSubstr(gave_up("no answer within 2s (backends.main.max_time)")));
  ASSERT_TRUE(eventually("it is logged", [&] { return log_of(gateway, "call").size() == 1; }));
  EXPECT_EQ(log_of(gateway, "call")[0].text("/detail"),
            "stdgate gave up: no answer within 2s (backends.main.max_time)");
}

TEST(Timeout, PeopleMayThink) {
  for (const char* options : {kShort, kOwnShort}) {
    SCOPED_TRACE(options);
    GatewayProcess gateway(serve_one(demo_server(), options));
    WebSocketClient client(gateway.url());
    client.send(request("ask", R"({"method":"name"})"));
    const auto id = static_cast<int64_t>(JsonValue(client.message()).number("/id"));
    think();
    client.send(result(std::to_string(id), "\"ada\""));
    EXPECT_EQ(client.message(), result("1", "\"ada\""));
  }
}

TEST(Timeout, AQuestionIsWithdrawnAtBothSides) {
  for (const char* options : {kShort, kOwnShort}) {
    SCOPED_TRACE(options);
    GatewayProcess gateway(serve_one(demo_server(), options, "timeouts: { input: 2s }\n"));
    WebSocketClient client(gateway.url());
    client.send(request("ask", R"({"method":"name"})"));
    const auto id = std::to_string(static_cast<int64_t>(JsonValue(client.message()).number("/id")));
    EXPECT_EQ(client.message(),
              R"({"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":)" + id + "}}");
    EXPECT_THAT(client.message(),
                HasSubstr(gave_up("the client has not answered within 2s (timeouts.input)")))
        << "the child passes its error on";
    EXPECT_TRUE(eventually("it is logged",
                           [&] { return log_of(gateway, "question withdrawn").size() == 1; }));
  }
}

// An MCP server, whose progress belongs to the token of a call.
TEST(Timeout, AnMcpServerMayAskItsClientAndWait) {
  GatewayProcess gateway(serve_one(puppet("mcp"), "protocol: mcp, timeout: 1s, pool: { max: 4 }"));
  WebSocketClient client(gateway.url());
  EXPECT_THAT(
      client.call("initialize", R"({"protocolVersion":"2025-11-25","capabilities":)"
                                R"({"elicitation":{}},"clientInfo":{"name":"c","version":"1"}})"),
      HasSubstr("protocolVersion"));
  client.send(request("notifications/initialized", "", ""));
  client.send(request("tools/call", R"({"name":"elicit"})", "2"));
  const JsonValue question(client.message());
  EXPECT_EQ(question.text("/method"), "elicitation/create");
  think();
  client.send(result(std::to_string(static_cast<int64_t>(question.number("/id"))),
                     R"({"action":"accept","content":{}})"));
  EXPECT_THAT(client.message(), HasSubstr(R"("id":2,"result":)"));
}

}  // namespace
}  // namespace stdgate::harness::timeout_test
