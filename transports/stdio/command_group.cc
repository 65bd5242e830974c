#include "transports/stdio/command_group.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <vector>

#include "transports/stdio/process_tree.h"

namespace stdgate::stdio {

namespace {

// Headers may be older than the kernel (linux/pidfd.h of 6.9).
constexpr unsigned kProcessGroup = 1U << 2;  // PIDFD_SIGNAL_PROCESS_GROUP

int open_handle(pid_t process) {
#ifdef SYS_pidfd_open
  return static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
#else
  (void)process;
  return -1;
#endif
}

// 0, or the error.
int send_by_handle(int handle, int signal, unsigned flags) {
#ifdef SYS_pidfd_send_signal
  return ::syscall(SYS_pidfd_send_signal, handle, signal, nullptr, flags) == 0 ? 0 : errno;
#else
  (void)handle, (void)signal, (void)flags;
  return ENOSYS;
#endif
}

bool is_own_child(pid_t process) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

void CommandGroup::note(pid_t command, pid_t guard) {
  command_ = command;
  if (handles_ == Handles::never) return;
  handle_.reset(open_handle(command));
  if (!handle_.is_open()) return;
  // It may have ended since the guard has said so, and another process may have its number.
  const std::vector<pid_t> children = children_of(guard);
  if (std::ranges::find(children, command) != children.end()) return;
  handle_.reset();
  command_ = 0;
}

void CommandGroup::kill(GuardTable& table) {
  if (command_ == 0) return;
  const std::scoped_lock lock(table.mutex);
  if (handle_.is_open()) {
    const int error = send_by_handle(handle_.get(), SIGKILL, kProcessGroup);
    // Before Linux 6.9 a handle is for one process: as long as it is there, nobody has its number.
    const bool is_there = error == EINVAL && send_by_handle(handle_.get(), 0, 0) == 0;
    if (is_there) ::kill(-command_, SIGKILL);
  } else if (is_own_child(command_)) {
    ::kill(-command_, SIGKILL);
  }
}

}  // namespace stdgate::stdio
