// How a backend's children are launched: its configuration made concrete.
#pragma once

#include <map>
#include <string>

#include "gateway/config/config.h"
#include "gateway/pool/child_link.h"

namespace stdgate {

// `environment` is the gateway's own; only what env_inherit names is taken from it, and env wins.
// A command whose first word is exactly "stdgate" is `own_binary`, so that the built-in servers
// work without an installation.
LaunchSpec make_launch_spec(const BackendConfig& config,
                            const std::map<std::string, std::string>& environment,
                            const std::string& own_binary);

}  // namespace stdgate
