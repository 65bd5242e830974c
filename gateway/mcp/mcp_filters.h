// The filters that MCP has in the chain of a backend.
#pragma once

#include "gateway/pool/dialect.h"

namespace stdgate::mcp {

class McpDialect;

// See Dialect::add_filters(). `dialect` outlives them.
pool::ProtocolFilters add_mcp_filters(const pool::FilterServices& services, pool::FilterLayer layer,
                                      const McpDialect& dialect);

}  // namespace stdgate::mcp
