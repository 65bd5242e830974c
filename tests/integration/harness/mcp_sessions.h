// Sessions of MCP over HTTP, as their clients begin and name them.
#pragma once

#include <string>

#include "tests/integration/harness/http_client.h"

namespace stdgate::harness {

// An `initialize` of revision 2025-06-18.
std::string mcp_greeting();
// The fields of a request in that session; with an empty id of one that is to begin.
Headers in_mcp_session(const std::string& id);
// Begins one at that path; its id.
std::string open_mcp_session(HttpClient& client, const std::string& path = "/mcp");

}  // namespace stdgate::harness
