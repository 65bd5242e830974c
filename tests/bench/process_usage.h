// ProcessUsage: what a process and its descendants have used so far, read from /proc.
//
// A descendant that has ended counts if its parent has waited for it. Its CPU time is then in the
// parent's time "of children" (proc(5)).
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace stdgate::bench {

struct ProcessUsage {
  double user_s = 0;
  double system_s = 0;
  size_t resident_bytes = 0;       // VmRSS
  size_t peak_resident_bytes = 0;  // VmHWM; for several processes, the sum of their peaks
  size_t processes = 0;
};

struct FamilyUsage {
  ProcessUsage process;
  ProcessUsage descendants;
};

// All zeros if the process is gone.
FamilyUsage usage_of(pid_t pid);
// The usage of this process, with a finer resolution.
ProcessUsage own_usage();

}  // namespace stdgate::bench
