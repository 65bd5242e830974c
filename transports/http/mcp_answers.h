// What the endpoints of MCP sessions answer where no session does.
#pragma once

#include <string_view>

#include "gateway/mcp/mcp_sessions.h"
#include "transports/http/exchange.h"

namespace stdgate {

// Of a message in this exchange; without origin, session and tag.
CallContext context_of(const Exchange& exchange, const McpSessions& sessions);

// A fault as JSON-RPC, with the HTTP status of the fault. `id` is raw JSON, or empty for null.
void refuse_call(Exchange& exchange, McpSessions& sessions, const FaultReport& report,
                 std::string_view id);

}  // namespace stdgate
