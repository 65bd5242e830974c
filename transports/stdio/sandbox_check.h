// Checks, before a start, how much of a sandbox this machine can enforce.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/config/config.h"
#include "gateway/pool/child_link.h"
#include "transports/stdio/guard/sandbox.h"

namespace stdgate::stdio {

// incomplete_starts is 0.
pool::SandboxStatus sandbox_status(const config::SandboxConfig& sandbox,
                                   const guard::KernelFeatures& kernel);

// The error, for people: paths of the sandbox that do not exist, or a required feature that the
// kernel lacks. Looks at files.
tl::expected<void, std::string> check_sandbox(const pool::LaunchSpec& spec,
                                              const guard::KernelFeatures& kernel);

// The kernel's means of confining children, and the rights of this process.

// Asks the kernel. unconfined_starts is 0.
pool::Confinement probe_confinement();

}  // namespace stdgate::stdio
