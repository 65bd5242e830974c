#include "tests/integration/harness/mcp_sessions.h"

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

}  // namespace stdgate::harness
