// The tools, resources and prompts that messages of MCP name, for rules.
#pragma once

#include "gateway/pool/dialect.h"

namespace stdgate::mcp {

// See call::Protocol.
tl::expected<call::UsedElement, const char*> used_element(const rpc::Envelope& message,
                                                          std::string_view method);
const call::ListShape* list_shape(std::string_view method);
// The errors of the reference servers (MCP 2025-11-25, server/tools, resources and prompts).
call::Absence absence(std::string_view method, policy::ElementKind kind, std::string_view name,
                      PeerKind of_client);

}  // namespace stdgate::mcp
