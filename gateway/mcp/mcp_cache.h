// McpCache: results that may be kept in MCP's modern era (2026-07-28, server utilities: caching).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/pool/cache_dialect.h"

namespace stdgate::mcp {

class McpCache final : public pool::CacheDialect {
 public:
  // Longer than that nothing is kept here, whatever a result says.
  static constexpr Duration kMaxTime = std::chrono::hours(24);

  // The method, and each member of params but _meta, as they are spelled.
  [[nodiscard]] std::string key(const rpc::Envelope& request,
                                std::string_view method) const override;
  [[nodiscard]] std::optional<pool::CacheTerms> terms(const rpc::Envelope& answer) const override;
  [[nodiscard]] std::string time_text(Duration lasts) const override;
  [[nodiscard]] bool ends(const pool::Audience& change, std::string_view key) const override;
};

}  // namespace stdgate::mcp
