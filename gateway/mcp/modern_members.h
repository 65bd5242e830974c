// Members that only modern requests have (MCP 2026-07-28, basic: _meta). A legacy child would
// refuse a request with such members, or take it for a request of another connection. Pure.
#pragma once

#include <string>
#include <string_view>

#include "gateway/call/insertion.h"
#include "gateway/mcp/mcp_params.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::mcp {

// The members to leave out for a legacy child. Members that calls of both eras may have stay:
// progress tokens, traces, members of other vendors. The request has passed check_modern(), so it
// has one _meta.
call::PeerChanges modern_members(const rpc::Envelope& request, MetaMemory& memory);

// A notification of a stream of subscriptions/listen without its tag; empty: the notification is
// about the stream itself.
std::string untagged(const rpc::Envelope& notification);

// The members of _meta for requests of a client with this greeting: its name, and what it can be
// asked, in the form of the modern era.
std::string modern_stamp(std::string_view greeting);

// The stamp for requests of the gateway itself, which has no capabilities. See modern_stamp().
std::string stamp_of_gateway(std::string_view name, std::string_view version);

}  // namespace stdgate::mcp
