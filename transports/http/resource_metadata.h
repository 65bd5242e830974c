// Where clients read who gives out tokens for this gateway (RFC 9728, and MCP's authorization).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "transports/http/router.h"

namespace stdgate::http {

inline constexpr std::string_view kResourceMetadata = "/.well-known/oauth-protected-resource";

// Adds kResourceMetadata, and the same with the path of each endpoint of MCP behind it. `issuers`:
// of the tokens that are taken; `scopes`: with which they are to be asked for. After the endpoints'
// own routes.
void add_resource_metadata(Router& router, const std::vector<std::string>& issuers,
                           const std::vector<std::string>& scopes);

}  // namespace stdgate::http
