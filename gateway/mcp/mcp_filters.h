// The filters that MCP has in the chain of a backend.
#pragma once

#include <memory>
#include <string>

#include "gateway/pool/dialect.h"

namespace stdgate::mcp {

// See Dialect::add_filters(). `stamp`: the members of _meta for requests of the gateway.
std::shared_ptr<void> add_mcp_filters(const pool::FilterServices& services, pool::FilterLayer layer,
                                      const std::string& stamp);

}  // namespace stdgate::mcp
