// Imports the settings of MCP clients as backends.
#include "gateway/tools/client_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/tools/gateway_yaml.h"
#include "tests/support/test_folder.h"

namespace stdgate::tools {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The resulting configuration file.
std::string imported(std::string_view settings, const ImportSurroundings& surroundings = {}) {
  const auto servers = import_servers(settings, surroundings);
  if (!servers) return "error: " + servers.error();
  const auto file = add_backends("", servers->backends, "gateway.yaml");
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

TEST(ClientImport, Codex) {
  constexpr std::string_view kSettings = R"(
model = "some-model"   # not ours

[mcp_servers.files]
command = "npx"
args = ["-y", "server", "/srv"]
env_vars = ["PROXY"]

[mcp_servers.files.env]
LEVEL = "debug"

[mcp_servers."Git Hub"]
command = "github-server"
env = { GITHUB_TOKEN = "ghp_0123456789abcdefghij0123456789abcdef" }

[mcp_servers.far]
url = "https://far.example/mcp"

[mcp_servers.off]
command = "x"
enabled = false
)";
  EXPECT_EQ(imported(kSettings), R"(backends:
  files:
    command: ["npx", "-y", "server", "/srv"]
    env: { LEVEL: "debug" }
    env_inherit: ["PROXY"]
  git-hub:
    command: ["github-server"]
    env: { GITHUB_TOKEN: "${GITHUB_TOKEN}" }
)");
  EXPECT_THAT(warnings_of(kSettings),
              ElementsAre(HasSubstr("Git Hub: its GITHUB_TOKEN was not copied"),
                          HasSubstr("far: left out"), "off: left out, as it is disabled"));
  EXPECT_THAT(warnings_of("[mcp_servers"), ElementsAre(HasSubstr("it is no TOML: line 1: ")));
}

TEST(ClientImport, Zed) {
  EXPECT_EQ(imported(R"({
    // Zed settings
    "theme": "One Dark",
    "context_servers": {
      "now": { "source": "custom", "command": "uvx", "args": ["server"], "env": { "A": "1" } },
      "before": { "command": { "path": "node", "args": ["x.js"], "env": { "B": "2" } } },
      "of-extension": { "source": "extension", "settings": {} },
      "far": { "url": "https://far.example/mcp" },
    },
  })"),
            R"(backends:
  now:
    command: ["uvx", "server"]
    env: { A: "1" }
  before:
    command: ["node", "x.js"]
    env: { B: "2" }
)");
}

TEST(ClientImport, GeminiCli) {
  constexpr std::string_view kSettings = R"({
    "mcpServers": {
      "one": { "command": "server", "args": ["--for", "$USER"], "cwd": "./here",
               "env": { "API_KEY": "$MY_API_TOKEN" }, "timeout": 30000, "trust": false },
      "far": { "httpUrl": "https://far.example/mcp" }
    }
  })";
  ImportSurroundings gemini;
  gemini.expands_names = true;
  EXPECT_EQ(imported(kSettings, gemini), R"(backends:
  one:
    command: ["server", "--for", "${USER}"]
    env: { API_KEY: "${MY_API_TOKEN}" }
    cwd: "./here"
)");
  EXPECT_THAT(import_servers(kSettings, gemini)->warnings,
              ElementsAre(HasSubstr("far: left out, as it is reached by URL already")));
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
  EXPECT_THAT(imported("\xEF\xBB\xBF"
                       R"({"mcpServers":{"x":{"command":"y"}}})"),
              HasSubstr("  x:\n"))
      << "behind a byte order mark";
}

TEST(ClientImport, WhatIsNotImportedIsNamed) {
  EXPECT_THAT(warnings_of(R"({"mcpServers":{
      "remote": {"type":"http","url":"https://mcp.example/mcp"},
      "off": {"command":"x","disabled":true},
      "empty": {},
      "日本": {"command":"x"},
      "A B": {"command":"x"},
      "a-b": {"command":"y"}}})"),
              ElementsAre(HasSubstr("remote: left out, as it is reached by URL already "
                                    "(https://mcp.example/mcp); to serve it here too, write "
                                    "command: [\"stdgate\", \"connect\", "
                                    "\"https://mcp.example/mcp\"]"),
                          HasSubstr("off: left out, as it is disabled"),
                          HasSubstr("empty: left out, as it names no command"),
                          HasSubstr("left out, as its name has no character"),
                          HasSubstr("a-b: left out, as there is another a-b")));
}

