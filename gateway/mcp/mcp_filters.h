// McpFilters: the filters that MCP has in the chain of each backend, except for those of the
// bridge.
//
// Owner: the bridge. The filters end before the chain.
#pragma once

#include <memory>
#include <optional>

#include "gateway/mcp/cache_filter.h"
#include "gateway/mcp/claim_filter.h"
#include "gateway/mcp/param_filter.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::mcp {

class EraAnswers;
class JudgingFilter;
class McpDialect;

class McpFilters {
 public:
  // `dialect` outlives them.
  explicit McpFilters(const McpDialect& dialect);
  ~McpFilters();
  McpFilters(const McpFilters&) = delete;
  McpFilters& operator=(const McpFilters&) = delete;

  // Add filters to the chain, in the order of requests: above the rules; right below them; nearest
  // to the children.
  void add_outer(const pool::FilterServices& services);
  void add_judging(const pool::FilterServices& services);
  void add_inner(const pool::FilterServices& services);

 private:
  const McpDialect& dialect_;
  std::unique_ptr<EraAnswers> eras_;
  std::unique_ptr<JudgingFilter> judges_;  // null: nothing is judged
  std::optional<ClaimFilter> claims_;      // nothing: pool.sticky is off
  std::optional<CacheFilter> cache_;       // nothing: caching is off
  std::optional<ParamFilter> params_;
};

}  // namespace stdgate::mcp
