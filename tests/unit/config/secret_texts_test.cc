// What a report must not show of a backend is hidden wherever it stands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/config/secret.h"

namespace stdgate::config {
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

// A short password is part of too many words to be hidden without what stands around it.
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
