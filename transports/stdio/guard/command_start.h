// CommandStart: the command's process between fork and exec, and what it tells the guard.
//
// Job: own process group, resource limits, capabilities, user, parent-death signal, no_new_privs,
// directory, default signals, a Landlock domain of its own, then the command. Owner: the guard's
// child. Limits: system calls only.
#pragma once

#include <sys/types.h>

#include <array>

#include "transports/stdio/guard/options.h"

namespace stdgate::guard {

// Sent through a pipe that closes when the command runs.
struct StartReport {
  int error = 0;
  bool runs_all_the_same = false;  // else the command is not started
  std::array<char, 16> step{};
};

class CommandStart {
 public:
  // `report` is the pipe's end for StartReports; `guard` the process that starts this one.
  CommandStart(const Options& options, int report, pid_t guard)
      : options_(options), report_(report), guard_(guard) {}

  // Does not return: becomes the command, or reports why not and exits.
  [[noreturn]] void run();

 private:
  const char* prepare();
  [[nodiscard]] bool apply_limits() const;
  [[nodiscard]] bool change_user() const;
  void report(const char* step, int error, bool runs_all_the_same) const;

  const Options& options_;
  const int report_;
  const pid_t guard_;
};

}  // namespace stdgate::guard
