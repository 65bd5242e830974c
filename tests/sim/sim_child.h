// SimChild: a child process without a process. It reads its stdin in pieces, answers late, out of
// order, twice or never, asks and takes back what it asked, talks nonsense in between, and dies
// when it likes. It stamps what it writes, see SimCalls, and checks what it gets. With MCP it is of
// one era or both: see SimModernSide for the modern one.
//
// SimLauncher is the ChildLauncher that makes them. A SimChild lives until its link is destroyed or
// its exit has been told; events that are still under way then find nobody (weak pointers).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gateway/pool/child_link.h"
#include "tests/sim/sim_records.h"
#include "tests/sim/sim_temper.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

class SimChild;

class SimLauncher final : public pool::ChildLauncher {
 public:
  SimLauncher(SimWorld& world, const Temper& temper, SimRecords& records)
      : world_(world), temper_(temper), records_(records) {}
  std::unique_ptr<pool::ChildLink> launch(const pool::LaunchSpec& spec,
                                          pool::ChildEvents& events) override;

  // Processes that have been launched and have not ended.
  [[nodiscard]] size_t running() const;

 private:
  SimWorld& world_;
  const Temper& temper_;
  SimRecords& records_;
  int next_pid_ = 100;
  std::vector<std::weak_ptr<SimChild>> children_;
};

}  // namespace stdgate::sim
