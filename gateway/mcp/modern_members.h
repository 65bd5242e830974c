// What only requests of the modern era have (MCP 2026-07-28, basic: _meta). A legacy child takes a
// request that has it for one of another connection, or refuses it. Pure.
#pragma once

#include "gateway/pool/insertion.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::mcp {

// All that belongs to a call of either era stays: progress tokens, traces, members of others.
pool::EraChanges modern_members(const rpc::Envelope& request);

}  // namespace stdgate::mcp
