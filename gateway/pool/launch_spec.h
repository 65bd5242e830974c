// Makes the LaunchSpec of a backend's children from its configuration.
#pragma once

#include <map>
#include <string>

#include "gateway/config/config.h"
#include "gateway/pool/child_link.h"

namespace stdgate::pool {

// `environment`: the gateway's own; only the variables in env_inherit are taken from it. Files of
// env_file override it, and env overrides both. `own_binary` replaces a first word that is exactly
// "stdgate", so that the built-in servers work without an installation.
LaunchSpec make_launch_spec(const config::BackendConfig& config,
                            const std::map<std::string, std::string>& environment,
                            const std::string& own_binary);

}  // namespace stdgate::pool
