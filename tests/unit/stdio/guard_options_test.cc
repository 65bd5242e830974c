// The guard's arguments: what the guard understands, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "transports/stdio/guard/command_start.h"

namespace stdgate::guard {
namespace {

struct Parsed {
  bool valid = false;
  guard::Options options;
};

Parsed parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "child-guard");
  static std::vector<std::string> kept;  // the options point into it
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
             "--nproc", "18446744073709551615", "--cgroup", "/c", "--", "cmd", "--cwd"});
  ASSERT_TRUE(parsed.valid);
  EXPECT_STREQ(parsed.options.directory, "/tmp");
  EXPECT_STREQ(parsed.options.cgroup, "/c");
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

TEST(GuardOptions, ASandbox) {
  const Parsed parsed =
      parse({"--sandbox", "required", "--files", "all",       "--read",     "a",         "--read",
             "/b",        "--write",  "c",       "--network", "ports+unix", "--connect", "443",
             "--bind",    "80",       "--bind",  "65535",     "--",         "cmd"});
  ASSERT_TRUE(parsed.valid);
  const guard::Sandbox& sandbox = parsed.options.sandbox;
  EXPECT_TRUE(sandbox.is_wanted);
  EXPECT_TRUE(sandbox.is_required);
  EXPECT_EQ(sandbox.files, guard::FileRule::all);
  EXPECT_EQ(sandbox.network, guard::NetworkRule::ports);
  EXPECT_TRUE(sandbox.unix_sockets);
  EXPECT_THAT(std::vector<std::string>(sandbox.read.begin(), sandbox.read.end()),
              testing::ElementsAre("a", "/b"));
  EXPECT_THAT(std::vector<std::string>(sandbox.write.begin(), sandbox.write.end()),
              testing::ElementsAre("c"));
  EXPECT_THAT(std::vector<int>(sandbox.connect.begin(), sandbox.connect.end()),
              testing::ElementsAre(443));
  EXPECT_THAT(std::vector<int>(sandbox.bind.begin(), sandbox.bind.end()),
              testing::ElementsAre(80, 65535));
  const Parsed wished = parse({"--sandbox", "wished", "--", "cmd"});
  ASSERT_TRUE(wished.valid);
  EXPECT_TRUE(wished.options.sandbox.is_wanted);
  EXPECT_FALSE(wished.options.sandbox.is_required);
}

TEST(GuardOptions, PathsAndPortsOfASandboxAreBounded) {
  const auto many = [](const std::string& name, const std::string& value, size_t count) {
    std::vector<std::string> arguments;
    for (size_t i = 0; i < count; ++i) arguments.insert(arguments.end(), {name, value});
    arguments.insert(arguments.end(), {"--", "cmd"});
    return arguments;
  };
  for (const char* name : {"--read", "--write"}) {
    EXPECT_TRUE(parse(many(name, "/", guard::kMaxPaths)).valid) << name;
    EXPECT_FALSE(parse(many(name, "/", guard::kMaxPaths + 1)).valid) << name;
  }
  for (const char* name : {"--connect", "--bind"}) {
    EXPECT_TRUE(parse(many(name, "1", guard::kMaxPorts)).valid) << name;
    EXPECT_FALSE(parse(many(name, "1", guard::kMaxPorts + 1)).valid) << name;
  }
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
      {"--sandbox", "", "--", "cmd"},
      {"--sandbox", "strict", "--", "cmd"},
      {"--files", "some", "--", "cmd"},
      {"--network", "any", "--", "cmd"},
      {"--connect", "65536", "--", "cmd"},
      {"--bind", "x", "--", "cmd"},
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