TEST(ClientImport, WhoeverAdoptsChoosesTheNames) {
  ImportSurroundings surroundings;
  surroundings.environment = [](const std::string&) { return std::nullopt; };
  const auto servers = import_servers(
      R"({"mcpServers":{"日本":{"command":"x"},"A":{"command":"x"},"a":{"command":"y"},)"
      R"("-x":{"command":"z"},"mcp":{"command":"z"}}})",
      surroundings);
  ASSERT_TRUE(servers.has_value());
  EXPECT_THAT(servers->warnings, IsEmpty());
  EXPECT_THAT(servers->names, ElementsAre("日本", "A", "a", "-x", "mcp"));
  std::vector<std::string> backends;
  for (const BackendLines& one : servers->backends) backends.push_back(one.name);
  EXPECT_THAT(backends, ElementsAre("server", "a", "a", "x", "server"));
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

TEST(ClientImport, ArgumentsThatAreNoTextAreKeptOrNamed) {
  constexpr std::string_view kSettings = R"({"mcpServers":{
      "a": {"command":"python","args":["--port",8080,true,["x"]]},
      "b": {"command":"x","args":"--a b"}}})";
  const auto servers = import_servers(kSettings);
  ASSERT_TRUE(servers);
  EXPECT_THAT(servers->backends[0].command,
              ElementsAre("python", "--port", "8080", "true", "[\"x\"]"));
  EXPECT_THAT(servers->warnings, ElementsAre(HasSubstr("a: the argument [\"x\"] is no text"),
                                             HasSubstr("b: its args are no array")));
}

TEST(ClientImport, NullIsLikeAbsent) {
  constexpr std::string_view kSettings =
      R"({"mcpServers":{"a":{"command":"x","args":null,"env":null,"cwd":null,"url":null}}})";
  EXPECT_EQ(imported(kSettings), "backends:\n  a:\n    command: [\"x\"]\n");
  EXPECT_THAT(warnings_of(kSettings), IsEmpty());
}

TEST(ClientImport, AServerThatTheGatewayWouldRefuseIsLeftOutAlone) {
  constexpr std::string_view kSettings = R"([mcp_servers.good]
command = "x"

[mcp_servers.bad]
command = "y"
env = { "A=B" = "1" }

[mcp_servers.worse]
command = "z"
env_vars = ["A=B"]
)";
  EXPECT_EQ(imported(kSettings), "backends:\n  good:\n    command: [\"x\"]\n");
  EXPECT_THAT(
      warnings_of(kSettings),
      ElementsAre(HasSubstr("bad: left out: env.A=B: not a name that"),
                  HasSubstr("worse: left out: env_inherit[0]: expected a variable's name")));
}

TEST(ClientImport, SettingsWithoutAnythingHaveNoServers) {
  for (const char* settings : {"", " \n", "\xef\xbb\xbf", "{}", "# a comment\n"}) {
    EXPECT_EQ(imported(settings), "error: it has no servers") << settings;
  }
}

TEST(ClientImport, SecretInACommandIsWarnedOf) {
  EXPECT_THAT(
      warnings_of(R"({"mcpServers":{"a":{"command":"x","args":["--api-key","s3cr3t99"]}}})"),
      ElementsAre(HasSubstr("a: its command holds what looks like a secret")));
}

TEST(ClientImport, PasswordInAUrlIsASecret) {
  constexpr std::string_view kSettings =
      R"({"mcpServers":{"a":{"command":"x","env":{"URL":"postgres://u:pw@h/db"}},
                        "b":{"url":"https://u:pw@h/mcp?api_key=abc"}}})";
  EXPECT_THAT(imported(kSettings),
              AllOf(HasSubstr("env: { URL: \"${URL}\" }"), Not(HasSubstr("pw"))));
  EXPECT_THAT(
      warnings_of(kSettings),
      ElementsAre(HasSubstr("a: its URL was not copied: set URL in stdgate's environment"),
                  AllOf(HasSubstr("b: left out"), Not(HasSubstr("pw")), Not(HasSubstr("abc")))));
}

