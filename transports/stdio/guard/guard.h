// Guard: one process between the gateway and each command.
//
// Job: start the command (command_start.h), then watch. The guard is the subreaper of all
// descendants of the command, however they detach themselves. It ends all of them with SIGKILL when
// the command has exited (and the time that kLingerOption gives has passed), or when the control
// channel closes (the gateway has gone, or wants the end). The guard exits as the command did, by
// code or by signal. SIGTERM, SIGINT and SIGHUP are passed on to the command, as SIGTERM. If the
// guard itself is killed by SIGKILL, the kernel kills the command (parent-death signal), and the
// gateway kills the rest (orphan_reaper.h). If the guard is stopped, the gateway kills it in the
// same way; if the gateway dies then, the kernel continues the guard (SIGCONT as its own
// parent-death signal). Plain POSIX on libc alone, so that the guard starts fast and has little
// memory of its own.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string_view>

#include "transports/net/file_descriptor.h"
#include "transports/stdio/guard/command_start.h"

namespace stdgate::guard {

// Sends `signal` to each direct child of this process, which has one thread. Allocates nothing.
// Takes the kernel's own list (proc(5)) or, where that is not built in, looks at every process.
void signal_children(int signal);
void signal_children_by_scan(int signal);

class Guard {
 public:
  explicit Guard(const Options& options);

  // Gives the exit code, or ends by the command's signal.
  int run();

 private:
  bool start();
  void watch();
  void read_start_report();
  bool take_signals();
  bool read_control();
  void linger();
  void terminate_command() const;
  [[nodiscard]] bool command_has_exited() const;
  void end_everything();
  bool reap();
  void report_left() const;
  void report_cpu() const;
  [[noreturn]] void exit_like_command() const;
  int fail(int error, const char* step);

  const Options& options_;
  net::FileDescriptor signals_;
  net::FileDescriptor start_report_;
  pid_t command_ = 0;
  unsigned left_behind_ = 0;  // processes that were ended though their command had exited by itself
  bool exited_by_itself_ = false;
  bool is_reaped_ = false;  // the command: its group's id may be another's
  bool ends_everything_ = false;
  int command_status_ = SIGKILL;  // as wait(2) gives it
  bool started_ = false;
  bool failed_ = false;
};

}  // namespace stdgate::guard
