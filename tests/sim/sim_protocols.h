// The protocols of the simulated backends. The simulation is built as two programs: with all
// protocols (all_protocols.cc), and with the core alone (core_alone.cc). The second program is
// linked without gateway/mcp, so calls of plain JSON-RPC and of LSP cannot depend on code of MCP.
#pragma once

#include <cstdint>
#include <memory>

#include "gateway/backend/sleeping_server.h"
#include "gateway/pool/dialect.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

config::Protocol draw_protocol(SimWorld& world);
std::unique_ptr<pool::Dialect> make_dialect(const config::BackendConfig& config);
// Makes the memory of MCP servers that sleep.
backend::MakeSleepingServer make_sleeping();
// Whether MCP is one of the protocols. Some events happen to sessions of MCP only.
extern const bool kHasMcp;
// The number of seeds that are run unless the environment sets another number.
extern const uint64_t kSeeds;

}  // namespace stdgate::sim
