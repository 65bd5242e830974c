// McpFilters: what MCP has between the rules and the children of a backend.
//
// Owner: the backend, by what Dialect::add_filters() gives it.
#pragma once

#include <optional>
#include <string>

#include "gateway/mcp/cache_filter.h"
#include "gateway/mcp/claim_filter.h"
#include "gateway/mcp/param_filter.h"
#include "gateway/pool/filter_services.h"

namespace stdgate::mcp {

class McpFilters {
 public:
  // Adds them to the chain. `stamp`: the members of _meta that a request of the gateway has.
  McpFilters(const pool::FilterServices& services, std::string stamp);

 private:
  std::optional<ClaimFilter> claims_;  // nothing: they are not wanted
  std::optional<CacheFilter> cache_;   // nothing: nothing is kept
  ParamFilter params_;
};

}  // namespace stdgate::mcp
