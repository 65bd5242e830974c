// Where the files of clients are, and what their references stand for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "gateway/tools/client_import.h"
#include "gateway/tools/local_files.h"

namespace stdgate::tools {
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
