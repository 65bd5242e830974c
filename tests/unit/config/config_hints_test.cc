#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/config/config_parser.h"
#include "gateway/config/value_names.h"

namespace stdgate::config {

// The places of values in a configuration file, found by their paths.

namespace {

std::string place_of(const std::string& path, const std::string& yaml) {
  std::vector<ConfigError> errors{{0, 0, path, "m"}};
  place_errors(yaml, errors);
  return std::to_string(errors[0].line) + ":" + std::to_string(errors[0].column);
}

TEST(ConfigPlace, IsThatOfTheValueOrOfWhatIsAroundIt) {
  const std::string yaml =
      "listen:\n"
      "  - address: \"127.0.0.1:0\"\n"
      "    tls: { certificate: [a.crt, b.crt] }\n"
      "auth:\n"
      "  mtls: { roles: { \"CN=a.b\": [x, y], CN=a: [z] } }\n"
      "backends:\n"
      "  a: { command: [cat], cwd: /x }\n"
      "  a.b: { command: [cat], cwd: /y }\n";
  const std::pair<const char*, const char*> cases[] = {{"listen[0].tls.certificate[1]", "3:33"},
                                                       {"listen[0].tls.key", "3:5"},
                                                       {"listen[7].tls", "1:1"},
                                                       {"auth.mtls.roles.CN=a.b[1]", "5:34"},
                                                       {"auth.mtls.roles.CN=a[0]", "5:45"},
                                                       {"backends.a.cwd", "7:29"},
                                                       {"backends.a.b.cwd", "8:31"},
                                                       {"backends.a.user", "7:3"},
                                                       {"backends[0]", "6:1"},
                                                       {"listen[x", "1:1"},
                                                       {"tls.key", "0:0"},
                                                       {"", "0:0"}};
  for (const auto& [path, place] : cases) EXPECT_EQ(place_of(path, yaml), place) << path;
}

TEST(ConfigPlace, IsLeftAsItIsWhereItIsKnownOrNothingCanBeRead) {
  std::vector<ConfigError> errors{{7, 3, "a", "m"}};
  place_errors("a: 1\n", errors);
  EXPECT_EQ(errors[0].to_string("f"), "f:7:3: a: m");
  EXPECT_EQ(place_of("a", "a: [1\n"), "0:0");
  EXPECT_EQ(place_of("a", ""), "0:0");
}

}  // namespace

}  // namespace stdgate::config

namespace stdgate {

namespace {

TEST(LogFormatHint, IsReadAsFarAsItCanBe) {
  struct Case {
    const char* yaml;
    std::vector<config::Setting> settings;
    config::LogFormat format;
  };
  const config::Setting json{{"log", "format"}, "json"};
  const config::Setting text{{"log", "format"}, "text"};
  const config::Setting level{{"log", "level"}, "json"};
  const Case cases[] = {
      {"", {}, config::LogFormat::text},
      {"log: { format: json }", {}, config::LogFormat::json},
      {"lisen: x\nlog: { format: json, levle: 3 }", {}, config::LogFormat::json},
      {"log: { format: xml }", {}, config::LogFormat::text},
      {"log: { format: [json] }", {}, config::LogFormat::text},
      {"log: json", {}, config::LogFormat::text},
      {"[log]", {}, config::LogFormat::text},
      {"log: { format: json", {}, config::LogFormat::text},  // invalid YAML
      {"{", {json}, config::LogFormat::json},
      {"log: { format: json }", {text}, config::LogFormat::text},
      {"", {level}, config::LogFormat::text},
  };
  for (const Case& given : cases) {
    EXPECT_EQ(config::log_format_hint(given.yaml, given.settings), given.format) << given.yaml;
  }
}

}  // namespace

}  // namespace stdgate

namespace stdgate::config {

// Keys that users know from other programs.

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

namespace stdgate {

// Suggestions for misspelled words: only words that are near enough.

namespace {

TEST(NearestWord, Table) {
  const std::vector<std::string_view> words{"min", "max", "max_in_flight", "queue", "queue_bytes"};
  const std::pair<std::string, std::optional<std::string_view>> cases[] = {
      {"max", "max"},
      {"maxx", "max"},
      {"mxa", "max"},
      {"mni", "min"},
      {"qeueu", "queue"},
      {"queue-bytes", "queue_bytes"},
      {"maxInFlight", "max_in_flight"},
      {"x", std::nullopt},
      {"", std::nullopt},
      {"isolation", std::nullopt},
      {std::string(65, 'm'), std::nullopt},
  };
  for (const auto& [word, expected] : cases)
    EXPECT_EQ(config::nearest_word(word, words), expected) << word;
  EXPECT_EQ(config::nearest_word("max", {}), std::nullopt);
}

}  // namespace

}  // namespace stdgate
