// CallExpiry: ends calls at their deadlines, wherever they are, and notices children that hang.
//
// One timer for all calls of a pool. It is due at the earliest deadline, or earlier, as it is not
// moved when that call ends. Owner: the pool.
#pragma once

#include <functional>
#include <vector>

#include "gateway/base/timers.h"
#include "gateway/pool/call_queue.h"
#include "gateway/pool/children.h"
#include "gateway/pool/leases.h"
#include "gateway/pool/pool_events.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::pool {

class CallExpiry {
 public:
  // `queue` is the shared lane's. `on_room`: expired calls have left room for others.
  CallExpiry(const PoolServices& services, PoolEvents& events, CallQueue& queue,
             const Leases& leases, const Children& children, std::function<void()> on_room);

  // The call is to expire at its deadline. Without effect for one that is watched already.
  void watch(Call& call);
  // The same for one that is watched already.
  void arm(TimePoint deadline);

  // Ends the process if an invariant is broken.
  void check_invariants() const;

 private:
  // What deadlines have ended: the calls, and the children that are given up for it.
  struct Expired;
  void expire();
  void expire_waiting(const Call& call, Expired& expired);
  void expire_in_flight(const Call& call, Expired& expired);

  const PoolServices& services_;
  PoolEvents& events_;
  CallQueue& queue_;
  const Leases& leases_;
  const Children& children_;
  const std::function<void()> on_room_;
  Timer timer_;
};

}  // namespace stdgate::pool
