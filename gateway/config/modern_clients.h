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
// As modern_clients(), for the clients of a virtual server that has it as a member.
ModernClients modern_clients_of_servers(const BackendConfig& backend);
// As modern_clients(), for a server of both eras.
ModernClients modern_clients_of_both_eras(const BackendConfig& backend);

// What else is to be said of `bridge` of such a backend: how others are served, and what differs in
// a virtual server. Empty: nothing.
std::string more_on_bridge(const BackendConfig& backend);

}  // namespace stdgate::config
