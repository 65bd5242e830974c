#include "gateway/app/dialects.h"

#include "gateway/acp/acp_dialect.h"
#include "gateway/lsp/lsp_dialect.h"
#include "gateway/mcp/mcp_dialect.h"
#include "gateway/pool/dialect.h"

namespace stdgate::app {

std::unique_ptr<pool::Dialect> make_dialect(const config::BackendConfig& backend,
                                            const GatewayIdentity& identity) {
  switch (backend.protocol) {
    case config::Protocol::mcp:
      return std::make_unique<mcp::McpDialect>(identity.version, identity.name);
    case config::Protocol::lsp:
      return std::make_unique<lsp::LspDialect>();
    case config::Protocol::acp:
      return std::make_unique<acp::AcpDialect>();
    case config::Protocol::jsonrpc:
      break;
  }
  return std::make_unique<pool::JsonRpcDialect>(backend.cancel_method);
}

}  // namespace stdgate::app
