// OrphanReaper: what a guard leaves behind when it is killed itself.
//
// A guard ends all that its command has started (guard.h), unless somebody kills the guard with
// SIGKILL. Then its descendants become children of this process, which is a subreaper for that
// reason, and are killed here. Owner: ChildProcesses. Takes every child of this process for an
// orphan that is no guard and was not there before (a shell may have started something and then
// executed this program): so nothing else in the program may start processes.
#pragma once

#include <sys/types.h>

#include <memory>
#include <set>
#include <vector>

#include "gateway/base/timers.h"
#include "transports/net/loop.h"

namespace stdgate {

// Guards that run, or that have exited and are not waited for yet.
using GuardPids = std::set<pid_t>;

class OrphanReaper {
 public:
  // Makes this process a subreaper.
  explicit OrphanReaper(Loop& loop);
  OrphanReaper(const OrphanReaper&) = delete;
  OrphanReaper& operator=(const OrphanReaper&) = delete;

  // Shared, because a guard may exit when its owners have gone.
  [[nodiscard]] const std::shared_ptr<GuardPids>& guards() const { return guards_; }

  // A guard has been killed: kills all orphans, and those that come of it, until none is left.
  void sweep();

 private:
  static constexpr Duration kAgain = std::chrono::milliseconds(10);

  Loop& loop_;
  const std::vector<pid_t> inherited_;  // children when the reaper was made
  const std::shared_ptr<GuardPids> guards_ = std::make_shared<GuardPids>();
  Timer again_;
};

}  // namespace stdgate
