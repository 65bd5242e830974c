// Replacement: replaces children before they fail: children that are too old, have had too many
// calls, or use too much memory (config.pool.max_age, max_calls, max_memory). Such a child is worn.
//
// Job: a worn shared child serves until its successor is ready, then takes no more calls, and ends
// when it has none. Where there is no room for a successor, one worn child at a time takes no more
// calls at once, and new calls wait. A worn child of a session takes no more messages either: the
// session is parked when it has no call, and revived by the next message. A child that holds work
// (ChildListener::works_until) stays for it. Without room for a successor, it also continues to
// take calls. Without such work, a call under way has BackendConfig::timeout from then on. Owner:
// the pool.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "gateway/base/time.h"
#include "gateway/pool/children.h"
#include "gateway/pool/leases.h"
#include "gateway/pool/pool_events.h"
#include "gateway/pool/pool_services.h"
#include "gateway/pool/session_lane.h"

namespace stdgate::pool {

class Replacement {
 public:
  Replacement(const PoolServices& services, Children& children, Leases& leases,
              SessionLane& sessions, ChildListener& listener);

  // The child is ready, has answered, or has told its use of memory. Acts after this turn of the
  // loop.
  void look_at(Child& child) {
    if (is_wanted_) look(child);
  }
  // Fills in how many children have been replaced, and why.
  void describe(BackendStatus& status) const;
  // A child has ended.
  void note_gone() { look_soon(); }

 private:
  void look_soon() {
    if (is_wanted_) timer_.arm(now());
  }
  void look(Child& child);
  [[nodiscard]] std::optional<ReplaceReason> reason_to_go(const Child& child) const;
  void act();
  void replace_shared(Child& child);
  void replace_leased(Child& child, Lease& lease);
  void retire(Child& child);
  void end(Child& child);
  void tell(const Child& child);
  [[nodiscard]] bool is_overdue(const Child& child) const;
  [[nodiscard]] ReplaceWait wait_of(const Child& child) const;
  void note_wait(Child& child, ReplaceWait wait);
  [[nodiscard]] bool holds_work(const Child& child) const;
  [[nodiscard]] const config::PoolConfig& config() const { return services_.config.pool; }
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const PoolServices& services_;
  Children& children_;
  Leases& leases_;
  SessionLane& sessions_;
  ChildListener& listener_;
  const bool is_wanted_;  // some limit is configured
  std::array<uint64_t, kReplaceReasonCount> replaced_{};
  Timer timer_;
};

}  // namespace stdgate::pool
