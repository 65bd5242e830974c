// The guard's children, found without allocating (proc(5)).
#pragma once

#include <sys/types.h>

namespace stdgate::guard {

// Sends `signal` to each direct child of this process, which has one thread. Takes the kernel's own
// list, or, where that is not built in, looks at every process.
void signal_children(int signal);
void signal_children_by_scan(int signal);

}  // namespace stdgate::guard
