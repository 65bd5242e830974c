#include "gateway/app/dialects.h"
#include "gateway/mcp/memory_filter.h"
#include "tests/sim/sim_protocols.h"

namespace stdgate::sim {

const bool kHasMcp = true;
const uint64_t kSeeds = 2000;

config::Protocol draw_protocol(SimWorld& world) {
  return static_cast<config::Protocol>(world.pick(0, 2));
}

std::unique_ptr<pool::Dialect> make_dialect(const config::BackendConfig& config) {
  return app::make_dialect(config, {"0", ""});
}

pool::MakeRecall make_recall() {
  return
      [memory = std::make_shared<mcp::ServerMemory>([] {})](const pool::RecallServices& services) {
        return std::make_unique<mcp::MemoryFilter>(memory, std::string(), services);
      };
}

}  // namespace stdgate::sim
