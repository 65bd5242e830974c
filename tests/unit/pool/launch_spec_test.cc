// make_launch_spec: which parts of the gateway's environment a child receives.

#include <gtest/gtest.h>

#include "gateway/pool/child_link.h"

namespace stdgate {
namespace {

using Environment = std::map<std::string, std::string>;

const Environment kOwn = {{"HOME", "/root"}, {"LC_ALL", "C"},   {"LC_TIME", "de"}, {"L", "l"},
                          {"PATH", "/bin"},  {"SECRET", "key"}, {"EMPTY", ""}};

config::BackendConfig backend_config() {
  config::BackendConfig backend_config;
  backend_config.name = "b";
  backend_config.command = {"server", "--stdio"};
  return backend_config;
}

TEST(LaunchSpec, InheritsOnlyWhatIsNamed) {
  struct Case {
    std::vector<std::string> patterns;
    Environment env;
    Environment expected;
  };
  const std::vector<Case> cases = {
      {{}, {}, {}},
      {{"PATH"}, {}, {{"PATH", "/bin"}}},
      {{"PAT"}, {}, {}},
      {{"PATHS"}, {}, {}},
      {{"path"}, {}, {}},
      {{"EMPTY"}, {}, {{"EMPTY", ""}}},
      {{"LC_*"}, {}, {{"LC_ALL", "C"}, {"LC_TIME", "de"}}},
      {{"L*"}, {}, {{"L", "l"}, {"LC_ALL", "C"}, {"LC_TIME", "de"}}},
      {{"*"}, {}, kOwn},
      {{"ABSENT", "PATH", "PA*"}, {}, {{"PATH", "/bin"}}},
      {{"PATH"}, {{"PATH", "/mine"}}, {{"PATH", "/mine"}}},
      {{"*C_ALL"}, {}, {}},
      {{}, {{"NEW", "1"}}, {{"NEW", "1"}}},
  };
  for (const Case& c : cases) {
    config::BackendConfig backend = backend_config();
    backend.env_inherit = c.patterns;
    backend.env = c.env;
    EXPECT_EQ(pool::make_launch_spec(backend, kOwn, "/own").environment, c.expected)
        << testing::PrintToString(c.patterns);
  }
}

TEST(LaunchSpec, EnvStandsAboveFilesAndFilesAboveTheEnvironment) {
  config::BackendConfig backend = backend_config();
  backend.env_inherit = {"PATH", "HOME", "EMPTY"};
  backend.env_from_files = {{"PATH", "/file"}, {"HOME", "/file"}, {"FILE", "1"}};
  backend.env = {{"PATH", "/env"}, {"ENV", "1"}};
  const Environment expected = {
      {"PATH", "/env"}, {"HOME", "/file"}, {"EMPTY", ""}, {"FILE", "1"}, {"ENV", "1"}};
  EXPECT_EQ(pool::make_launch_spec(backend, kOwn, "/own").environment, expected);
}

TEST(LaunchSpec, OwnNameResolvesToTheRunningBinary) {
  struct Case {
    std::vector<std::string> command;
    std::vector<std::string> expected;
  };
  const std::vector<Case> cases = {
      {{"stdgate", "demo-server"}, {"/opt/stdgate", "demo-server"}},
      {{"/usr/bin/stdgate"}, {"/usr/bin/stdgate"}},
      {{"stdgate2"}, {"stdgate2"}},
      {{"sh", "-c", "stdgate"}, {"sh", "-c", "stdgate"}},
      {{"sh", "stdgate"}, {"sh", "stdgate"}},
  };
  for (const Case& c : cases) {
    config::BackendConfig backend = backend_config();
    backend.command = c.command;
    EXPECT_EQ(pool::make_launch_spec(backend, {}, "/opt/stdgate").command, c.expected);
  }
}

TEST(LaunchSpec, TakesTheRestAsItIs) {
  config::BackendConfig backend = backend_config();
  backend.cwd = "/srv";
  backend.user = "nobody";
  backend.rlimits.open_files = 64;
  const pool::LaunchSpec spec = pool::make_launch_spec(backend, kOwn, "/own");
  EXPECT_EQ(spec.backend, "b");
  EXPECT_EQ(spec.working_directory, "/srv");
  EXPECT_EQ(spec.user, "nobody");
  EXPECT_EQ(spec.limits, backend.rlimits);
}

}  // namespace
}  // namespace stdgate
