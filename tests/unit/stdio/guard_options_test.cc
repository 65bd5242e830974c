// The guard's arguments: what is understood, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "transports/stdio/guard/options.h"

namespace stdgate::guard {
namespace {

struct Parsed {
  bool valid = false;
  guard::Options options;
};

Parsed parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "child-guard");
  static std::vector<std::string> kept;  // the options point to it
  kept = std::move(arguments);
  static std::vector<char*> argv;
  argv.clear();
  for (std::string& argument : kept) argv.push_back(argument.data());
  argv.push_back(nullptr);
  Parsed parsed;
  parsed.valid = guard::parse_options(static_cast<int>(kept.size()), argv.data(), &parsed.options);
  return parsed;
}

std::string identity_with_groups(size_t count) {
  std::string text = "7:8:";
  for (size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + std::to_string(i);
  return text;
}

TEST(GuardOptions, AllOfThem) {
  const Parsed parsed =
      parse({"--cwd", "/tmp", "--identity", "7:8:9,10", "--as", "1", "--cpu", "2", "--nofile", "3",
             "--nproc", "18446744073709551615", "--", "cmd", "--cwd"});
  ASSERT_TRUE(parsed.valid);
  EXPECT_STREQ(parsed.options.directory, "/tmp");
  ASSERT_TRUE(parsed.options.identity);
  EXPECT_EQ(parsed.options.identity->user, 7U);
  EXPECT_EQ(parsed.options.identity->group, 8U);
  ASSERT_EQ(parsed.options.identity->group_count, 2U);
  EXPECT_EQ(parsed.options.identity->groups[1], 10U);
  EXPECT_THAT(parsed.options.limits, testing::ElementsAre(1, 2, 3, UINT64_MAX));
  EXPECT_STREQ(parsed.options.command[0], "cmd");
  EXPECT_STREQ(parsed.options.command[1], "--cwd");
  EXPECT_EQ(parsed.options.command[2], nullptr);
}

TEST(GuardOptions, NoneButACommand) {
  const Parsed parsed = parse({"--", "cmd"});
  ASSERT_TRUE(parsed.valid);
  EXPECT_EQ(parsed.options.directory, nullptr);
  EXPECT_FALSE(parsed.options.identity);
  EXPECT_STREQ(parsed.options.command[0], "cmd");
}

TEST(GuardOptions, Refused) {
  const std::vector<std::vector<std::string>> cases = {
      {},
      {"--"},
      {"cmd"},
      {"--cwd", "/tmp"},
      {"--cwd", "--"},
      {"--user", "nobody", "--", "cmd"},
      {"--cpu", "", "--", "cmd"},
      {"--cpu", "1s", "--", "cmd"},
      {"--cpu", "-1", "--", "cmd"},
      {"--cpu", "18446744073709551616", "--", "cmd"},
      {"--identity", "", "--", "cmd"},
      {"--identity", "1", "--", "cmd"},
      {"--identity", "1:", "--", "cmd"},
      {"--identity", "nobody:1:", "--", "cmd"},
      {"--identity", "1:2:x", "--", "cmd"},
      {"--identity", "1:2:3,,4", "--", "cmd"},
  };
  for (const auto& arguments : cases) {
    EXPECT_FALSE(parse(arguments).valid) << testing::PrintToString(arguments);
  }
}

TEST(GuardOptions, GroupsAreBounded) {
  EXPECT_TRUE(parse({"--identity", identity_with_groups(0), "--", "cmd"}).valid);
  const Parsed most = parse({"--identity", identity_with_groups(guard::kMaxGroups), "--", "cmd"});
  ASSERT_TRUE(most.valid);
  EXPECT_EQ(most.options.identity->group_count, guard::kMaxGroups);
  EXPECT_EQ(most.options.identity->groups.back(), guard::kMaxGroups - 1);
  EXPECT_FALSE(
      parse({"--identity", identity_with_groups(guard::kMaxGroups + 1), "--", "cmd"}).valid);
}

}  // namespace
}  // namespace stdgate::guard
