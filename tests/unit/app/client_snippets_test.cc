// Snippets that users paste into the configuration of clients.
#include "gateway/app/client_snippets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stdgate::app {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::vector<ServedBackend> kBackends = {
    {"files", "mcp", {"http://gate:8080/files/mcp", "http://gate:8080/files/rpc"}},
    {"calc", "jsonrpc", {"http://gate:8080/calc/rpc", "ws://gate:8080/calc/ws"}}};

std::string text_for(std::string_view client, bool with_key) {
  const auto snippet = snippet_for(client, kBackends, with_key);
  return snippet ? snippet->text : "no such client";
}

TEST(Snippets, OfEachClient) {
  EXPECT_EQ(text_for("claude-code", false),
            "claude mcp add --transport http files http://gate:8080/files/mcp\n");
  EXPECT_EQ(text_for("cursor", false), R"({
  "mcpServers": {
    "files": {
      "url": "http://gate:8080/files/mcp"
    }
  }
}
)");
  EXPECT_THAT(text_for("vscode", false),
              AllOf(HasSubstr("\"servers\""), HasSubstr("\"type\": \"http\"")));
  EXPECT_THAT(text_for("claude-desktop", false),
              AllOf(HasSubstr("\"mcp-remote\""), HasSubstr("--allow-http")));
  EXPECT_EQ(text_for("curl", false),
            "curl --json '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}' "
            "http://gate:8080/files/rpc\n"
            "curl --json '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"METHOD\"}' "
            "http://gate:8080/calc/rpc\n");
  EXPECT_THAT(text_for("npm", false), HasSubstr("new URL(\"http://gate:8080/files/mcp\")"));
  EXPECT_EQ(text_for("codex", true),
            "# export STDGATE_API_KEY=YOUR_API_KEY\n\n[mcp_servers.files]\n"
            "url = \"http://gate:8080/files/mcp\"\n"
            "bearer_token_env_var = \"STDGATE_API_KEY\"\n");
  EXPECT_EQ(text_for("codex", false),
            "[mcp_servers.files]\nurl = \"http://gate:8080/files/mcp\"\n");
  EXPECT_THAT(text_for("gemini", true),
              AllOf(HasSubstr("\"httpUrl\": \"http://gate:8080/files/mcp\""),
                    HasSubstr("\"mcpServers\""), HasSubstr("\"Authorization\"")));
  EXPECT_THAT(text_for("zed", false), AllOf(HasSubstr("\"context_servers\""), HasSubstr("\"url\""),
                                            Not(HasSubstr("type"))));
  EXPECT_EQ(text_for("nobody", false), "no such client");
}

TEST(ClientSnippets, AnEditorReachesAnAgentByAProgramThatIsConnectedToIt) {
  const std::vector<ServedBackend> agents = {
      {"agent", "acp", {"ws://127.0.0.1:8080/agent/acp", "ws://127.0.0.1:8080/agent/ws"}}};
  const auto snippet = snippet_for("zed", agents, true);
  ASSERT_TRUE(snippet);
  EXPECT_THAT(
      snippet->text,
      AllOf(HasSubstr("\"agent_servers\""), HasSubstr("http://127.0.0.1:8080/agent/acp"),
            HasSubstr("Authorization:Bearer YOUR_API_KEY"), Not(HasSubstr("context_servers"))));
  ASSERT_EQ(snippets_for(agents, false).size(), 1u);
  EXPECT_EQ(snippets_for(agents, false)[0].client, "zed");
}

// A client with both servers would have each tool of a member twice.
TEST(Snippets, MembersOfAVirtualServerAreReachedThroughIt) {
  std::vector<ServedBackend> backends = kBackends;
  backends.push_back({"alone", "mcp", {"http://gate:8080/alone/mcp"}});
  EXPECT_EQ(without_members(backends).size(), 3U);
  backends.push_back({"team", "mcp", {"http://gate:8080/team/mcp"}, false, {"files"}});
  std::vector<std::string> names;
  for (const ServedBackend& backend : without_members(backends)) names.push_back(backend.name);
  EXPECT_THAT(names, testing::ElementsAre("calc", "alone", "team"));
}

TEST(Snippets, TheKeyHasItsPlace) {
  for (const std::string_view client : snippet_clients()) {
    EXPECT_THAT(text_for(client, true), HasSubstr("YOUR_API_KEY")) << client;
    EXPECT_THAT(text_for(client, false), Not(HasSubstr("YOUR_API_KEY"))) << client;
  }
}

TEST(Snippets, OfAllClientsThatAreServed) {
  const auto clients_of = [](const std::vector<ServedBackend>& backends) {
    std::vector<std::string_view> clients;
    for (const Snippet& snippet : snippets_for(backends, false)) clients.push_back(snippet.client);
    return clients;
  };
  EXPECT_EQ(clients_of(kBackends), snippet_clients());
  EXPECT_THAT(clients_of({kBackends[1]}), testing::ElementsAre("curl"));
  EXPECT_THAT(clients_of({{"lsp", "lsp", {"ws://gate:8080/lsp/ws"}}}), testing::IsEmpty());
  EXPECT_EQ(snippets_for(kBackends, true)[0].text, text_for("claude-code", true));
  EXPECT_EQ(snippets_for(kBackends, true)[1].where, "claude_desktop_config.json");
}

}  // namespace
}  // namespace stdgate::app
