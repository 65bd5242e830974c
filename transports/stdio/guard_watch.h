// GuardWatch: the guards of one loop, and what is to be done when one does not end.
//
// A guard that was asked to end and still runs after kMaxGuardTime is killed here. What a killed
// guard has left behind is ended by sweeps of the OrphanReaper, until nothing is left.
// Owner: ChildProcesses; used on the loop's thread only. Destroyed after the links of its guards;
// its destructor ends what is left of their processes. `orphans` outlives it.
#pragma once

#include <sys/types.h>

#include <memory>

#include "gateway/base/timers.h"
#include "transports/net/loop.h"
#include "transports/stdio/orphan_reaper.h"

namespace stdgate::stdio {

class GuardWatch {
 public:
  // A guard takes a few milliseconds for everything that its command has started.
  static constexpr Duration kMaxGuardTime = std::chrono::milliseconds(500);
  // A process that outlives SIGKILL for longer hangs in the kernel.
  static constexpr Duration kMaxSweepTime = std::chrono::seconds(2);

  GuardWatch(net::Loop& loop, OrphanReaper& orphans);
  // Waits for the guards, kMaxGuardTime at most, kills those left, and their orphans.
  ~GuardWatch();
  GuardWatch(const GuardWatch&) = delete;
  GuardWatch& operator=(const GuardWatch&) = delete;

  // Where a guard of this loop is entered, under the table's mutex, when it starts.
  [[nodiscard]] const std::shared_ptr<GuardTable>& table() const { return orphans_.guards(); }
  // Before a guard starts.
  void know_strangers() { orphans_.know_strangers(); }

  // `guard` has been asked to end everything: it is killed if it runs for longer than
  // kMaxGuardTime.
  void expect_end(pid_t guard);
  // A guard has been killed: ends what it has left behind.
  void sweep();

 private:
  static constexpr Duration kAgain = std::chrono::milliseconds(10);

  void kill_late_guards();
  void expect_orphans(bool expects);
  [[nodiscard]] bool some_guard_runs() const;
  template <class Visitor>
  void for_each_guard(Visitor&& visit) const;

  net::Loop& loop_;
  OrphanReaper& orphans_;
  bool some_were_late_ = false;
  bool expects_orphans_ = false;  // as the reaper knows
  Timer sweep_timer_;
  Timer late_timer_;
};

}  // namespace stdgate::stdio
