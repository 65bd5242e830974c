// Requests of MCP, in sessions and in the modern era.
#pragma once

#include <string>

#include "tests/integration/harness/http_client.h"

namespace stdgate::harness {

// --- Sessions of MCP over HTTP, as their clients begin and name them

// An `initialize` of revision 2025-06-18.
std::string mcp_greeting();
// The fields of a request in the session with this id; empty: of a request that begins a session.
Headers in_mcp_session(const std::string& id);
// Begins a session at that path, and returns its id.
std::string open_mcp_session(HttpClient& client, const std::string& path = "/mcp");

// --- Requests of MCP's modern era (2026-07-28), as a client sends them: the body, and the fields
// of the head that repeat parts of it

// A request. `params`: its members beside _meta; may be empty. `capabilities`: of the client.
std::string modern_request(const std::string& method, const std::string& params = "",
                           const std::string& id = "1", const std::string& capabilities = "{}");
// `name`: of what is asked for; empty: nothing is named. `more`: other fields.
Headers modern_headers(const std::string& method, const std::string& name = "", Headers more = {});

// POSTs the call of the tool "t" to /mcp.
HttpResponse call_tool(HttpClient& client, const std::string& capabilities = "{}");
// POSTs a request that names nothing to /mcp.
HttpResponse post_modern(HttpClient& client, const std::string& method,
                         const std::string& params = "");
// Sends `subscriptions/listen` for changes of tools to /mcp; the response begins with its first
// event.
void listen_for_tools(HttpClient& client, const std::string& id);
// The params with which a client begins a session.
std::string initialize_params(const std::string& capabilities = "{}");

}  // namespace stdgate::harness
