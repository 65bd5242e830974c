// What is pasted into clients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/tools/snippet_tool.h"

namespace stdgate::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::vector<PeerBackend> kBackends = {
    {"files", "mcp", {"http://gate:8080/files/mcp", "http://gate:8080/files/rpc"}},
    {"calc", "jsonrpc", {"http://gate:8080/calc/rpc", "ws://gate:8080/calc/ws"}}};

TEST(Snippets, OfEachClient) {
  EXPECT_EQ(snippet_for("claude-code", kBackends, false),
            "claude mcp add --transport http files http://gate:8080/files/mcp\n");
  EXPECT_EQ(snippet_for("cursor", kBackends, false), R"({
  "mcpServers": {
    "files": {
      "url": "http://gate:8080/files/mcp"
    }
  }
}
)");
  EXPECT_THAT(snippet_for("vscode", kBackends, false),
              AllOf(HasSubstr("\"servers\""), HasSubstr("\"type\": \"http\"")));
  EXPECT_THAT(snippet_for("claude-desktop", kBackends, false),
              AllOf(HasSubstr("\"mcp-remote\""), HasSubstr("--allow-http")));
  EXPECT_EQ(snippet_for("curl", kBackends, false),
            "curl --json '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}' "
            "http://gate:8080/files/rpc\n"
            "curl --json '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"METHOD\"}' "
            "http://gate:8080/calc/rpc\n");
  EXPECT_THAT(snippet_for("npm", kBackends, false),
              HasSubstr("new URL(\"http://gate:8080/files/mcp\")"));
  EXPECT_EQ(snippet_for("nobody", kBackends, false), "");
}

TEST(Snippets, TheKeyHasItsPlace) {
  for (const std::string_view client : snippet_clients()) {
    EXPECT_THAT(snippet_for(client, kBackends, true), HasSubstr("YOUR_API_KEY")) << client;
    EXPECT_THAT(snippet_for(client, kBackends, false), Not(HasSubstr("YOUR_API_KEY"))) << client;
  }
}

}  // namespace
}  // namespace stdgate::tools
