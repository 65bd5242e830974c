// Makes what answers calls of a configuration's backends: a pool of children, or one for each
// principal.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "gateway/app/dialects.h"
#include "gateway/backend/upstream.h"
#include "gateway/call/backend_names.h"
#include "gateway/config/config.h"
#include "gateway/mcp/server_memories.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::app {

// Outlives what is made.
struct UpstreamServices {
  const pool::CoreServices& core;
  session::Callers& callers;
  const GatewayIdentity& identity;
  // The gateway's own; children inherit the variables that their configuration names.
  const std::map<std::string, std::string>& environment;
  mcp::ServerMemories& memories;  // what MCP servers that sleep are remembered to say
};

// Not started yet. `backend` is one of `config`. `names`: those that metrics tell apart at the
// backend with this id; they outlive it.
std::unique_ptr<backend::Upstream> make_upstream(const config::Config& config,
                                                 const config::BackendConfig& backend, BackendId id,
                                                 call::BackendNames& names,
                                                 const UpstreamServices& services);

}  // namespace stdgate::app
