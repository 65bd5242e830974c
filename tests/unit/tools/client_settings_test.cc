// Replaces commands in the settings of a client. Everything else stays unchanged.
#include "gateway/tools/client_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "gateway/tools/client_import.h"
#include "gateway/tools/local_files.h"

namespace stdgate::tools {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> kConnect{"/bin/stdgate", "connect", "one"};

std::string changed(std::string_view text, const ServerCommands& commands = {{"one", kConnect}}) {
  const auto result = with_commands(text, commands);
  return result ? *result : "error: " + result.error();
}

struct SettingsCase {
  const char* name;
  std::string before;
  std::string after;
};

TEST(ClientSettings, OnlyTheCommandChanges) {
  const SettingsCase cases[] = {
      {"args and env",
       R"({"a": 1, "mcpServers": {"one": {"command": "npx", "args": ["-y", "x"], "env": {"K": "v"}}}})",
       R"({"a": 1, "mcpServers": {"one": {"command": "/bin/stdgate", "args": ["connect", "one"], "env": {}}}})"},
      {"without args", R"({"mcpServers":{"one":{"command":"x"}}})",
       R"({"mcpServers":{"one":{"command":"/bin/stdgate", "args": ["connect", "one"]}}})"},
      {"without args, on lines, at the end",
       "{\n\t\"servers\": {\r\n\t\t\"one\": {\r\n\t\t\t\"command\": \"x\", // "
       "mine\r\n\t\t},\r\n\t},\n}\n",
       "{\n\t\"servers\": {\r\n\t\t\"one\": {\r\n\t\t\t\"command\": "
       "\"/bin/stdgate\",\r\n\t\t\t\"args\": "
       "[\"connect\", \"one\"], // mine\r\n\t\t},\r\n\t},\n}\n"},
      {"comments and commas at ends",
       "// first\n{ /* { */ \"context_servers\": { \"one\": { // \"command\"\n \"command\": \"x\", "
       "\"args\": [1, \"]\",], }, }, }",
       "// first\n{ /* { */ \"context_servers\": { \"one\": { // \"command\"\n \"command\": "
       "\"/bin/stdgate\", \"args\": [\"connect\", \"one\"], }, }, }"},
      {"as Zed had it",
       R"({"context_servers": {"one": {"command": {"path": "x", "args": ["y"], "env": {}}}}})",
       R"({"context_servers": {"one": {"command": {"path": "/bin/stdgate", "args": ["connect", "one"], "env": {}}}}})"},
      {"VS Code's settings.json",
       R"({"mcp": {"inputs": [], "servers": {"one": {"command": "x"}, "two": {"url": "u"}}}})",
       R"({"mcp": {"inputs": [], "servers": {"one": {"command": "/bin/stdgate", "args": ["connect", "one"]}, "two": {"url": "u"}}}})"},
      {"a byte order mark, and a name with an escape",
       "\xef\xbb\xbf{\"mcpServers\": {\"\\u006fne\": {\"command\": \"x\"}}}",
       "\xef\xbb\xbf{\"mcpServers\": {\"\\u006fne\": {\"command\": \"/bin/stdgate\", \"args\": "
       "[\"connect\", \"one\"]}}}"},
      {"TOML, a table of its own with one for env",
       "# mine\nmodel = \"m\"\n\n[mcp_servers.one] # first\ncommand = 'x' # it\nargs = [\n  \"a\", "
       "# "
       "c\n]\ncwd = \"/srv\"\n\n[mcp_servers.one.env]\n# keys\nA = \"1\"\nB = \"2\" # two\n\n"
       "[other]\nb = 2\n",
       "# mine\nmodel = \"m\"\n\n[mcp_servers.one] # first\ncommand = \"/bin/stdgate\" # it\nargs "
       "= "
       "[\"connect\", \"one\"]\ncwd = \"/srv\"\n\n[mcp_servers.one.env]\n# keys\n # two\n\n"
       "[other]\nb = 2\n"},
      {"TOML, without args, and env between braces",
       "[mcp_servers.one]\r\nenv = { A = \"1\" }\r\ncommand = \"x\"\r\n",
       "[mcp_servers.one]\r\nenv = {}\r\ncommand = \"/bin/stdgate\"\r\nargs = [\"connect\", "
       "\"one\"]\r\n"},
      {"TOML between braces", "mcp_servers.one = { command = \"x\", enabled = true }\n",
       "mcp_servers.one = { command = \"/bin/stdgate\", args = [\"connect\", \"one\"], enabled = "
       "true "
       "}\n"},
      {"TOML with dotted keys",
       "m = 1\nmcp_servers.one.command = \"x\"\nmcp_servers.one.env.A = \"1\"\n[tui]\n",
       "m = 1\nmcp_servers.one.command = \"/bin/stdgate\"\nmcp_servers.one.args = "
       "[\"connect\", \"one\"]\n[tui]\n"},
      {"TOML with dotted keys in a table",
       "[mcp_servers]\none.\"command\" = \"x\"\none.args = []\ntwo.command = \"y\"\n",
       "[mcp_servers]\none.\"command\" = \"/bin/stdgate\"\none.args = [\"connect\", "
       "\"one\"]\ntwo.command = \"y\"\n"},
      {"TOML with a quoted dotted key and no args", "[mcp_servers]\none.'command' = 'x'\n",
       "[mcp_servers]\none.'command' = \"/bin/stdgate\"\none.args = [\"connect\", \"one\"]\n"},
  };
  for (const SettingsCase& one : cases) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(changed(one.before), one.after);
    // The change can be reverted.
    const auto back = with_entries_of(one.after, one.before, {"one"});
    ASSERT_TRUE(back) << back.error();
    EXPECT_EQ(*back, one.before);
  }
}

