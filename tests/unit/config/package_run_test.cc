// Commands that download the program that they run.
#include <gtest/gtest.h>

#include "gateway/config/backend_facts.h"

namespace stdgate::config {
namespace {

struct Case {
  std::vector<std::string> command;
  const char* runner;  // null: the command downloads nothing
  const char* package = "";
  bool may_ask = false;
  bool fetches = true;
};

TEST(PackageRun, IsKnownByItsWords) {
  const Case cases[] = {
      {{"npx", "server"}, "npx", "server", true},
      {{"/usr/bin/npx", "@scope/server@1.2", "--stdio"}, "npx", "@scope/server", true},
      {{"npx", "-y", "server"}, "npx", "server"},
      {{"npx", "--yes", "--", "server"}, "npx", "server"},
      {{"npx", "-p", "pack@2", "server"}, "npx", "pack", true},
      {{"npx", "--package=pack", "server"}, "npx", "pack", true},
      {{"npx", "--no", "server"}, "npx", "server", false, false},
      {{"npx", "server", "-y"}, "npx", "server", true},
      {{"npm", "exec", "--yes", "server"}, "npm exec", "server"},
      {{"npm", "start"}, nullptr},
      {{"uvx", "mcp-server-git"}, "uvx", "mcp-server-git"},
      {{"uvx", "--from", "pack[all]==1.0", "server"}, "uvx", "pack"},
      {{"uvx", "--offline", "server"}, "uvx", "server", false, false},
      {{"pipx", "run", "--spec", "pack~=1", "server"}, "pipx run", "pack"},
      {{"bunx", "server"}, "bunx", "server"},
      {{"pnpm", "dlx", "server"}, "pnpm dlx", "server"},
      {{"npx"}, "npx", "", true},
      {{"node", "npx"}, nullptr},
      {{}, nullptr},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.command.empty() ? "" : one.command.front() + " " + one.command.back());
    const auto run = package_run_of(one.command);
    ASSERT_EQ(run.has_value(), one.runner != nullptr);
    if (!run) continue;
    EXPECT_EQ(run->runner, one.runner);
    EXPECT_EQ(run->package, one.package);
    EXPECT_EQ(run->may_ask, one.may_ask);
    EXPECT_EQ(run->fetches, one.fetches);
  }
}

}  // namespace
}  // namespace stdgate::config
