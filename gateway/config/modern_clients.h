// What becomes of clients of MCP 2026-07-28, which open no session: in words, for `stdgate check`,
// `stdgate doctor` and the log. Pure.
#pragma once

#include <string_view>

#include "gateway/config/config.h"

namespace stdgate::config {

struct ModernClients {
  std::string_view what;    // a clause about them
  std::string_view advice;  // what to write for others; empty: all are served
};

// Of a backend with `protocol: mcp`, where the server is of an older revision.
ModernClients modern_clients(const BackendConfig& backend);
// For a server of both eras.
ModernClients modern_clients_of_both_eras(const BackendConfig& backend);

}  // namespace stdgate::config
