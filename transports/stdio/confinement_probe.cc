#include "transports/stdio/confinement_probe.h"

#include <sys/prctl.h>
#include <unistd.h>

#include "transports/stdio/guard/capabilities.h"
#include "transports/stdio/guard/landlock.h"
#include "transports/stdio/guard/sandbox.h"

namespace stdgate::stdio {

pool::Confinement probe_confinement() {
  pool::Confinement found;
  const guard::KernelFeatures kernel = guard::kernel_features();
  found.landlock_abi = kernel.landlock_abi;
  found.syscalls_filtered = kernel.filters_syscalls;
  const guard::LandlockPlan plan = guard::landlock_plan(found.landlock_abi);
  found.children_apart = plan.makes_domain();
  found.signals_scoped = (plan.scoped & guard::kLandlockScopeSignals) != 0;
  found.abstract_sockets_scoped = (plan.scoped & guard::kLandlockScopeAbstractSockets) != 0;
  found.gateway_dumpable = ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1;
  found.runs_as_root = ::geteuid() == 0;
  const uint64_t permitted = guard::permitted_capabilities();
  for (const guard::Capability& capability : guard::kKeptCapabilities) {
    if (((permitted >> capability.number) & 1) != 0)
      found.capabilities.emplace_back(capability.name);
  }
  return found;
}

}  // namespace stdgate::stdio
