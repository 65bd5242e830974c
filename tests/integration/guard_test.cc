// The guard is a separate program in stdgate's folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/integration/harness/processes.h"
#include "tests/integration/harness/program_run.h"
#include "tests/integration/harness/setups.h"

namespace stdgate::harness::guard_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

std::string read_proc(pid_t pid, const char* file) {
  std::ifstream in(fs::path("/proc") / std::to_string(pid) / file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

pid_t guard_of(const GatewayProcess& gateway) {
  const std::vector<ProcessInfo> guards = children_of(gateway.pid());
  EXPECT_EQ(guards.size(), 1U) << describe(guards);
  return guards.at(0).pid;
}

// Copies both programs into the folder, so that the test can change them.
std::string install_into(const TemporaryFolder& folder) {
  fs::copy_file(STDGATE_PROGRAM, folder.path() / "stdgate");
  fs::copy_file(STDGATE_GUARD, folder.path() / "stdgate-guard");
  return folder.path() / "stdgate";
}

TEST(Guard, IsCalledChildGuardAndLinksNoCppLibrary) {
  GatewayProcess gateway(serve_one(rogue({"rpc"}), "pool: { min: 1 }"));
  await_children(gateway, 1);
  const pid_t guard = guard_of(gateway);
  EXPECT_EQ(read_proc(guard, "comm"), "child-guard\n");
  EXPECT_TRUE(read_proc(guard, "cmdline").starts_with("child-guard"));
  if (kSanitized) return;
  EXPECT_THAT(read_proc(guard, "maps"), Not(HasSubstr("libstdc++")));
  EXPECT_THAT(read_proc(guard, "maps"), Not(HasSubstr("libuv")));
}

TEST(Guard, WithoutItNothingStartsAndItSaysWhereItLooked) {
  const TemporaryFolder folder;
  const std::string program = install_into(folder);
  const std::vector<std::string> arguments = {"--listen", "127.0.0.1:0", "--admin",
                                              "off",      "--",          "cat"};
  const std::string guard = folder.path() / "stdgate-guard";
  struct Case {
    void (*spoil)(const std::string& guard);
    const char* reason;
  };
  const Case cases[] = {
      {[](const std::string& file) { chmod(file.c_str(), 0600); }, "Permission denied"},
      {[](const std::string& file) { fs::remove(file); },
       "No such file or directory; install stdgate-guard beside stdgate"},
      {[](const std::string& file) { fs::create_directory(file); }, "Permission denied"}};
  for (const Case& c : cases) {
    c.spoil(guard);
    const ProgramRun run = run_stdgate(folder, arguments, Millis(10'000), program);
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_EQ(run.err, "stdgate: cannot run its guard " + guard + ": " + c.reason + "\n");
    EXPECT_EQ(run.out, "");
  }
}

// An upgrade replaces both files. The running gateway keeps its guard of the old version.
TEST(Guard, MayBeReplacedWhileTheGatewayRuns) {
  const TemporaryFolder folder;
  GatewaySetup setup =
      serve_one(rogue({"die-after", "1"}), "pool: { max: 1, backoff_min: 1ms, backoff_max: 1ms }");
  setup.program = install_into(folder);
  GatewayProcess gateway(setup);
  folder.write("new", "#!/bin/sh\nexit 1\n");
  chmod((folder.path() / "new").c_str(), 0755);
  fs::rename(folder.path() / "new", folder.path() / "stdgate-guard");
  HttpClient client = gateway.connect();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(eventually("a child answers", [&] { return call(client, "m").status == 200; }));
  }
}

}  // namespace
}  // namespace stdgate::harness::guard_test
