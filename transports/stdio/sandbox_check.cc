#include "transports/stdio/sandbox_check.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "transports/stdio/guard/capabilities.h"
#include "transports/stdio/guard/landlock.h"
#include "transports/stdio/guard/sandbox.h"

namespace stdgate::stdio {

namespace {

guard::FileRule file_rule(const config::FilesystemConfig& files) {
  if (!files.used) return guard::FileRule::none;
  return files.default_read ? guard::FileRule::writes : guard::FileRule::all;
}

guard::NetworkRule network_rule(const config::NetworkConfig& network) {
  switch (network.access) {
    case config::NetworkAccess::any:
      return guard::NetworkRule::any;
    case config::NetworkAccess::none:
      return guard::NetworkRule::none;
    case config::NetworkAccess::outbound:
      return guard::NetworkRule::outbound;
    case config::NetworkAccess::ports:
      return guard::NetworkRule::ports;
  }
  return guard::NetworkRule::any;
}

// Appends what is wrong with `path` to `problems`.
void look_at(const pool::LaunchSpec& spec, const std::string& path, std::string& problems) {
  const bool is_relative = !path.starts_with('/') && !spec.working_directory.empty();
  const std::string place = is_relative ? spec.working_directory + "/" + path : path;
  struct stat facts {};
  if (::stat(place.c_str(), &facts) == 0) return;
  const char* const reason = std::strerror(errno);
  problems.append(problems.empty() ? "\"" : "; \"").append(place).append("\": ").append(reason);
}

}  // namespace

pool::SandboxStatus sandbox_status(const config::SandboxConfig& sandbox,
                                   const guard::KernelFeatures& kernel) {
  pool::SandboxStatus status;
  if (!sandbox.used) return status;
  status.used = true;
  status.required = sandbox.required;
  const guard::FileRule files = file_rule(sandbox.filesystem);
  const guard::NetworkRule network = network_rule(sandbox.network);
  const auto add = [&](bool is_held, std::string_view what) {
    (is_held ? status.holds : status.lacks).push_back(what);
  };
  add(kernel.filters_syscalls, "system_calls");
  if (files != guard::FileRule::none) add(can_hold_files(files, kernel), "files");
  if (network != guard::NetworkRule::any) add(can_hold_network(network, kernel), "network");
  if (const char* missing = missing_feature(files, network, kernel)) status.missing = missing;
  return status;
}

tl::expected<void, std::string> check_sandbox(const pool::LaunchSpec& spec,
                                              const guard::KernelFeatures& kernel) {
  if (!spec.sandbox.used) return {};
  const pool::SandboxStatus status = sandbox_status(spec.sandbox, kernel);
  if (status.required && !status.missing.empty()) {
    return tl::unexpected("this kernel has " + std::string(status.missing));
  }
  const config::FilesystemConfig& files = spec.sandbox.filesystem;
  std::string problems;
  for (const auto* paths : {&files.read, &files.write}) {
    for (const std::string& path : *paths) look_at(spec, path, problems);
  }
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return {};
}

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
