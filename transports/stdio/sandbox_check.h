// What of a sandbox this machine can hold a child to, before one is started.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/config/config.h"
#include "gateway/pool/child_link.h"
#include "gateway/pool/sandbox_status.h"
#include "transports/stdio/guard/sandbox.h"

namespace stdgate::stdio {

// incomplete_starts is 0.
pool::SandboxStatus sandbox_status(const config::SandboxConfig& sandbox,
                                   const guard::KernelFeatures& kernel);

// Those of its paths that cannot be found, or that the kernel lacks what it requires; for people.
// Looks at files.
tl::expected<void, std::string> check_sandbox(const pool::LaunchSpec& spec,
                                              const guard::KernelFeatures& kernel);

}  // namespace stdgate::stdio
