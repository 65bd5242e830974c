// How clients of MCP 2026-07-28, which open no session, are served: in words, for `stdgate check`,
// `stdgate doctor` and the log. Pure.
#pragma once

#include <string>
#include <string_view>

#include "gateway/config/config.h"

namespace stdgate::config {

struct ModernClients {
  std::string_view what;    // a clause about them
  std::string_view advice;  // what to write for others; empty: all are served
};

// For a backend with `protocol: mcp` whose server is of an older revision.
ModernClients modern_clients(const BackendConfig& backend);
// Like modern_clients(), for clients of a virtual server that has the backend as a member.
ModernClients modern_clients_of_servers(const BackendConfig& backend);
// Like modern_clients(), for a server that serves clients with and without sessions.
ModernClients modern_clients_of_both_eras(const BackendConfig& backend);

// Notes on `bridge` of such a backend: other clients, and virtual servers. Empty: there are none.
std::string more_on_bridge(const BackendConfig& backend);

}  // namespace stdgate::config
