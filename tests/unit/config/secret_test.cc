// Which values are hidden when a configuration is printed, and which are not.
#include "gateway/config/secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stdgate {

namespace {

TEST(HideSecretVariable, Table) {
  struct Case {
    const char* name;
    const char* value;
    const char* shown;
  };
  const Case cases[] = {
      {"OPENAI_API_KEY", "abc", "***hidden***"},
      {"api_key", "abc", "***hidden***"},
      {"GITHUB_TOKEN", "abc", "***hidden***"},
      {"CLIENT_SECRET_ID", "abc", "***hidden***"},
      {"PGPASSWORD", "abc", "***hidden***"},
      {"DB_PASS", "abc", "***hidden***"},
      {"GITHUB_TOKEN", "", ""},
      {"X", "ghp_abc", "***hidden***"},
      {"X", "sk-proj-abc", "***hidden***"},
      {"X", "Bearer abc", "***hidden***"},
      {"X", "-----BEGIN PRIVATE KEY-----", "***hidden***"},
      {"DATABASE_URL", "postgres://ada:love@db/x", "postgres://ada:***hidden***@db/x"},
      {"PATH", "/usr/bin:/bin", "/usr/bin:/bin"},
      {"PWD", "/srv", "/srv"},
      {"LOG_LEVEL", "debug", "debug"},
  };
  for (const auto& [name, value, shown] : cases) {
    EXPECT_EQ(config::hide_secret_variable(name, value), shown) << name;
  }
}

TEST(HidePasswords, Table) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"postgres://ada:love@db:5432/x?a=b", "postgres://ada:***hidden***@db:5432/x?a=b"},
      {"ada:love@db", "ada:***hidden***@db"},
      {"--url=ada:lo:ve@db", "--url=ada:***hidden***@db"},
      {"x ada:l@ve@db y bob:z@w", "x ada:***hidden***@db y bob:***hidden***@w"},
      {"\"http://a:b@c\"", "\"http://a:***hidden***@c\""},
      {"http://host:80/path", "http://host:80/path"},
      {"http://ada@host:80", "http://ada@host:80"},
      {"redis://:love@host", "redis://:***hidden***@host"},
      {"http://ada:@host", "http://ada:@host"},
      {"http://localhost:4873/@scope/x", "http://localhost:4873/@scope/x"},
      {"@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-everything"},
  };
  for (const auto& [text, shown] : cases) EXPECT_EQ(config::hide_passwords(text), shown);
}

TEST(Secret, ArgumentsOfACommand) {
  const std::pair<std::vector<std::string>, std::vector<std::string>> cases[] = {
      {{"npx", "-y", "server", "/srv/data"}, {"npx", "-y", "server", "/srv/data"}},
      {{"x", "--token", "abc"}, {"x", "--token", "***hidden***"}},
      {{"x", "--token", "--verbose"}, {"x", "--token", "--verbose"}},
      {{"x", "--api-key=abc", "y"}, {"x", "--api-key=***hidden***", "y"}},
      {{"x", "--token=abc", "y"}, {"x", "--token=***hidden***", "y"}},
      {{"docker", "run", "-e", "API_TOKEN=abc", "image"},
       {"docker", "run", "-e", "API_TOKEN=***hidden***", "image"}},
      {{"docker", "run", "-e", "API_TOKEN", "image"},
       {"docker", "run", "-e", "API_TOKEN", "image"}},
      {{"mcp-remote", "--header", "Authorization: Bearer a b"},
       {"mcp-remote", "--header", "Authorization: ***hidden***"}},
      {{"x", "https://a.example/mcp?apiKey=abc&x=1"},
       {"x", "https://a.example/mcp?apiKey=***hidden***&x=1"}},
      {{"x", "say sk-abc now", "risk-free"}, {"x", "say ***hidden*** now", "risk-free"}},
      {{"x", R"({"authKey":"abc"})"}, {"x", R"({"authKey":***hidden***)"}},
      {{"sh", "-c", "PASSWORD='a b' run"}, {"sh", "-c", "PASSWORD=***hidden***"}},
      {{"x", "postgres://ada:love@db/x"}, {"x", "postgres://ada:***hidden***@db/x"}},
      {{"x", "--key="}, {"x", "--key="}},
      {{"x", "--key=***hidden***"}, {"x", "--key=***hidden***"}},
      {{"x", "-----BEGIN PRIVATE KEY----- abc"}, {"x", "***hidden***"}},
      {{"x", "--auth"}, {"x", "--auth"}},
      {{"x", "a:b", "auth://x", ""}, {"x", "a:b", "auth://x", ""}},
  };
  for (const auto& [command, shown] : cases)
    EXPECT_EQ(config::hide_secret_arguments(command), shown);
}

