#include "transports/stdio/process_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <thread>
#include <vector>

#include "transports/stdio/guard/guard.h"

namespace stdgate {

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Starts a process that waits to be killed. Its name misleads parsers that are not careful.
pid_t fork_waiter() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_NAME, "a) S 1 (b", 0, 0, 0);
    for (;;) ::pause();
  }
  return pid;
}

void end(pid_t pid) {
  EXPECT_EQ(::kill(pid, SIGKILL), 0);
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
}

TEST(ProcessTree, BothWaysFindTheChildren) {
  EXPECT_THAT(stdio::children_of(::getpid()), IsEmpty());
  EXPECT_THAT(stdio::children_by_scan(::getpid()), IsEmpty());
  const pid_t child = fork_waiter();
  EXPECT_THAT(stdio::children_of(::getpid()), ElementsAre(child));
  EXPECT_THAT(stdio::children_by_scan(::getpid()), ElementsAre(child));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_THAT(stdio::children_of(::getpid()), ElementsAre(child)) << "a zombie counts";
  EXPECT_THAT(stdio::children_by_scan(::getpid()), ElementsAre(child)) << "a zombie counts";
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_THAT(stdio::children_of(::getpid()), IsEmpty());
}

TEST(ProcessTree, ChildrenOfOtherThreadsCount) {
  pid_t child = 0;
  bool may_end = false;
  std::atomic<bool> forked = false;
  std::atomic<bool> done = false;
  std::thread thread([&] {
    child = fork_waiter();
    forked = true;
    forked.notify_one();
    done.wait(false);
    may_end = true;
  });
  forked.wait(false);
  EXPECT_THAT(stdio::children_of(::getpid()), ElementsAre(child));
  done = true;
  done.notify_one();
  thread.join();
  EXPECT_TRUE(may_end);
  end(child);
}

TEST(ProcessTree, NobodyHasNothing) {
  EXPECT_THAT(stdio::children_of(-1), IsEmpty());
  EXPECT_THAT(stdio::children_by_scan(-1), IsEmpty());
  const stdio::ProcessUsage usage = stdio::process_tree_usage(-1);
  EXPECT_EQ(usage.cpu_seconds, 0);
  EXPECT_EQ(usage.resident_bytes, 0U);
}

TEST(ProcessTree, UsageSumsDescendants) {
  const stdio::ProcessUsage alone = stdio::process_tree_usage(::getpid());
  EXPECT_GT(alone.resident_bytes, 100'000U);
  const pid_t child = fork_waiter();
  const stdio::ProcessUsage both = stdio::process_tree_usage(::getpid());
  const stdio::ProcessUsage only_child = stdio::process_tree_usage(child);
  EXPECT_GT(only_child.resident_bytes, 0U);
  EXPECT_GE(both.resident_bytes, alone.resident_bytes + only_child.resident_bytes / 2);
  EXPECT_GE(both.cpu_seconds, alone.cpu_seconds);
  end(child);
}

TEST(ProcessTree, UsageKeepsTheTimeOfChildrenThatWereWaitedFor) {
  const double before = stdio::process_tree_usage(::getpid()).cpu_seconds;
  const pid_t child = ::fork();
  if (child == 0) {
    while (std::clock() < CLOCKS_PER_SEC / 10) {
    }
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_GE(stdio::process_tree_usage(::getpid()).cpu_seconds, before + 0.08);
}

}  // namespace

}  // namespace stdgate

namespace stdgate::guard {

namespace {

// Only thousands of children would exceed one read of the kernel's list. Both ways see all children
// of this test.
void expect_all_signalled(void (*signal_all)(int)) {
  std::vector<pid_t> children;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_NAME, "a) S 1 (b", 0, 0, 0);  // misleads careless parsers
      for (;;) ::pause();
    }
    children.push_back(child);
  }
  signal_all(SIGKILL);
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
  }
  signal_all(SIGKILL);  // no process is left
}

TEST(Descendants, AreSignalledByTheKernelsList) { expect_all_signalled(signal_children); }
TEST(Descendants, AreSignalledByLookingAtAll) { expect_all_signalled(signal_children_by_scan); }

}  // namespace

}  // namespace stdgate::guard
