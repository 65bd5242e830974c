// The filters that MCP has in the chain of a backend.
#pragma once

#include <memory>

#include "gateway/pool/dialect.h"

namespace stdgate::mcp {

class McpDialect;

// See Dialect::add_filters(). `dialect` outlives them.
std::shared_ptr<void> add_mcp_filters(const pool::FilterServices& services, pool::FilterLayer layer,
                                      const McpDialect& dialect);

}  // namespace stdgate::mcp