TEST(Secret, PartsOfAText) {
  EXPECT_EQ(config::hide_parts("a=abc, b=ab", {"ab", "abc"}), "a=***hidden***, b=***hidden***");
  EXPECT_EQ(config::hide_parts("nothing", {"x"}), "nothing");
  EXPECT_EQ(config::hide_parts("", {"x"}), "");
}

}  // namespace

}  // namespace stdgate

namespace stdgate::config {

// Texts that a report must not show of a backend are hidden wherever they occur.

namespace {

using testing::ElementsAre;

struct Secrets {
  Config config;
  BackendConfig backend;
  std::map<std::string, std::string> environment;

  [[nodiscard]] std::string hide(std::string_view text) const {
    return SecretTexts(config, backend, environment).hide(text);
  }
};

TEST(SecretTexts, VariablesByNameByValueAndByFile) {
  Secrets secrets;
  secrets.environment = {{"API_KEY", "wonderful"},
                         {"X", "ghp_1234"},
                         {"F", "of-a-file"},
                         {"E", "of-env-file"},
                         {"LOG", "debug"}};
  secrets.backend.env_sources["F"] = {"f.txt", true, false};
  secrets.backend.env_from_files["E"] = "of-env-file";
  EXPECT_EQ(secrets.hide("a wonderful ghp_1234, of-a-file of-env-file debug"),
            "a ***hidden*** ***hidden***, ***hidden*** ***hidden*** debug");
  secrets.backend.env["E"] = "plain-text";
  secrets.environment["E"] = "plain-text";
  EXPECT_EQ(secrets.hide("plain-text"), "plain-text");
}

TEST(SecretTexts, PartsOfTheFileThatVariablesBrought) {
  Secrets secrets;
  secrets.config.secrets = {{"--key=wonderful", {"wonderful"}}};
  secrets.backend.command = {"x", "--key=wonderful", "--token", "abc", "redis://:pw@host"};
  EXPECT_EQ(secrets.hide("not wonderful"), "not ***hidden***");
  EXPECT_THAT(SecretTexts(secrets.config, secrets.backend, {}).command(),
              ElementsAre("x", "--key=***hidden***", "--token", "***hidden***",
                          "redis://:***hidden***@host"));
}

// A short password is part of too many words, so it is hidden only together with its surroundings.
TEST(SecretTexts, ShortOnesWithWhatStandsAroundThem) {
  Secrets secrets;
  secrets.environment = {{"DB", "postgres://u:pw@h/db"}};
  EXPECT_EQ(secrets.hide("cannot reach postgres://u:pw@h/db: no pwd"),
            "cannot reach postgres://u:***hidden***@h/db: no pwd");
  secrets.environment = {{"A_TOKEN", "abc"}, {"B_TOKEN", "abcd"}};
  EXPECT_EQ(secrets.hide("abc abcd"), "abc ***hidden***");
}

TEST(SecretTexts, LinesEscapedAndCut) {
  Secrets secrets;
  secrets.environment = {{"KEY", "line one\nline \"two\"\n"}};
  EXPECT_EQ(secrets.hide("line one"), "***hidden***");
  EXPECT_EQ(secrets.hide(R"({"x":"line \"two\""})"), R"({"x":"***hidden***"})");
  EXPECT_EQ(secrets.hide("it ends in lin"), "it ends in lin");
  EXPECT_EQ(secrets.hide("it ends in line"), "it ends in ***hidden***");
}

}  // namespace

}  // namespace stdgate::config
