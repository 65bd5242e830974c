#include "tests/integration/harness/mcp_requests.h"

#include <gtest/gtest.h>

#include "tests/integration/harness/setups.h"

namespace stdgate::harness {

std::string mcp_greeting() {
  return request("initialize", R"({"protocolVersion":"2025-06-18","capabilities":{},)"
                               R"("clientInfo":{"name":"c","version":"1"}})");
}

Headers in_mcp_session(const std::string& id) {
  return {{"mcp-session-id", id}, {"accept", "application/json, text/event-stream"}};
}

std::string open_mcp_session(HttpClient& client, const std::string& path) {
  const HttpResponse opened = client.post(path, mcp_greeting(), in_mcp_session(""));
  std::string id = opened.header("mcp-session-id");
  EXPECT_NE(id, "") << opened.body;
  const std::string greeted = request("notifications/initialized", "", "");
  EXPECT_EQ(client.post(path, greeted, in_mcp_session(id)).status, 202);
  return id;
}

std::string modern_request(const std::string& method, const std::string& params,
                           const std::string& id, const std::string& capabilities) {
  return request(method,
                 R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                 R"("io.modelcontextprotocol/clientCapabilities":)" +
                     capabilities + "}" + (params.empty() ? "" : "," + params) + "}",
                 id);
}

Headers modern_headers(const std::string& method, const std::string& name, Headers more) {
  more.insert({{"accept", "application/json, text/event-stream"},
               {"mcp-protocol-version", "2026-07-28"},
               {"mcp-method", method}});
  if (!name.empty()) more.emplace("mcp-name", name);
  return more;
}

HttpResponse call_tool(HttpClient& client, const std::string& capabilities) {
  return client.post("/mcp", modern_request("tools/call", R"("name":"t")", "1", capabilities),
                     modern_headers("tools/call", "t"));
}

HttpResponse post_modern(HttpClient& client, const std::string& method, const std::string& params) {
  return client.post("/mcp", modern_request(method, params), modern_headers(method));
}

void listen_for_tools(HttpClient& client, const std::string& id) {
  const std::string method = "subscriptions/listen";
  client.send_request("POST", "/mcp",
                      modern_request(method, R"("notifications":{"toolsListChanged":true})", id),
                      modern_headers(method, "", {{"content-type", "application/json"}}));
}

std::string initialize_params(const std::string& capabilities) {
  return R"({"protocolVersion":"2025-11-25","capabilities":)" + capabilities +
         R"(,"clientInfo":{"name":"c","version":"1"}})";
}

}  // namespace stdgate::harness