TEST(ClientSettings, RefusesWhatItCannotChange) {
  for (const auto& [text, error] : {
           std::pair("{\"mcpServers\": {\"one\": {\"command\": \"x\"", "line 1"),
           std::pair("{\"mcpServers\": {\"one\": {\"command\": \"x\"}} /* open", "no end"),
           std::pair("{\"mcpServers\": {\"one\": {\"command\": \"x\", \"command\": \"y\"}}}",
                     "command of one occurs twice"),
           std::pair("{\"mcpServers\": {\"one\": {\"command\": \"x\"}, \"one\": {}}}",
                     "one occurs twice"),
           std::pair("{\"mcpServers\": {\"two\": {\"command\": \"x\"}}}", "cannot be changed"),
           std::pair("{\"mcpServers\": {\"one\": {\"url\": \"x\"}}}", "cannot be changed"),
           // Other lines stand between the server's lines.
           std::pair("mcp_servers.one.command = \"x\"\na = 1\nmcp_servers.one.cwd = \"/\"\n",
                     "cannot be changed"),
           // The server's tables are not adjacent.
           std::pair(
               "[mcp_servers.one]\ncommand = \"x\"\n[other]\n[mcp_servers.one.env]\nA = \"1\"\n",
               "cannot be changed"),
       }) {
    SCOPED_TRACE(text);
    EXPECT_THAT(changed(text), HasSubstr(error));
  }
  std::string deep(kMaxSettingsDepth + 2, '[');
  EXPECT_THAT(changed("{\"a\": " + deep), HasSubstr("too deep"));
}

TEST(ClientSettings, EntriesGoBackIntoATextThatWasChanged) {
  const std::string before =
      "{\"mcpServers\": {\n  \"one\": {\"command\": \"x\", \"env\": {\"K\": \"v\"}},\n  \"two\": "
      "{\"command\": \"y\"}\n}}";
  std::string now = changed(before);
  // Meanwhile another program has added a key and removed a server.
  now = "{\"n\": 5, " + now.substr(1);
  const size_t two = now.find(",\n  \"two\"");
  now.erase(two, now.find("}\n}}") + 1 - two);
  const auto back = with_entries_of(now, before, {"one", "two"});
  ASSERT_TRUE(back) << back.error();
  EXPECT_EQ(*back,
            "{\"n\": 5, \"mcpServers\": {\n  \"one\": {\"command\": \"x\", \"env\": {\"K\": "
            "\"v\"}}\n}}");
}

TEST(ClientSettings, KnowsItsOwnCommand) {
  const auto names = connected_servers(
      R"({"mcpServers": {"a": {"command": "/x/stdgate", "args": ["connect", "b"]},
          "b": {"command": "stdgate", "args": ["demo-server"]}, "c": {"command": "x"},
          "d": {"url": "u"}}})");
  ASSERT_TRUE(names);
  EXPECT_THAT(*names, ElementsAre("a"));
}

}  // namespace

