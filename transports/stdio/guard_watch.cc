#include "transports/stdio/guard_watch.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
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
  // The command may have ended since the guard's report, and another process may have its number.
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
    // Before Linux 6.9 a handle is for one process: as long as that exists, no other one has its
    // number.
    const bool is_there = error == EINVAL && send_by_handle(handle_.get(), 0, 0) == 0;
    if (is_there) ::kill(-command_, SIGKILL);
  } else if (is_own_child(command_)) {
    ::kill(-command_, SIGKILL);
  }
}

namespace {

bool has_exited(pid_t child) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == child;
}

// Polls every few milliseconds; for the end of the loop, when it does not run any more.
template <class Condition>
bool wait_for(Condition&& condition, Duration limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace

GuardWatch::GuardWatch(net::Loop& loop, OrphanReaper& orphans)
    : loop_(loop),
      orphans_(orphans),
      sweep_timer_(loop.timers(), [this] { sweep(); }),
      late_timer_(loop.timers(), [this] { kill_late_guards(); }) {}

GuardWatch::~GuardWatch() {
  expect_orphans(true);
  if (!wait_for([this] { return !some_guard_runs(); }, kMaxGuardTime)) {
    for_each_guard([](pid_t pid, GuardState&) { ::kill(pid, SIGKILL); });
  }
  wait_for([this] { return !some_guard_runs() && !orphans_.sweep(); }, kMaxSweepTime);
  expect_orphans(false);
}

template <class Visitor>
void GuardWatch::for_each_guard(Visitor&& visit) const {
  GuardTable& table = *orphans_.guards();
  const std::scoped_lock lock(table.mutex);
  for (auto& [pid, state] : table.guards) {
    if (state.loop == &loop_) visit(pid, state);
  }
}

void GuardWatch::expect_end(pid_t guard) {
  GuardTable& table = *orphans_.guards();
  const std::scoped_lock lock(table.mutex);
  const auto found = table.guards.find(guard);
  if (found == table.guards.end() || found->second.loop != &loop_ || found->second.kill_at) return;
  found->second.kill_at = loop_.now() + kMaxGuardTime;
  if (!late_timer_.armed()) late_timer_.arm(*found->second.kill_at);
}

// Until libuv has waited for it, a guard that was killed is late again and again; what it leaves
// behind is there when it has died. Only this loop waits for it, so no other process has its pid
// yet.
void GuardWatch::kill_late_guards() {
  const TimePoint now = loop_.now();
  expect_orphans(true);
  const bool were_late = std::exchange(some_were_late_, false);
  std::optional<TimePoint> next;
  for_each_guard([&](pid_t pid, GuardState& state) {
    if (!state.kill_at) return;
    const bool is_late = *state.kill_at <= now;
    if (is_late) ::kill(pid, SIGKILL);
    some_were_late_ = some_were_late_ || is_late;
    const TimePoint due = is_late ? now + kAgain : *state.kill_at;
    next = std::min(next.value_or(due), due);
  });
  if (some_were_late_ || were_late) sweep();
  if (some_were_late_) next = now + kAgain;
  if (next) late_timer_.arm(*next);
  expect_orphans(some_were_late_ || sweep_timer_.armed());
}

void GuardWatch::sweep() {
  expect_orphans(true);
  if (orphans_.sweep()) sweep_timer_.arm(loop_.now() + kAgain);
  expect_orphans(some_were_late_ || sweep_timer_.armed());
}

void GuardWatch::expect_orphans(bool expects) {
  if (std::exchange(expects_orphans_, expects) != expects) orphans_.expect_orphans(expects);
}

bool GuardWatch::some_guard_runs() const {
  bool some = false;
  for_each_guard([&some](pid_t pid, GuardState&) { some = some || !has_exited(pid); });
  return some;
}

}  // namespace stdgate::stdio
