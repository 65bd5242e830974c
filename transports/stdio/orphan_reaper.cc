#include "transports/stdio/orphan_reaper.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>
#include <vector>

#include "gateway/base/check.h"
#include "transports/stdio/process_tree.h"

namespace stdgate::stdio {

namespace {

std::set<pid_t> own_children() {
  const std::vector<pid_t> children = children_of(::getpid());
  return {children.begin(), children.end()};
}

// The first child that has exited and was not waited for; 0: none. Does not reap it.
pid_t dead_child() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ? info.si_pid : 0;
}

}  // namespace

OrphanReaper::OrphanReaper()
    : strangers_(own_children()), gets_strangers_(::getpid() == 1 || !strangers_.empty()) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

bool OrphanReaper::sweep() {
  const std::scoped_lock lock(table_->mutex);
  bool is_some_left = false;
  for (const pid_t child : own_children()) {
    if (strangers_.contains(child) || table_->guards.contains(child)) continue;
    ::kill(child, SIGKILL);
    if (::waitpid(child, nullptr, WNOHANG) != child) is_some_left = true;
  }
  return is_some_left;
}

void OrphanReaper::expect_orphans(bool expects) {
  const std::scoped_lock lock(table_->mutex);
  STDGATE_CHECK(expects || expecting_ > 0);
  expects ? ++expecting_ : --expecting_;
}

void OrphanReaper::know_strangers() {
  if (!gets_strangers_) return;
  const std::scoped_lock lock(table_->mutex);
  look_for_strangers();
}

// Only the death of a guard makes orphans: if no guard has died by the end of the listing, the
// listing has none. A guard that has died is still a zombie then, or has been waited for by its
// loop and is gone. Between its death and the sweep there may be orphans.
void OrphanReaper::look_for_strangers() {
  if (!gets_strangers_ || expecting_ > 0) return;
  std::set<pid_t> children = own_children();
  if (dead_child() != 0) return;
  const std::set<pid_t> still_there = own_children();
  for (const auto& [guard, state] : table_->guards) {
    if (!still_there.contains(guard)) return;
    children.erase(guard);
  }
  strangers_ = std::move(children);
}

void OrphanReaper::reap_strangers() {
  const std::scoped_lock lock(table_->mutex);
  const auto is_guard = [this](pid_t child) { return table_->guards.contains(child); };
  const auto reap = [this](pid_t child) {
    if (::waitpid(child, nullptr, WNOHANG) == child) strangers_.erase(child);
  };
  for (pid_t child = dead_child(); child != 0; child = dead_child()) {
    if (is_guard(child)) {
      // A guard has died since: its loop waits for it, and until then it hides the others.
      for (const pid_t other : own_children()) {
        if (!is_guard(other)) reap(other);
      }
      return;
    }
    reap(child);
  }
  look_for_strangers();
}

}  // namespace stdgate::stdio