// Where the files of clients are, and the values of references in them.

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

config::Environment having(const std::map<std::string, std::string>& variables) {
  return [variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}
std::vector<std::string> files(std::string_view client,
                               const std::map<std::string, std::string>& variables) {
  return files_of(*find_adopted_client(client), having(variables));
}

TEST(AdoptedClient, FilesAsTheClientsDocumentThem) {
  const std::map<std::string, std::string> home{{"HOME", "/h"}};
  EXPECT_THAT(files("claude-desktop", home),
              ElementsAre("/h/.config/Claude/claude_desktop_config.json",
                          "/h/Library/Application Support/Claude/claude_desktop_config.json"));
  EXPECT_THAT(files("claude-code", home), ElementsAre("/h/.claude.json"));
  EXPECT_THAT(files("cursor", home), ElementsAre("/h/.cursor/mcp.json"));
  EXPECT_THAT(files("vscode", home),
              ElementsAre("/h/.config/Code/User/mcp.json",
                          "/h/Library/Application Support/Code/User/mcp.json"));
  EXPECT_THAT(files("zed", home), ElementsAre("/h/.config/zed/settings.json"));
  EXPECT_THAT(files("gemini", home), ElementsAre("/h/.gemini/settings.json"));
  EXPECT_THAT(files("codex", home), ElementsAre("/h/.codex/config.toml"));
  EXPECT_EQ(find_adopted_client("emacs"), nullptr);
}

TEST(AdoptedClient, VariablesNameOtherFolders) {
  const std::map<std::string, std::string> variables{
      {"HOME", "/h"}, {"XDG_CONFIG_HOME", "/x"}, {"CLAUDE_CONFIG_DIR", "/c"}, {"CODEX_HOME", "/o"}};
  EXPECT_THAT(files("zed", variables),
              ElementsAre("/x/zed/settings.json", "/h/.config/zed/settings.json"));
  EXPECT_THAT(files("claude-code", variables), ElementsAre("/c/.claude.json"));
  EXPECT_THAT(files("codex", variables), ElementsAre("/o/config.toml"));
  EXPECT_EQ(config_home(having({{"HOME", "/h"}, {"XDG_CONFIG_HOME", "relative"}})), "/h/.config");
  EXPECT_THAT(files("cursor", {}), IsEmpty());
}

TEST(AdoptedClient, ReferencesAreResolvedAsTheClientDoes) {
  const config::Environment variables = having({{"HOME", "/h"}, {"KEY", "s$1"}, {"EMPTY", ""}});
  const std::tuple<const char*, References, const char*> cases[] = {
      {"${KEY} $KEY ${env:KEY}", References::none, "${KEY} $KEY ${env:KEY}"},
      {"a${KEY}b$KEY", References::shell, "as$1b$KEY"},
      {"${NONE:-x}${EMPTY:-y}", References::shell, "x"},
      {"${env:KEY}|${userHome}|${/}|$KEY", References::editor, "s$1|/h|/|$KEY"},
      {"$KEY-${KEY}-$", References::unbraced, "s$1-s$1-$"},
      {"${", References::shell, "${"},
  };
  for (const auto& [text, references, wanted] : cases) {
    SCOPED_TRACE(text);
    EXPECT_EQ(resolved(text, references, variables).value_or("error"), wanted);
  }
}

TEST(AdoptedClient, WhatOnlyTheClientKnowsIsAnError) {
  const config::Environment variables = having({});
  EXPECT_THAT(resolved("${NONE}", References::shell, variables).error(),
              HasSubstr("its variable NONE is not set here"));
  EXPECT_THAT(resolved("${input:token}", References::editor, variables).error(),
              HasSubstr("only its client knows ${input:token}"));
  EXPECT_THAT(resolved("${workspaceFolder}/x", References::editor, variables).error(),
              HasSubstr("${workspaceFolder}"));
  EXPECT_THAT(resolved("$NONE", References::unbraced, variables).error(), HasSubstr("NONE"));
}

}  // namespace

}  // namespace stdgate::tools
