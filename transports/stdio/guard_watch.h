// Guards that do not end: their command groups, and sweeps of their orphans.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "gateway/base/time.h"
#include "transports/net/file_descriptor.h"
#include "transports/net/loop.h"
#include "transports/stdio/orphan_reaper.h"

namespace stdgate::stdio {

// CommandGroup: the process group of a command whose guard has been killed.
//
// Job: kill what is left of the group, and never a group that has got its number since. A handle of
// the kernel's (pidfd, Linux 5.3) names the command whatever becomes of its number. Without one the
// number is used as long as the command is an own child that was not waited for, which keeps it.
// Owner: the child's link.
class CommandGroup {
 public:
  enum class Handles : uint8_t { if_offered, never };  // never: as on older kernels
  explicit CommandGroup(Handles handles = Handles::if_offered) : handles_(handles) {}

  // `command` leads its group, and `guard` has just said that it runs.
  void note(pid_t command, pid_t guard);
  // After the death of the guard. Nobody waits for children while the table's mutex is held.
  void kill(GuardTable& table);

 private:
  const Handles handles_;
  pid_t command_ = 0;  // 0: not known, or it has ended before it was
  net::FileDescriptor handle_;
};

// GuardWatch: the guards of one loop, and what is to be done when one does not end.
//
// A guard that was asked to end and still runs after kMaxGuardTime is killed here. Sweeps of the
// OrphanReaper end the processes that a killed guard has left behind, until none is left. Owner:
// ChildProcesses; used on the loop's thread only. Destroyed after the links of its guards; its
// destructor ends what is left of their processes. `orphans` outlives it.
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
