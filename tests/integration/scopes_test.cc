// Tools that need a scope: what each transport tells a client, so that the client can ask for the
// scope.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"
#include "tests/support/test_folder.h"
#include "tests/support/test_issuer.h"

namespace stdgate::harness::scopes_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kUrl = "https://tools.example";
const std::string kCall = request("tools/call", R"({"name":"delete_all"})");

class Scopes : public testing::Test {
 protected:
  Scopes() { folder_.write("jwks.json", issuer_.jwks()); }
  [[nodiscard]] GatewaySetup setup() const {
    return serve_one(
        puppet("mcp"),
        "protocol: mcp, rules: [{ allow: [\"*\"], tools: [\"delete_*\"], scopes: [\"files:read\", "
        "\"files:delete\"] }, { allow: [\"*\"] }]",
        "auth: { public_url: \"" + kUrl +
            "\", scopes: [\"mcp:use\", \"files:read\"], jwt: [{ issuer: \"https://id.example\", "
            "jwks: { file: " +
            folder_.path("jwks.json") + " } }] }\n");
  }
  [[nodiscard]] Headers as(const std::string& scope, Headers more = {}) const {
    more["authorization"] =
        "Bearer " +
        issuer_.token("ES256", R"({"iss":"https://id.example","aud":")" + kUrl +
                                   R"(","sub":"ada","scope":")" + scope + R"(","exp":)" +
                                   std::to_string(std::time(nullptr) + 300) + "}");
    more.emplace("accept", "application/json, text/event-stream");
    return more;
  }
  static std::string challenge(const std::string& metadata) {
    return "Bearer error=\"insufficient_scope\", error_description=\"this needs a token with more "
           "scopes\", scope=\"files:read files:delete\", resource_metadata=\"" +
           kUrl + "/.well-known/oauth-protected-resource" + metadata + "\"";
  }

  test::TestFolder folder_;
  const test::TestIssuer issuer_{test::TestIssuer::Kind::p256};
};

TEST_F(Scopes, AreNamedOverHttp) {
  GatewayProcess gateway(setup());
  HttpClient client = gateway.connect();
  const HttpResponse rpc = client.post("/rpc", kCall, as("files:read"));
  EXPECT_EQ(rpc.status, 403);
  EXPECT_EQ(rpc.header("www-authenticate"), challenge(""));
  EXPECT_THAT(rpc.body, AllOf(HasSubstr(R"("code":-31403)"),
                              HasSubstr(R"("data":{"scope":"files:read files:delete"})")));
  EXPECT_EQ(client.post("/rpc", kCall, as("files:read files:delete")).status, 200);
  const HttpResponse batch = client.post(
      "/rpc", "[" + kCall + "," + request("tools/list", "", "2") + "]", as("files:read"));
  EXPECT_EQ(batch.status, 200);
  EXPECT_THAT(batch.body, AllOf(HasSubstr(R"("data":{"scope":"files:read files:delete"})"),
                                HasSubstr(R"("id":2,"result")")));
  EXPECT_EQ(gateway.metrics().sum("stdgate_rejected_total", {{"reason", "insufficient_scope"}}), 2);
}

TEST_F(Scopes, AreNamedInMcpSessions) {
  GatewayProcess gateway(setup());
  HttpClient client = gateway.connect();
  const HttpResponse opened =
      client.post("/mcp",
                  request("initialize", R"({"protocolVersion":"2025-11-25","capabilities":{},)"
                                        R"("clientInfo":{"name":"c","version":"1"}})"),
                  as("mcp:use"));
  ASSERT_EQ(opened.status, 200) << opened.body;
  const Headers session = {{"mcp-session-id", opened.header("mcp-session-id")}};
  const HttpResponse refused = client.post("/mcp", kCall, as("mcp:use", session));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.header("www-authenticate"), challenge("/mcp"));
  EXPECT_THAT(refused.body, HasSubstr(R"("code":-31403)"));
  EXPECT_EQ(client.post("/mcp", kCall, as("mcp:use files:read files:delete", session)).status, 200)
      << "another token of the same one";
}

TEST_F(Scopes, AreNamedInTheModernEra) {
  GatewayProcess gateway(setup());
  HttpClient client = gateway.connect();
  const std::string call = request(
      "tools/call",
      R"({"name":"delete_all","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
      R"("io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},)"
      R"("io.modelcontextprotocol/clientCapabilities":{}}})");
  const HttpResponse refused = client.post("/mcp", call,
                                           as("mcp:use", {{"mcp-protocol-version", "2026-07-28"},
                                                          {"mcp-method", "tools/call"},
                                                          {"mcp-name", "delete_all"}}));
  EXPECT_EQ(refused.status, 403) << refused.body;
  EXPECT_EQ(refused.header("www-authenticate"), challenge("/mcp"));
}

TEST_F(Scopes, AreNamedOverWebSockets) {
  GatewayProcess gateway(setup());
  WebSocketClient socket(gateway.url(), {.headers = as("mcp:use")});
  socket.send(kCall);
  EXPECT_THAT(socket.message(), HasSubstr(R"("data":{"scope":"files:read files:delete"})"));
}

TEST_F(Scopes, TheLeastAreAnnounced) {
  GatewayProcess gateway(setup());
  HttpClient client = gateway.connect();
  EXPECT_THAT(client.get("/.well-known/oauth-protected-resource/mcp").body,
              HasSubstr(R"("scopes_supported":["mcp:use","files:read"])"));
  EXPECT_EQ(client.post("/mcp", kCall, {{"accept", "application/json, text/event-stream"}})
                .header("www-authenticate"),
            "Bearer scope=\"mcp:use files:read\", resource_metadata=\"" + kUrl +
                "/.well-known/oauth-protected-resource/mcp\"");
}

}  // namespace
}  // namespace stdgate::harness::scopes_test
