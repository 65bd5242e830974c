// Answers of the MCP endpoints that need no session: refusals, and the context of a message.
#pragma once

#include <string_view>

#include "gateway/mcp/mcp_sessions.h"
#include "transports/http/exchange.h"

namespace stdgate::http {

// The context of a message in this exchange, without caller, session and tag.
call::CallContext context_of(const Exchange& exchange, const mcp::McpSessions& sessions);

// Who sends the request.
policy::Client client_of(const Exchange& exchange);

// A fault as JSON-RPC, with the HTTP status of the fault. `id` is raw JSON, or empty for null.
void refuse_call(Exchange& exchange, mcp::McpSessions& sessions, const rpc::FaultReport& report,
                 std::string_view id);

}  // namespace stdgate::http