TEST(ClientImport, CommandWithSpacesIsNamed) {
  constexpr std::string_view kSettings = R"({"mcpServers":{
      "words": {"command":"npx  some-server -y"},
      "path": {"command":"/opt/My Server/run"},
      "shell": {"command":"sh -c 'a b'"},
      "plain": {"command":"my server","args":["x"]}}})";
  EXPECT_THAT(import_servers(kSettings)->backends[0].command,
              ElementsAre("npx", "some-server", "-y"));
  EXPECT_THAT(import_servers(kSettings)->backends[1].command, ElementsAre("/opt/My Server/run"));
  EXPECT_THAT(import_servers(kSettings)->backends[2].command, ElementsAre("sh -c 'a b'"));
  EXPECT_THAT(import_servers(kSettings)->backends[3].command, ElementsAre("my server", "x"));
  EXPECT_THAT(warnings_of(kSettings),
              ElementsAre(HasSubstr("words: its command has spaces and no args, and was split at "
                                    "them into 3 words"),
                          HasSubstr("path: its command has spaces and no args, and was taken for"),
                          HasSubstr("shell: its command has spaces and no args, and was taken")));
}

TEST(ClientImport, EnvironmentFilesOfVsCode) {
  const test::TestFolder folder;
  const std::string file = folder.write(".env", "A=b\n");
  const std::string workspace = folder.path("");
  const std::string settings = R"({"servers":{
      "one": {"command":"${workspaceFolder}/x","envFile":"${workspaceFolder}/.env"},
      "two": {"command":"x","envFile":".env"}}})";
  const auto has_file = [&file](const std::string& name) { return name == file; };
  const std::string yaml =
      imported(settings, {workspace.substr(0, workspace.size() - 1), false, has_file});
  EXPECT_THAT(yaml,
              HasSubstr("command: [\"" + workspace + "x\"]\n    env_file: \"" + file + "\"\n"));
  EXPECT_THAT(yaml.substr(yaml.find("  two:")), HasSubstr("env_file: \"" + file + "\"\n"));
  EXPECT_THAT(warnings_of(settings),
              ElementsAre(HasSubstr("one: replace ${workspaceFolder}"),
                          HasSubstr("one: its envFile ${workspaceFolder}/.env was left out")));
}

// `adopt` leaves out a server whose environment file is missing, because the server would be
// another one without it.
TEST(ClientImport, AnEnvironmentFileIsResolvedAndNeeded) {
  ImportSurroundings surroundings;
  surroundings.environment = [](const std::string&) { return "/home/ada"; };
  surroundings.references = References::editor;
  surroundings.has_file = [](const std::string& name) { return name != "/home/ada/gone"; };
  const auto servers = import_servers(R"({"servers":{
      "one": {"command":"x","envFile":"${userHome}/.env"},
      "two": {"command":"x","envFile":"${userHome}/gone"},
      "three": {"command":"x","envFile":".env"}}})",
                                      surroundings);
  ASSERT_TRUE(servers.has_value());
  ASSERT_EQ(servers->backends.size(), 1U);
  EXPECT_THAT(servers->backends[0].others, ElementsAre("env_file: \"/home/ada/.env\""));
  EXPECT_THAT(servers->warnings,
              ElementsAre("two: left out, as its envFile /home/ada/gone is not found",
                          "three: left out, as its envFile .env is not found"));
}

TEST(ClientImport, NumbersOfEnvironmentsAreTexts) {
  EXPECT_THAT(imported(R"({"mcpServers":{"a":{"command":"x","env":{"PORT":8080,"DEBUG":true}}}})"),
              HasSubstr("env: { DEBUG: \"true\", PORT: \"8080\" }"));
}

TEST(ClientImport, WhatIsNoSuchFile) {
  EXPECT_THAT(imported("{"), HasSubstr("no JSON: line 1: a key is missing"));
  EXPECT_THAT(imported("{\"a\":\n1 // one\n\"b\":2}"), HasSubstr("line 3: a comma is missing"));
  EXPECT_THAT(imported("[]"), HasSubstr("none of mcpServers, servers,"));
  EXPECT_THAT(imported("{\"mcpServers\":[]}"), HasSubstr("none of"));
  EXPECT_THAT(imported("/*"), HasSubstr("no JSON"));
  EXPECT_THAT(imported("{\"a\":\"\\"), HasSubstr("no JSON"));
  for (const std::string escape : {"q", "u12", "u12g4", "u"}) {
    EXPECT_THAT(imported(R"({"\)" + escape + R"(":1})"), HasSubstr("an escape is no JSON"))
        << escape;
  }
  EXPECT_THAT(imported(R"({"\u0061":{"\\\"\/\b":1}})"), HasSubstr("none of"));
}

}  // namespace
}  // namespace stdgate::tools
