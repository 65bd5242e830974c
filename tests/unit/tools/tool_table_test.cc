// Every tool is explained wherever tools are listed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "gateway/app/command_flags.h"
#include "gateway/tools/peer.h"
#include "gateway/tools/tool.h"

namespace stdgate::tools {
namespace {

using testing::HasSubstr;

TEST(ToolTable, EachIsAWordOfTheHelp) {
  const std::string help = app::help_text({}, command_words());
  for (const Tool& tool : all_tools()) {
    EXPECT_THAT(help, HasSubstr("  stdgate " + std::string(tool.word) + " "));
    EXPECT_NE(tool.summary, "");
    EXPECT_EQ(find_tool(tool.word)->word, tool.word);
  }
  for (const app::CommandWord& own : app::own_words()) {
    EXPECT_THAT(help, HasSubstr("  stdgate " + std::string(own.word) + " "));
  }
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_EQ(find_tool("check"), nullptr);
  EXPECT_EQ(find_tool(""), nullptr);
}

TEST(ToolTable, HelpFitsATerminalAndNamesEveryOption) {
  for (const Tool& tool : all_tools()) {
    const std::string help = help_of(tool);
    EXPECT_THAT(help, HasSubstr("  stdgate " + std::string(tool.word)));
    for (const ToolOption& option : tool.options) {
      EXPECT_THAT(help, HasSubstr("  " + std::string(option.name)));
      EXPECT_NE(option.help, "");
    }
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 80U) << line;
    }
  }
}

// The gateway's own answer says more about a call that takes too long.
TEST(ToolTable, ACallIsWaitedForLongerThanTheGatewayWaits) {
  EXPECT_GT(kAnswerTimeout, config::BackendConfig{}.timeout);
  const auto time = std::chrono::duration_cast<std::chrono::seconds>(kAnswerTimeout);
  EXPECT_THAT(help_of(*find_tool("call")),
              HasSubstr("for a call (" + std::to_string(time.count()) + "s)"));
}

TEST(ToolTable, Arguments) {
  const Tool& tool = *find_tool("doctor");
  const std::vector<std::string> words = {"--json", "a",       "--timeout", "2s", "--env",
                                          "A=b",    "--min=3", "--",        "--", "x"};
  const auto arguments = parse_tool_arguments(tool, words);
  ASSERT_TRUE(arguments);
  EXPECT_TRUE(arguments->has("--json"));
  EXPECT_EQ(arguments->value("--timeout"), "2s");
  EXPECT_EQ(arguments->value("--config"), "");
  EXPECT_THAT(arguments->words, testing::ElementsAre("a"));
  EXPECT_THAT(arguments->backend_options, testing::ElementsAre("--env=A=b", "--min=3"));
  EXPECT_THAT(arguments->command, testing::ElementsAre("--", "x"));
}

}  // namespace
}  // namespace stdgate::tools
