// ProcessUsage: what a process and all that descend from it have used so far, through /proc.
//
// A descendant that has ended counts as long as somebody waited for it: its CPU time is then its
// parent's "of children" (proc(5)).
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace stdgate::bench {

struct ProcessUsage {
  double user_s = 0;
  double system_s = 0;
  size_t resident_bytes = 0;       // VmRSS
  size_t peak_resident_bytes = 0;  // VmHWM; of several processes the sum of their peaks
  size_t processes = 0;
};

struct FamilyUsage {
  ProcessUsage process;
  ProcessUsage descendants;
};

// Zeros for what is gone.
FamilyUsage usage_of(pid_t pid);
// This process, more finely.
ProcessUsage own_usage();

}  // namespace stdgate::bench
