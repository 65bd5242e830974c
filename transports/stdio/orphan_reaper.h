// The children of this process that are no guards: orphans, which are killed, and strangers, which
// are waited for.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "gateway/base/time.h"
#include "transports/net/loop.h"

namespace stdgate::net {
class Loop;
}  // namespace stdgate::net

namespace stdgate::stdio {

// A guard that runs, or that has exited and is not waited for yet.
struct GuardState {
  const net::Loop* loop = nullptr;   // that has started it, and waits for it
  std::optional<TimePoint> kill_at;  // set when it was asked to end
};

// The guards of all loops.
struct GuardTable {
  std::mutex mutex;  // of what follows
  std::map<pid_t, GuardState> guards;
};

// OrphanReaper: what becomes of the children of this process: what a guard leaves behind when it
// is killed, and strangers.
//
// A guard ends everything that its command has started (guard/guard.h), unless the guard itself is
// stopped or killed (see GuardWatch). The descendants of a killed guard become children of this
// process, which is a subreaper for that reason, and are killed here. Strangers become its children
// too, if it is the first process of a container, or if a shell had started something and then
// executed this program: those are only waited for when they have died. Takes every child for an
// orphan that is no guard and was not there when all guards were last seen alive: so nothing else
// in the program may start processes, and all loops share one reaper. Owner: the process; goes
// after all links. Thread-safe: several loops in threads of their own may use it; the starter of a
// guard holds the table's mutex until the guard is in it.
class OrphanReaper {
 public:
  // Makes this process a subreaper.
  OrphanReaper();
  OrphanReaper(const OrphanReaper&) = delete;
  OrphanReaper& operator=(const OrphanReaper&) = delete;

  // Shared, because a guard may exit when all others have gone.
  [[nodiscard]] const std::shared_ptr<GuardTable>& guards() const { return table_; }

  // Kills all orphans, and the processes that become orphans by that. True: some are left; sweep
  // again, soon.
  bool sweep();
  // A loop calls it with true when it kills one of its guards, and with false when no guard is
  // being killed and no orphan is left. In between no child is taken for a stranger.
  void expect_orphans(bool expects);

  // Updates the set of strangers. Before a guard starts: children that exist then are not its own.
  void know_strangers();
  // Waits for dead strangers.
  void reap_strangers();

 private:
  void look_for_strangers();  // with the mutex

  const std::shared_ptr<GuardTable> table_ = std::make_shared<GuardTable>();
  // Children that are neither guards nor orphans. The table's mutex guards these members.
  std::set<pid_t> strangers_;
  const bool gets_strangers_;
  size_t expecting_ = 0;  // loops that expect orphans
};

// StrangerWatch: has the OrphanReaper wait for strangers as they die, so that they leave no
// zombies.
// Owner: the process; one, on any of its loops.
class StrangerWatch {
 public:
  StrangerWatch(net::Loop& loop, OrphanReaper& orphans)
      : reap_timer_(loop.timers(), [&orphans] { orphans.reap_strangers(); }),
        // In the next turn, when libuv has waited for the guards of this loop.
        signals_(loop, [this, &loop](int) { reap_timer_.arm(loop.now()); }) {
    signals_.watch(SIGCHLD);
    reap_timer_.arm(loop.now());  // what died before
  }

 private:
  Timer reap_timer_;
  net::Signals signals_;
};

}  // namespace stdgate::stdio
