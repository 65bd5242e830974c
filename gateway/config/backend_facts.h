// What follows from the configuration of a backend: the form of its name, whether its command
// fetches a package, and which clients of MCP it serves.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/config/config.h"

namespace stdgate::config {

// --- Names of backends: the first part of a path, a metric label and a log value

// Checks the form of a name. The error says what is wrong.
tl::expected<void, std::string> check_backend_name(std::string_view name);

// First words of paths that the gateway serves itself.
std::span<const std::string_view> reserved_backend_names();

// The form of all other names, as a regular expression of JSON Schema.
inline constexpr std::string_view kBackendNamePattern = "^[a-z0-9_-]{1,64}$";

// The names of the backends in a file that may have mistakes, in their order: for shells that
// complete them. None if the text is no YAML.
std::vector<std::string> backend_names(const std::string& yaml);

// PackageRun: a command that fetches a package and then runs it: npx, uvx and the like. A value.
struct PackageRun {
  std::string runner;    // as people call it: "npx", "npm exec"
  std::string package;   // without its version; empty: it is not known
  size_t words = 1;      // of the command, that are the runner
  bool may_ask = false;  // npm's, without a word on whether it may install
  bool fetches = true;   // not with --offline and the like
};

// Nothing: the command fetches no package, as far as its words show.
std::optional<PackageRun> package_run_of(const std::vector<std::string>& command);

// Whether a process of the backend may fetch its package before it starts.
bool may_fetch(const BackendConfig& backend);
// How long a process of the backend may take to become ready.
Duration start_time_of(const BackendConfig& backend);

// ModernClients: how clients of MCP 2026-07-28, which open no session, are served: in words, for
// `stdgate check`, `stdgate doctor` and the log.
struct ModernClients {
  std::string_view what;    // a clause about them
  std::string_view advice;  // what to write for others; empty: all are served
};

// The words for a backend with `protocol: mcp` whose server is of an older revision.
ModernClients modern_clients(const BackendConfig& backend);
// Like modern_clients(), for clients of a virtual server that has the backend as a member.
ModernClients modern_clients_of_servers(const BackendConfig& backend);
// Like modern_clients(), for a server that serves clients with and without sessions.
ModernClients modern_clients_of_both_eras(const BackendConfig& backend);

// Notes on `bridge` of such a backend: other clients, and virtual servers. Empty: no notes.
std::string more_on_bridge(const BackendConfig& backend);

}  // namespace stdgate::config
