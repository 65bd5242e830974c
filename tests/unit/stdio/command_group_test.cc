// The processes of a command whose guard has ended are killed: the command's group, and no other
// group with the same number.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "transports/stdio/guard_watch.h"
#include "transports/stdio/orphan_reaper.h"

namespace stdgate::stdio {
namespace {

// Starts a process that leads a group of its own and waits for its end.
pid_t start_leader() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setpgid(0, 0);
    for (;;) ::pause();
  }
  ::setpgid(pid, pid);
  return pid;
}

// Starts such a process with this pid, which must be free. Returns false if this process may not
// choose pids.
bool start_leader_as(pid_t pid) {
  const int file = ::open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const std::string last = std::to_string(pid - 1);
  const bool is_written = ::write(file, last.data(), last.size()) > 0;
  ::close(file);
  if (!is_written) return false;
  const pid_t started = start_leader();
  if (started == pid) return true;
  ::kill(started, SIGKILL);
  ::waitpid(started, nullptr, 0);
  return false;
}

bool still_runs(pid_t pid) {
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  return info.si_pid == 0;
}

void end_leader(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

class CommandGroupTest : public testing::TestWithParam<CommandGroup::Handles> {
 protected:
  CommandGroup group_{GetParam()};
  GuardTable table_;
};

TEST_P(CommandGroupTest, IsKilled) {
  const pid_t leader = start_leader();
  group_.note(leader, ::getpid());  // this process plays the guard
  group_.kill(table_);
  int status = 0;
  ASSERT_EQ(::waitpid(leader, &status, 0), leader);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_P(CommandGroupTest, OfAnotherProcessWithItsNumberIsLeftAlone) {
  const pid_t leader = start_leader();
  group_.note(leader, ::getpid());
  end_leader(leader);
  bool is_reused = false;
  for (int i = 0; i < 50 && !is_reused; ++i) is_reused = start_leader_as(leader);
  if (!is_reused) GTEST_SKIP() << "this process cannot choose the number of another one";
  if (GetParam() == CommandGroup::Handles::never) {
    end_leader(leader);
    GTEST_SKIP() << "here it is an own child again, which it would not be";
  }
  group_.kill(table_);
  EXPECT_TRUE(still_runs(leader));
  end_leader(leader);
}

TEST_P(CommandGroupTest, ThatHasEndedIsNoTrouble) {
  const pid_t leader = start_leader();
  group_.note(leader, ::getpid());
  end_leader(leader);
  group_.kill(table_);
  group_.note(leader, ::getpid());
  group_.kill(table_);
  CommandGroup unknown(GetParam());
  unknown.kill(table_);
}

INSTANTIATE_TEST_SUITE_P(Kernels, CommandGroupTest,
                         testing::Values(CommandGroup::Handles::if_offered,
                                         CommandGroup::Handles::never),
                         [](const auto& each) {
                           return each.param == CommandGroup::Handles::never ? "Older" : "Newer";
                         });

}  // namespace
}  // namespace stdgate::stdio
