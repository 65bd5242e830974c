// Guard: the launcher mode of the binary, one process between the gateway and each command.
//
// Job: prepare and execute the command (own session and process group, parent-death signal,
// no_new_privs, environment, directory, user, resource limits, no descriptor but 0, 1 and 2), then
// watch: it is subreaper for all that the command starts, however it detaches itself, and ends all
// of it with SIGKILL when the command has exited or the control channel closes (the gateway has
// gone, or wants it so). It exits as the command did, by code or by signal. A signal that asks
// itself to end (SIGTERM, SIGINT, SIGHUP) it passes on as SIGTERM. Plain POSIX: it loads nothing
// and starts fast. If the guard itself is killed by SIGKILL, the kernel kills the command
// (parent-death signal) and the gateway the rest (orphan_reaper.h).
//
// Control channel (descriptor 3, a socket pair). Guard to gateway, lines:
//   "pid 1234"           the command runs
//   "failed 2 exec: No such file or directory"   errno and step; the guard exits
//   "cpu 123456"         microseconds of CPU that all of them and the guard used, before it exits
// Gateway to guard: "T" sends SIGTERM to the command's process group; end of file ends everything.
#pragma once

#include <string>
#include <vector>

#include "gateway/pool/child_link.h"

namespace stdgate {

inline constexpr int kGuardControlFd = 3;
inline constexpr const char* kGuardArgument = "guard";  // argv[1] that selects this mode

// The guard's argv for `spec` (argv[0] is a name for process lists), read back by run_guard().
std::vector<std::string> guard_arguments(const LaunchSpec& spec);

// Never returns to normal operation: gives the exit code, or ends by the command's signal.
int run_guard(int argc, char** argv);

}  // namespace stdgate
