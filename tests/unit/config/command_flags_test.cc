// The flags are those of the table of options, and --help describes them with the texts of the
// table.
#include "gateway/app/command_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "gateway/config/options/option_info.h"

namespace stdgate {
namespace {

using config::OptionInfo;
using testing::HasSubstr;

void append_options(const config::OptionInfo& section, std::vector<config::OptionInfo>& out) {
  for (const config::OptionInfo& option : section.options) {
    if (!option.flag.name.empty()) out.push_back(option);
    append_options(option, out);
  }
}

// `text` on one line, with single spaces.
std::string flat(const std::string& text) {
  std::istringstream words(text);
  std::string flat;
  for (std::string word; words >> word;) flat += (flat.empty() ? "" : " ") + word;
  return flat;
}

TEST(CommandFlags, AreThoseOfTheOptionsAndTheName) {
  std::vector<config::OptionInfo> options;
  append_options(config::describe_options(), options);
  const std::vector<app::FlagSpec> flags = app::command_flags();
  EXPECT_GT(options.size(), 20U);
  EXPECT_EQ(flags.size(), options.size() + 1);
  for (const config::OptionInfo& option : options) {
    const auto flag = std::find_if(flags.begin(), flags.end(), [&](const app::FlagSpec& candidate) {
      return candidate.name == option.flag.name;
    });
    ASSERT_NE(flag, flags.end()) << option.flag.name;
    EXPECT_EQ(flag->path.back(), option.key);
    EXPECT_EQ(flag->scope == app::FlagScope::backend, option.path.front() == "backends")
        << flag->name;
    EXPECT_EQ(flag->path.size() + (flag->scope == app::FlagScope::backend ? 2 : 0),
              option.path.size());
  }
}

TEST(CommandFlags, SayTheDefault) {
  std::vector<config::OptionInfo> options;
  append_options(config::describe_options(), options);
  const std::string help = flat(app::help_text(app::command_flags()));
  for (const config::OptionInfo& option : options) {
    EXPECT_THAT(help, HasSubstr(" " + std::string(option.flag.name) + " "));
    const std::string value =
        option.default_words.empty() ? config::text_of(option.default_value) : option.default_words;
    if (value.empty() || option.kind == config::OptionInfo::Kind::boolean) continue;
    if (option.kind == config::OptionInfo::Kind::inherited) {  // described in a separate paragraph
      EXPECT_THAT(help, HasSubstr(" a child gets " + value + " and what --env"));
      continue;
    }
    const size_t flag = help.find(" " + std::string(option.flag.name) + " ");
    const size_t next = std::min(help.find(" --", flag + 1), help.size());
    EXPECT_THAT(help.substr(flag, next - flag), HasSubstr(" (" + value + ")")) << option.flag.name;
  }
}

TEST(CommandFlags, HelpFitsATerminal) {
  std::istringstream lines(app::help_text(app::command_flags()));
  std::vector<std::string> groups;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
    if (line.ends_with(':') && line[0] != ' ') groups.push_back(line);
  }
  EXPECT_THAT(groups, testing::ElementsAre("Usage:", "General:", "Listening:", "Backend:", "Pool:",
                                           "Authentication:", "Limits:", "TLS:", "Sessions:",
                                           "Log:", "Audit:", "Traces:", "Examples:"));
}

}  // namespace
}  // namespace stdgate
