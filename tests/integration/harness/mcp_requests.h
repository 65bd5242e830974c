// Requests of MCP, of both eras.
#pragma once

#include <string>

#include "tests/integration/harness/http_client.h"

namespace stdgate::harness {

// --- Sessions over HTTP, as stateful clients begin and use them

// An `initialize` of revision 2025-06-18.
std::string mcp_greeting();
// The fields of a request in this session. An empty `id`: of a request that begins a session.
Headers in_mcp_session(const std::string& id);
// Begins a session at this path, and returns its id.
std::string open_mcp_session(HttpClient& client, const std::string& path = "/mcp");

// --- Requests of the modern era (2026-07-28): the body, and the header fields that repeat parts of
// it

// `params`: members beside _meta; may be empty. `capabilities`: of the client.
std::string modern_request(const std::string& method, const std::string& params = "",
                           const std::string& id = "1", const std::string& capabilities = "{}");
// `name`: the requested element; empty: the request names none. `more`: other fields.
Headers modern_headers(const std::string& method, const std::string& name = "", Headers more = {});

// POSTs a call of the tool "t" to /mcp.
HttpResponse call_tool(HttpClient& client, const std::string& capabilities = "{}");
// POSTs a request that names no element to /mcp.
HttpResponse post_modern(HttpClient& client, const std::string& method,
                         const std::string& params = "");
// Sends `subscriptions/listen` for changes of tools to /mcp. The response arrives together with its
// first event.
void listen_for_tools(HttpClient& client, const std::string& id);
// The params of a request that begins a session.
std::string initialize_params(const std::string& capabilities = "{}");

}  // namespace stdgate::harness
