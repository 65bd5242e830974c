// SimRecords: what the children and the modern clients of a history have to know of each other, to
// check what reaches them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "gateway/backend/backend.h"
#include "tests/sim/sim_kept.h"
#include "tests/sim/sim_life.h"
#include "tests/sim/sim_states.h"
#include "tests/sim/sim_tasks.h"

namespace stdgate::sim {

struct SimRecords {
  SimRecords(SimWorld& world, const backend::BackendOptions& options)
      : is_sticky(options.config.pool.sticky),
        is_shared(options.config.isolation == config::Isolation::shared),
        idle_timeout(options.config.pool.idle_timeout),
        states(world),
        tasks(world, options.input_timeout),
        kept(world),
        life(world, options.input_timeout) {}

  // Who a caller is, see SimOwners::next_caller().
  [[nodiscard]] SimPrincipal principal_of(uint64_t caller) const {
    const auto known = principals.find(caller);
    return known == principals.end() ? 0 : known->second;
  }

  const bool is_sticky;  // see config.pool.sticky
  const bool is_shared;  // clients share the children
  const Duration idle_timeout;
  bool is_draining = false;
  SimStates states;
  SimTasks tasks;
  // Who is one client, of modern callers: a name. Anonymous ones have
  // a number.
  std::map<uint64_t, std::string> clients;
  SimKept kept;
  SimLife life;
  std::map<uint64_t, SimPrincipal> principals;   // of modern callers
  std::map<std::string, uint64_t> owners;        // of children alone: see SimOwners
  std::set<std::pair<int64_t, uint64_t>> heard;  // answers that modern clients have had, by stamp
};

}  // namespace stdgate::sim
