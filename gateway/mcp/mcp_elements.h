// The tools, resources and prompts that messages of MCP are about, for rules.
#pragma once

#include "gateway/pool/dialect.h"

namespace stdgate::mcp {

// See pool::Dialect.
tl::expected<call::UsedElement, const char*> used_element(const rpc::Envelope& message,
                                                          std::string_view method);
const call::ListShape* list_shape(std::string_view method);
// As the reference servers answer (MCP 2025-11-25, server/tools, resources and prompts).
call::Absence absence(std::string_view method, policy::ElementKind kind, std::string_view name,
                      Era of_client);

}  // namespace stdgate::mcp
