// CommandGroup: the process group of a command whose guard has been killed.
//
// Job: kill what is left of the group, and never a group that has got its number since. A handle of
// the kernel's (pidfd, Linux 5.3) names the command whatever becomes of its number. Without one the
// number is used as long as the command is an own child that was not waited for, which keeps it.
// Owner: the child's link.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "transports/net/file_descriptor.h"
#include "transports/stdio/orphan_reaper.h"

namespace stdgate::stdio {

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

}  // namespace stdgate::stdio
