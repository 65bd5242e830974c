// When a child must end, it and all processes that it started must end, however they try to escape.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>

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
    size_t rogues;  // rogue_child processes while the command runs
  };
  // Commands that leave processes behind if only the command is killed.
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
  // Stops the guard of `gateway`, and waits until it has stopped.
  void stop_guard_of(pid_t gateway) {
    const std::vector<pid_t> guards = stdio::children_of(gateway);
    ASSERT_EQ(guards.size(), 1U);
    ASSERT_EQ(::kill(guards.front(), SIGSTOP), 0);
    const auto is_stopped = [&] {
      std::ifstream stat("/proc/" + std::to_string(guards.front()) + "/stat");
      std::string pid, name, state;
      stat >> pid >> name >> state;
      return state == "T";
    };
    ASSERT_TRUE(until(is_stopped, kSoon));
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
  auto own_loop = std::make_unique<net::Loop>();
  {
    stdio::OrphanReaper own_orphans;
    stdio::ChildProcesses own(*own_loop, log, own_orphans, STDGATE_GUARD);
    spec.command = {STDGATE_ROGUE, "grandchild", "0", mark};
    const auto link = own.launch(spec, recorder);
    ASSERT_TRUE(test::run_until(*own_loop, [&] { return recorder.pid != 0; }));
  }
  own_loop.reset();
  EXPECT_TRUE(processes_marked(mark).empty());
  EXPECT_TRUE(stdio::children_of(::getpid()).empty());
}

TEST_F(Orphans, NoneInTheGroupAfterTheGuardIsKilled) {
  const Leaver leaver = leavers()[2];
  launch(leaver.command);
  ASSERT_TRUE(started() && runs(leaver));
  const std::vector<pid_t> guards = stdio::children_of(::getpid());
  ASSERT_EQ(guards.size(), 1U);
  ASSERT_EQ(::kill(guards.front(), SIGKILL), 0);
  ASSERT_TRUE(exited(kSoon));
  test::expect_exit(recorder, pool::ExitStatus::Kind::signaled, SIGKILL);
  EXPECT_TRUE(all_gone_soon());
}

TEST_F(Orphans, TheGuardPassesSigtermOn) {
  launch_rogue("ignore-eof");
  ASSERT_TRUE(answers());
  for (const pid_t guard : stdio::children_of(::getpid())) ASSERT_EQ(::kill(guard, SIGTERM), 0);
  ASSERT_TRUE(exited(kSoon));
  test::expect_exit(recorder, pool::ExitStatus::Kind::signaled, SIGTERM);
}

// A stopped guard does not react, so the gateway kills it.
TEST_F(Orphans, NoneAfterAnEndWithTheGuardStopped) {
  for (const Leaver& leaver : {leavers()[0], leavers()[3]}) {
    launch(leaver.command);
    ASSERT_TRUE(started() && runs(leaver)) << leaver.command[2];
    stop_guard_of(::getpid());
    const TimePoint begin = loop.now();
    child->end(milliseconds(50));
    ASSERT_TRUE(exited(kSoon)) << leaver.command[2];
    EXPECT_GE(loop.now() - begin, milliseconds(100) + stdio::GuardWatch::kMaxGuardTime);
    test::expect_exit(recorder, pool::ExitStatus::Kind::signaled, SIGKILL);
    EXPECT_TRUE(all_gone_soon()) << leaver.command[2];
    EXPECT_TRUE(until([] { return stdio::children_of(::getpid()).empty(); }, kSoon));
  }
}

TEST_F(Orphans, NoneAfterTheLinkIsDestroyedWithTheGuardStopped) {
  for (const Leaver& leaver : {leavers()[0], leavers()[3]}) {
    launch(leaver.command);
    ASSERT_TRUE(started() && runs(leaver)) << leaver.command[2];
    stop_guard_of(::getpid());
    child.reset();
    EXPECT_TRUE(all_gone_soon()) << leaver.command[2];
    EXPECT_TRUE(until([] { return stdio::children_of(::getpid()).empty(); }, kSoon));
  }
}

TEST_F(Orphans, TheEndOfTheLoopDoesNotWaitForAStoppedGuard) {
  for (const Leaver& leaver : {leavers()[0], leavers()[3]}) {
    auto own_loop = std::make_unique<net::Loop>();
    test::ChildRecorder own_recorder;
    {
      stdio::OrphanReaper own_orphans;
      stdio::ChildProcesses own(*own_loop, log, own_orphans, STDGATE_GUARD);
      spec.command = leaver.command;
      const auto link = own.launch(spec, own_recorder);
      ASSERT_TRUE(test::run_until(*own_loop, [&] { return own_recorder.pid != 0; }));
      ASSERT_TRUE(runs(leaver));
      stop_guard_of(::getpid());
    }
    own_loop.reset();
    EXPECT_TRUE(processes_marked(mark).empty()) << leaver.command[2];
    EXPECT_TRUE(stdio::children_of(::getpid()).empty()) << leaver.command[2];
  }
}

// A process that existed before this program was executed is no orphan of a child. Neither is a
// process that the kernel gives to the first process of a container. Such processes stay alive, and
// are reaped after their death.
TEST_F(Orphans, StrangersLiveAndLeaveNoZombie) {
  const auto fork_stranger = [] {
    const pid_t stranger = ::fork();
    if (stranger == 0) {
      for (;;) ::pause();
    }
    return stranger;
  };
  const pid_t stranger = fork_stranger();
  stdio::OrphanReaper own_orphans;
  const stdio::StrangerWatch own_strangers(loop, own_orphans);
  stdio::ChildProcesses own(loop, log, own_orphans, STDGATE_GUARD);
  const pid_t later = fork_stranger();
  spec.command = {STDGATE_ROGUE, "grandchild", "0", mark};
  child = own.launch(spec, recorder);
  ASSERT_TRUE(started() && runs(leavers().front()));
  for (const pid_t process : stdio::children_of(::getpid())) {
    if (process != stranger && process != later) {
      ASSERT_EQ(::kill(process, SIGKILL), 0);
    }
  }
  ASSERT_TRUE(exited(kSoon));
  child.reset();
  EXPECT_TRUE(all_gone_soon());
  for (const pid_t process : {stranger, later}) {
    EXPECT_EQ(::waitpid(process, nullptr, WNOHANG), 0) << "it lives";
    EXPECT_EQ(::kill(process, SIGKILL), 0);
  }
  EXPECT_TRUE(until([] { return stdio::children_of(::getpid()).empty(); }, kSoon))
      << "a zombie is left";
}

// A small gateway in a process of its own, which is killed with SIGKILL.
struct OrphansOfGateway : Orphans {
  void expect_none(bool guard_is_stopped);
};

void OrphansOfGateway::expect_none(bool guard_is_stopped) {
  for (const Leaver& leaver : leavers()) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const net::FileDescriptor from_gateway(ends[0]);
    net::FileDescriptor to_test(ends[1]);
    std::vector<std::string> arguments{STDGATE_SMALL_GATEWAY, STDGATE_GUARD};
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
    if (guard_is_stopped) stop_guard_of(gateway);
    ASSERT_EQ(::kill(gateway, SIGKILL), 0);
    ASSERT_EQ(::waitpid(gateway, nullptr, 0), gateway);
    EXPECT_TRUE(all_gone_soon()) << leaver.command[2];
  }
}

TEST_F(OrphansOfGateway, NoneAfterItIsKilled) { expect_none(false); }
TEST_F(OrphansOfGateway, NoneAfterItIsKilledWithTheGuardStopped) { expect_none(true); }

}  // namespace
}  // namespace stdgate
