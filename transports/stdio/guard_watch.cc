#include "transports/stdio/guard_watch.h"

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace stdgate::stdio {

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
// behind is there when it has died. Only this loop waits for it, so its pid is nobody else's yet.
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
