// Adds backends to a file that a person has written.
#include "gateway/tools/gateway_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stdgate::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<BackendLines> kOne = {BackendLines{"new", {"x", "--y"}}};
constexpr const char* kLines = "  new:\n    command: [\"x\", \"--y\"]\n";

std::string added(const std::string& text) {
  const auto result = add_backends(text, kOne, "gateway.yaml");
  return result ? result->text : "error: " + result.error();
}

TEST(ConfigEdit, AddsBehindTheLastBackend) {
  const std::string before =
      "# ours\n"
      "listen: [\"127.0.0.1:1\"]   # here\n"
      "\n"
      "backends:  # all of them\n"
      "  one:\n"
      "    command: [\"a\"]  # comment\n";
  EXPECT_EQ(added(before), before + kLines);
  const std::string after = "\n# the rest\nlog: { level: debug }\n";
  EXPECT_EQ(added(before + after), before + kLines + after);
}

TEST(ConfigEdit, IndentsAsTheOthersAre) {
  EXPECT_EQ(added("backends:\n    one: { command: [a] }\n"),
            "backends:\n    one: { command: [a] }\n    new:\n      command: [\"x\", \"--y\"]\n");
}

TEST(ConfigEdit, CommentsInBetweenStayWhereTheyAre) {
  const std::string before =
      "backends:\n"
      "  one:\n"
      "    command: [a]\n"
      "# at the beginning of a line\n"
      "  two:\n"
      "    command: [b]\n";
  EXPECT_EQ(added(before + "\n  # trailing\n\n"), before + kLines + "\n  # trailing\n\n");
}

TEST(ConfigEdit, NoBackendsYet) {
  EXPECT_EQ(added(""), std::string("backends:\n") + kLines);
  const std::string key = std::string("backends:\n") + kLines;
  const std::string log = "log: { level: debug }\n";
  for (const std::string& rest : {log, "# ours\n" + log, std::string("# ours\n")}) {
    EXPECT_EQ(added(rest), rest + "\n" + key);
    EXPECT_EQ(added(rest + "backends:\n"), rest + key);
    EXPECT_EQ(added(rest + "backends: {}\n"), rest + key);
  }
  EXPECT_EQ(added("backends:  # none yet\n" + log),
            "backends:  # none yet\n" + std::string(kLines) + log);
  EXPECT_EQ(added("backends: null\n" + log), "backends:\n" + std::string(kLines) + log);
}

TEST(ConfigEdit, MistakesAreToldWithTheFilesName) {
  EXPECT_THAT(added("log: { levle: debug }\n"),
              HasSubstr("error: it has mistakes, so nothing is added:\n"
                        "  gateway.yaml:1:8: log.levle: unknown key; did you mean 'level'?"));
}

TEST(ConfigEdit, LastLineWithoutItsEnd) {
  EXPECT_EQ(added("backends:\n  one: { command: [a] }"),
            std::string("backends:\n  one: { command: [a] }\n") + kLines);
}

TEST(ConfigEdit, LineEndsAreKept) {
  EXPECT_EQ(added("backends:\r\n  one: { command: [a] }\r\n"),
            "backends:\r\n  one: { command: [a] }\r\n  new:\r\n    command: [\"x\", \"--y\"]\r\n");
}

TEST(ConfigEdit, BlockScalarsAndListsAreNoKeys) {
  const std::string before =
      "backends:\n"
      "  one:\n"
      "    command:\n"
      "    - a\n"
      "    - |\n"
      "      backends:\n"
      "        fake\n"
      "sessions: { ttl: 1h }\n";
  const auto result = add_backends(before, kOne, "gateway.yaml");
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->text.find("        fake\n  new:\n"), before.find("        fake\n"));
}

TEST(ConfigEdit, WhatIsThereAlreadyIsRefused) {
  EXPECT_THAT(added("backends:\n  new: { command: [a] }\n"), HasSubstr("new already"));
  EXPECT_THAT(added("backends: { one: { command: [a] } }\n"), HasSubstr("on one line"));
  EXPECT_THAT(added("backends:\n  one: { comand: [a] }\n"), HasSubstr("did you mean 'command'"));
}

TEST(ConfigEdit, VariablesNeedNotBeSet) {
  EXPECT_THAT(added("backends:\n  one: { command: [a], env: { A: \"${NOT_SET_HERE}\" } }\n"),
              HasSubstr("  new:\n"));
}

TEST(ConfigEdit, ReferencesToSecretsMayBeAdded) {
  BackendLines backend{"new", {"x"}};
  backend.env.emplace("API_TOKEN", yaml_reference("API_TOKEN"));
  const auto result =
      add_backends("backends:\n  one: { command: [a] }\n", {backend}, "gateway.yaml");
  ASSERT_TRUE(result) << result.error();
  EXPECT_THAT(result->text, HasSubstr("env: { API_TOKEN: \"${API_TOKEN}\" }"));
}

TEST(ConfigEdit, OnlyBackendLosesTheRoot) {
  const auto result = add_backends("backends:\n  one: { command: [a] }\n", kOne, "gateway.yaml");
  ASSERT_TRUE(result);
  EXPECT_THAT(result->warnings, ElementsAre(HasSubstr("default: true")));
  EXPECT_THAT(add_backends(result->text, {BackendLines{"third", {"z"}}}, "gateway.yaml")->warnings,
              IsEmpty());
}

TEST(ConfigEdit, TextsAreReadBackAsTheyAre) {
  const std::vector<std::string> command = {
      "sh", "-c", "echo \"$HOME\" ${X} $$ '#' \\n", "a: b", "\ttab", "é", "- x", "{}", ""};
  const auto result = add_backends("", {BackendLines{"new", command}}, "gateway.yaml");
  ASSERT_TRUE(result) << result.error();
  const auto config = config::parse_config(
      result->text, [](const std::string&) { return std::optional<std::string>("expanded"); });
  ASSERT_TRUE(config);
  EXPECT_EQ(config->backends.front().command, command);
}

}  // namespace
}  // namespace stdgate::tools
