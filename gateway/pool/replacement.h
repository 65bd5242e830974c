// Replacement: children that go before they fail: that are too old, have had too many calls, or
// use too much memory (config.pool.max_age, max_calls, max_memory). Such a child is worn.
//
// Job: a shared child goes on until its successor is ready, then takes no more calls, and ends when
// it has none. Where there is no room for a successor, one child at a time takes no more at once,
// and what comes waits. A session's child takes no more either: the session is parked when it has
// no call, and revived by what waits or comes next. A child that holds work
// (ChildListener::works_until) stays for it. One that uses too much memory stays only while its
// successor serves, and for BackendConfig::timeout at most. Where there is no such work, a call
// that is under way has that timeout from then on. Owner: the pool.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "gateway/base/timers.h"
#include "gateway/pool/child_listener.h"
#include "gateway/pool/children.h"
#include "gateway/pool/leases.h"
#include "gateway/pool/pool_services.h"
#include "gateway/pool/session_lane.h"

namespace stdgate::pool {

class Replacement {
 public:
  Replacement(const PoolServices& services, Children& children, Leases& leases,
              SessionLane& sessions, ChildListener& listener);

  // Something has changed: it is ready, has answered, says how much memory it uses. What has to be
  // done is done when this turn has ended.
  void look_at(Child& child);
  // Fills in how many have been replaced, and why.
  void describe(BackendStatus& status) const;
  // A child has ended.
  void note_gone() { look_soon(); }

 private:
  void look_soon() {
    if (is_wanted()) timer_.arm(now());
  }
  [[nodiscard]] bool is_wanted() const;
  [[nodiscard]] std::optional<ReplaceReason> reason_to_go(const Child& child) const;
  void act();
  void replace_shared(Child& child);
  void replace_leased(Child& child, Lease& lease);
  void retire(Child& child);
  void end(Child& child);
  void tell(const Child& child);
  [[nodiscard]] bool is_overdue(const Child& child) const;
  [[nodiscard]] bool may_stop_serving(const Child& child) const;
  [[nodiscard]] bool holds_work(const Child& child) const;
  [[nodiscard]] const config::PoolConfig& config() const { return services_.config.pool; }
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const PoolServices& services_;
  Children& children_;
  Leases& leases_;
  SessionLane& sessions_;
  ChildListener& listener_;
  std::array<uint64_t, kReplaceReasonCount> replaced_{};
  Timer timer_;
};

}  // namespace stdgate::pool
