// The protocols of the simulated backends. Two programs are made of the simulation: with all
// protocols (all_protocols.cc), and with the core alone (core_alone.cc), into which gateway/mcp is
// not linked: so nothing of a call of plain JSON-RPC, or of LSP, passes code of MCP.
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
// MCP is one of them: some of what a history can have happens to its sessions alone.
extern const bool kHasMcp;
// How many seeds are run unless the environment says so.
extern const uint64_t kSeeds;

}  // namespace stdgate::sim
