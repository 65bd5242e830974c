// Keys that people know from other programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/config/config_parser.h"

namespace stdgate::config {
namespace {

using testing::HasSubstr;

std::string foreign_errors_of(const std::string& yaml) {
  const auto config = parse_config(yaml, [](const std::string&) { return std::nullopt; });
  if (config) return {};
  std::string text;
  for (const ConfigError& error : config.error()) text += error.to_string("f") + "\n";
  return text;
}

TEST(ForeignKeys, GetTheLineToWrite) {
  struct Case {
    const char* yaml;
    const char* expected;
  };
  const Case cases[] = {
      {"backends:\n  a:\n    command: npx\n    args: [-y, \"the server\"]\n",
       "f:3:14: backends.a.command: expected a list of the program and its arguments. Write "
       "command: [\"npx\", \"-y\", \"the server\"]\n"},
      {"backends:\n  a:\n    command: [npx]\n    args: [-y, server]\n",
       "f:4:5: backends.a.args: unknown key; the arguments belong to the command. Write command: "
       "[\"npx\", \"-y\", \"server\"]\n"},
      {"mcpServers:\n  files: { command: npx, args: [-y, server, --token, abc] }\n",
       "mcpServers: unknown key; this key is from the settings of an MCP client. Write: backends: "
       "{ \"files\": { command: [\"npx\", \"-y\", \"server\", \"--token\", \"***hidden***\"] } }; "
       "or import the client's file with stdgate add --import FILE\n"},
      {"{\"mcpServers\": {}, \"backends\": {\"a\": {\"command\": [\"x\"]}}}", "backends: { NAME:"},
      {"tls: { cert: server.crt, key: server.key }\nbackends: { a: { command: [x] } }\n",
       "tls.cert: unknown key; write certificate: \"server.crt\"\n"},
      {"listen: [ { address: \"127.0.0.1:1\", tls: { certificate: a, key_file: b } } ]\n"
       "backends: { a: { command: [x] } }\n",
       "tls.key_file: unknown key; write key: \"b\"\n"},
      {"port: 9000\nbackends: { a: { command: [x] } }\n",
       "port: unknown key; write listen: [\"127.0.0.1:9000\"]\n"},
      {"host: \"::1\"\nbackends: { a: { command: [x] } }\n", "write listen: [\"[::1]:8080\"]\n"},
      {"backends: { a: { command: [x], environment: [A=1] } }\n", "write env: { NAME: \"VALUE\" }"},
      {"backends: { a: { command: [x], type: stdio } }\n", "leave it out"},
      {"backends: { a: { url: \"https://x.example/mcp?api_key=abc\" } }\n",
       "backends.a.url: unknown key; a backend is a command, and this one reaches the URL. Write "
       "command: [\"stdgate\", \"connect\", \"https://x.example/mcp?api_key=***hidden***\"]\n"},
      {"mcpServers: { far: { url: \"https://x.example/mcp\" } }\n",
       "backends: { \"far\": { command: [\"stdgate\", \"connect\", \"https://x.example/mcp\"] } }"},
      {"backends: { a: { command: [x], workdir: /srv } }\n", "write cwd: \"/srv\"\n"},
      {"backends: { a: { command: [x], timout: 1s } }\n", "did you mean 'timeout'?"},
  };
  for (const Case& one : cases) {
    EXPECT_THAT(foreign_errors_of(one.yaml), HasSubstr(one.expected)) << one.yaml;
  }
}

}  // namespace
}  // namespace stdgate::config
