#include <array>
#include <memory>
#include <string>

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

// Alternates between two memories, as if the program changed now and then, and changed back.
backend::MakeSleepingServer make_sleeping() {
  const auto memory = [] { return std::make_shared<mcp::ServerMemory>([] {}); };
  auto find = [memories = std::array{memory(), memory()}, looks = size_t{0}]() mutable {
    return memories[++looks / 8 % memories.size()];
  };
  return [find](const backend::SleepingServer::Parts& parts) {
    return std::make_unique<mcp::MemoryFilter>(find, parts);
  };
}

}  // namespace stdgate::sim
