// Settings of MCP clients as backends.
#include "gateway/tools/client_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/tools/config_edit.h"

namespace stdgate::tools {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The file that comes of it.
std::string imported(std::string_view settings) {
  const auto servers = import_servers(settings);
  if (!servers) return "error: " + servers.error();
  const auto file = add_backends("", servers->backends);
  return file ? file->text : "error: " + file.error();
}
std::vector<std::string> warnings_of(std::string_view settings) {
  const auto servers = import_servers(settings);
  return servers ? servers->warnings : std::vector{servers.error()};
}

TEST(ClientImport, ClaudeDesktop) {
  constexpr std::string_view kSettings = R"({
    "theme": "dark",
    "mcpServers": {
      "File System": {
        "command": "npx",
        "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada"],
        "env": { "LOG_LEVEL": "debug" }
      },
      "github": {
        "command": "docker",
        "args": ["run", "-i", "-e", "GITHUB_TOKEN"],
        "env": { "GITHUB_TOKEN": "ghp_0123456789abcdefghij0123456789abcdef" }
      }
    }
  })";
  EXPECT_EQ(imported(kSettings), R"(backends:
  file-system:
    command: ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/ada"]
    env: { LOG_LEVEL: "debug" }
  github:
    command: ["docker", "run", "-i", "-e", "GITHUB_TOKEN"]
    env: { GITHUB_TOKEN: "${GITHUB_TOKEN}" }
)");
  EXPECT_THAT(warnings_of(kSettings),
              ElementsAre(AllOf(HasSubstr("github: its GITHUB_TOKEN was not copied"),
                                Not(HasSubstr("ghp_")))));
}

TEST(ClientImport, VsCodeWithCommentsAndVariables) {
  constexpr std::string_view kSettings = R"({
    // "servers": {},
    "servers": {
      "one": { "type": "stdio", "command": "${env:HOME}/one", "args": ["//no comment", "a,]"], },
      /* another */
      "two": { "command": "two", "env": { "API_KEY": "${input:key}", "B": "${env:B}" } },
    },
  })";
  const std::string file = imported(kSettings);
  EXPECT_THAT(file, AllOf(HasSubstr(R"(command: ["${HOME}/one", "//no comment", "a,]"])"),
                          HasSubstr(R"(API_KEY: "$${input:key}")"), HasSubstr(R"(B: "${B}")")));
  EXPECT_THAT(warnings_of(kSettings), ElementsAre(HasSubstr("two: replace ${input:key}")));
  EXPECT_THAT(imported(R"({"mcp":{"servers":{"x":{"command":"y"}}}})"), HasSubstr("  x:\n"));
}

TEST(ClientImport, WhatIsNotImportedIsNamed) {
  EXPECT_THAT(warnings_of(R"({"mcpServers":{
      "remote": {"type":"http","url":"https://mcp.example/mcp"},
      "off": {"command":"x","disabled":true},
      "empty": {},
      "日本": {"command":"x"},
      "A B": {"command":"x"},
      "a-b": {"command":"y"}}})"),
              ElementsAre(HasSubstr("remote: left out, as it is reached by URL already (https://"),
                          HasSubstr("off: left out, as it is disabled"),
                          HasSubstr("empty: left out, as it names no command"),
                          HasSubstr("left out, as nothing of its name"),
                          HasSubstr("a-b: left out, as there is another a-b")));
}

TEST(ClientImport, TwoSecretsOfOneNameAreKeptApart) {
  const std::string file = imported(R"({"mcpServers":{
      "a": {"command":"x","env":{"API_KEY":"first-secret"}},
      "b": {"command":"x","env":{"API_KEY":"other-secret"}},
      "c": {"command":"x","env":{"API_KEY":"first-secret"}}}})");
  EXPECT_THAT(file,
              AllOf(HasSubstr("  a:\n    command: [\"x\"]\n    env: { API_KEY: \"${API_KEY}\""),
                    HasSubstr("env: { API_KEY: \"${B_API_KEY}\" }"), Not(HasSubstr("secret"))));
}

TEST(ClientImport, SecretInACommandIsWarnedOf) {
  EXPECT_THAT(
      warnings_of(R"({"mcpServers":{"a":{"command":"x","args":["--api-key","s3cr3t99"]}}})"),
      ElementsAre(HasSubstr("a: its command holds what looks like a secret")));
}

TEST(ClientImport, WhatIsNoSuchFile) {
  EXPECT_THAT(imported("{"), HasSubstr("no JSON"));
  EXPECT_THAT(imported("[]"), HasSubstr("neither mcpServers nor servers"));
  EXPECT_THAT(imported("{\"mcpServers\":[]}"), HasSubstr("neither"));
  EXPECT_THAT(imported(""), HasSubstr("no JSON"));
  EXPECT_THAT(imported("/*"), HasSubstr("no JSON"));
  EXPECT_THAT(imported("{\"a\":\"\\"), HasSubstr("no JSON"));
}

}  // namespace
}  // namespace stdgate::tools
