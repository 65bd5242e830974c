#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "transports/stdio/guard/guard.h"

namespace stdgate::guard {
namespace {

// More than the kernel's list shows in one read would need thousands; both ways see all of these.
void expect_all_signalled(void (*signal_all)(int)) {
  std::vector<pid_t> children;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_NAME, "a) S 1 (b", 0, 0, 0);  // a careless parser trips over it
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
  signal_all(SIGKILL);  // nobody is there
}

TEST(Descendants, AreSignalledByTheKernelsList) { expect_all_signalled(signal_children); }
TEST(Descendants, AreSignalledByLookingAtAll) { expect_all_signalled(signal_children_by_scan); }

}  // namespace
}  // namespace stdgate::guard
