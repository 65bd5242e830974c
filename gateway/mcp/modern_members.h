// What only requests of the modern era have (MCP 2026-07-28, basic: _meta). A legacy child takes a
// request that has it for one of another connection, or refuses it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "gateway/call/insertion.h"
#include "gateway/mcp/modern_params.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::mcp {

// All that belongs to a call of either era stays: progress tokens, traces, members of others. Of a
// request that check_modern() has passed: _meta is there once.
call::EraChanges modern_members(const rpc::Envelope& request, MetaMemory& memory);

// A notification of a stream of subscriptions/listen without its tag; empty: it is about the
// stream.
std::string untagged(const rpc::Envelope& notification);

// The members of _meta for requests of a client that has greeted so: what it is, and what it can be
// asked, as the modern era says it.
std::string modern_stamp(std::string_view greeting);

// The same for requests of the gateway itself, which is of this version and has no capabilities.
std::string stamp_of_gateway(std::string_view name, std::string_view version);

}  // namespace stdgate::mcp
