// Where clients read who gives out tokens for this gateway (RFC 9728, and MCP's authorization).
#pragma once

#include <string_view>

#include "transports/http/router.h"

namespace stdgate::http {

inline constexpr std::string_view kResourceMetadata = "/.well-known/oauth-protected-resource";

// Adds kResourceMetadata, and the same with the path of each endpoint of MCP behind it, which say
// what the policy announces. After the endpoints' own routes.
void add_resource_metadata(Router& router);

}  // namespace stdgate::http
