// The promise: a child and all that it started are gone when they have to be, however they hide.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "tests/unit/stdio/child_fixture.h"
#include "transports/net/file_descriptor.h"

namespace stdgate {
namespace {

using std::chrono::milliseconds;
using test::ChildTest;
using test::kSoon;
using test::processes_marked;

struct Orphans : ChildTest {
  struct Leaver {
    std::vector<std::string> command;
    size_t rogues;  // rogue_child processes that there are when it runs
  };
  // Commands that leave something behind if they are merely killed.
  [[nodiscard]] std::vector<Leaver> leavers() const {
    const std::string stubborn = std::string(STDGATE_ROGUE) + " stubborn 0 " + mark;
    return {
        {{STDGATE_ROGUE, "grandchild", "0", mark}, 2},
        {{STDGATE_ROGUE, "stubborn", "0", mark}, 1},
        {{"/bin/sh", "-c", stubborn + " & " + stubborn + "; exit"}, 2},
        {{"/bin/sh", "-c", stubborn + " & exec cat"}, 1},
        {{"/bin/sh", "-c", "setsid setsid " + stubborn + " & exec cat"}, 1},
    };
  }
  bool runs(const Leaver& leaver) {
    return until([&] { return processes_marked(mark, "rogue_child").size() == leaver.rogues; });
  }
};

TEST_F(Orphans, NoneAfterAnEnd) {
  for (const Leaver& leaver : leavers()) {
    launch(leaver.command);
    ASSERT_TRUE(runs(leaver)) << leaver.command[2];
    child->end(milliseconds(100));
    ASSERT_TRUE(exited(kSoon)) << leaver.command[2];
    EXPECT_TRUE(processes_marked(mark).empty()) << leaver.command[2];
  }
}

TEST_F(Orphans, NoneAfterTheCommandIsKilled) {
  const Leaver leaver = leavers().front();
  launch(leaver.command);
  ASSERT_TRUE(started() && runs(leaver));
  kill_command(SIGKILL);
  ASSERT_TRUE(exited(kSoon));
  EXPECT_TRUE(processes_marked(mark).empty());
}

TEST_F(Orphans, NoneAfterTheLinkIsDestroyed) {
  for (const Leaver& leaver : leavers()) {
    launch(leaver.command);
    ASSERT_TRUE(runs(leaver)) << leaver.command[2];
    child.reset();
    EXPECT_TRUE(all_gone_soon()) << leaver.command[2];
    EXPECT_FALSE(recorder.exit.has_value());
  }
}

TEST_F(Orphans, TheLoopWaitsForDestroyedLinks) {
  auto own_loop = std::make_unique<Loop>();
  {
    ChildProcesses own(*own_loop, log, STDGATE_GUARD);
    spec.command = {STDGATE_ROGUE, "grandchild", "0", mark};
    const auto link = own.launch(spec, recorder);
    ASSERT_TRUE(test::run_until(*own_loop, [&] { return recorder.pid != 0; }));
  }
  own_loop.reset();
  EXPECT_TRUE(processes_marked(mark).empty());
  EXPECT_TRUE(children_of(::getpid()).empty());
}

TEST_F(Orphans, NoneInTheGroupAfterTheGuardIsKilled) {
  const Leaver leaver = leavers()[2];
  launch(leaver.command);
  ASSERT_TRUE(started() && runs(leaver));
  const std::vector<pid_t> guards = children_of(::getpid());
  ASSERT_EQ(guards.size(), 1U);
  ASSERT_EQ(::kill(guards.front(), SIGKILL), 0);
  ASSERT_TRUE(exited(kSoon));
  test::expect_exit(recorder, ExitStatus::Kind::signaled, SIGKILL);
  EXPECT_TRUE(all_gone_soon());
}

TEST_F(Orphans, TheGuardPassesSigtermOn) {
  launch_rogue("ignore-eof");
  ASSERT_TRUE(answers());
  for (const pid_t guard : children_of(::getpid())) ASSERT_EQ(::kill(guard, SIGTERM), 0);
  ASSERT_TRUE(exited(kSoon));
  test::expect_exit(recorder, ExitStatus::Kind::signaled, SIGTERM);
}

// A small gateway in a process of its own, killed without a chance to say goodbye.
TEST_F(Orphans, NoneAfterTheGatewayIsKilled) {
  for (const Leaver& leaver : leavers()) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const FileDescriptor from_gateway(ends[0]);
    FileDescriptor to_test(ends[1]);
    std::vector<std::string> arguments{STDGATE_GUARD, "gateway"};
    arguments.insert(arguments.end(), leaver.command.begin(), leaver.command.end());
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const pid_t gateway = ::fork();
    if (gateway == 0) {
      ::dup2(to_test.get(), STDOUT_FILENO);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    to_test.reset();
    std::array<char, 32> line{};
    ASSERT_GT(::read(from_gateway.get(), line.data(), line.size()), 0);
    ASSERT_TRUE(runs(leaver));
    ASSERT_EQ(::kill(gateway, SIGKILL), 0);
    ASSERT_EQ(::waitpid(gateway, nullptr, 0), gateway);
    EXPECT_TRUE(all_gone_soon()) << leaver.command[2];
  }
}

}  // namespace
}  // namespace stdgate
