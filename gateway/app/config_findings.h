// Checks, here and now, the things that a configuration names outside of itself: programs, users,
// files of keys and certificates, the audit, the directory for what is remembered.
//
// Each finding has the path of its key, and no line yet (config/config_parser.h). Nothing is
// changed or kept. Owner: none.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "gateway/config/config.h"
#include "gateway/config/config_parser.h"

namespace stdgate::app {

using Findings = std::vector<config::ConfigError>;

// Backends whose program, user, working directory or paths of a sandbox cannot be found, whose user
// this process may not become, or whose sandbox this kernel cannot hold.
Findings unstartable_children(const config::Config& config,
                              const std::map<std::string, std::string>& environment);
// Why the only backend, a command of the command line, can never be started: its program is found
// nowhere. Empty: it is found.
std::string missing_program(const config::BackendConfig& backend,
                            const std::map<std::string, std::string>& environment);
// Files with secrets that every user of this machine can read.
Findings exposed_files(const config::Config& config);
// API keys that have expired.
Findings expired_keys(const config::Config& config, std::chrono::sys_seconds now);
// An audit that cannot be written, as far as that shows without creating its file.
Findings unusable_audit(const config::Config& config);
// A directory for what is remembered that is not the gateway's alone, or cannot be made.
Findings unusable_state_dir(const config::Config& config);
// Files of keys that are read only where they are used.
Findings unusable_keys(const config::Config& config);
// Lock files that pin nothing, as they are none.
Findings unusable_locks(const config::Config& config);
// Backends with pins that have none.
Findings unpinned_backends(const config::Config& config);
// Schemas of OpenRPC documents that cannot be compiled, so that they check nothing.
Findings unchecked_schemas(const config::Config& config);
// A line of what is pinned for each backend that has pins, as comments of YAML.
std::string pin_lines(const config::Config& config);
// Further notes on `bridge` of MCP backends, one line for equal backends, as comments of YAML.
std::string bridge_lines(const config::Config& config);
// A public URL that takes credentials in plain text.
Findings exposed_url(const config::Config& config);

}  // namespace stdgate::app
