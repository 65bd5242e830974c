#include "transports/stdio/guard/sandbox.h"

#include "transports/stdio/guard/landlock.h"
#include "transports/stdio/guard/syscall_filter.h"

namespace stdgate::guard {

KernelFeatures kernel_features() { return {landlock_abi(), can_filter_syscalls()}; }

}  // namespace stdgate::guard
