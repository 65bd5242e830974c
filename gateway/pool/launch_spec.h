// Makes the LaunchSpec of a backend's children from its configuration.
#pragma once

#include <map>
#include <string>

#include "gateway/config/config.h"
#include "gateway/pool/child_link.h"

namespace stdgate::pool {

// `environment` is the gateway's own; only what env_inherit names is taken from it. The files of
// env_file take precedence over it, and env over both.
// A command whose first word is exactly "stdgate" is `own_binary`, so that the built-in servers
// work without an installation.
LaunchSpec make_launch_spec(const config::BackendConfig& config,
                            const std::map<std::string, std::string>& environment,
                            const std::string& own_binary);

}  // namespace stdgate::pool
