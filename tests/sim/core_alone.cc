#include "gateway/lsp/lsp_dialect.h"
#include "gateway/pool/dialect.h"
#include "tests/sim/sim_protocols.h"

namespace stdgate::sim {

const bool kHasMcp = false;
const uint64_t kSeeds = 500;

config::Protocol draw_protocol(SimWorld& world) {
  return world.chance(0.5) ? config::Protocol::jsonrpc : config::Protocol::lsp;
}

std::unique_ptr<pool::Dialect> make_dialect(const config::BackendConfig& config) {
  if (config.protocol == config::Protocol::lsp) return std::make_unique<lsp::LspDialect>();
  return std::make_unique<pool::JsonRpcDialect>(config.cancel_method);
}

backend::MakeSleepingServer make_sleeping() { return nullptr; }

}  // namespace stdgate::sim
