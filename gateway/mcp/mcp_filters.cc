#include "gateway/mcp/mcp_filters.h"

#include <utility>

namespace stdgate::mcp {

McpFilters::McpFilters(const pool::FilterServices& services, std::string stamp)
    : params_(services, std::move(stamp)) {
  // Before the cache: what is kept is what children have said, and is sealed for each client.
  if (ClaimFilter::is_wanted(services.services)) {
    services.chain.add("claims", claims_.emplace(services));
  }
  if (services.services.config.cache) services.chain.add("cache", cache_.emplace(services));
  // Behind the cache, which has no calls of tools: those are held for as long as a child answers.
  services.chain.add("params", params_);
}

}  // namespace stdgate::mcp
