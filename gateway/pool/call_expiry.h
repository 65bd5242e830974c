// CallExpiry: ends calls that are due (call.h), wherever they are, and notices children that
// hang.
//
// One timer serves all calls of a pool. The timer fires at the earliest deadline. When that call
// ends, the timer is not moved, so it may fire too early. A call with a sign of life since its
// deadline was set gets a later deadline. The clock of a call stands while its child waits for an
// answer of its client, and while its child is not read. Owner: the pool.
#pragma once

#include <functional>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/pool/children.h"
#include "gateway/pool/leases.h"
#include "gateway/pool/pool_events.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::pool {

class CallExpiry {
 public:
  // `queues`: of the shared lane. `on_room`: expired calls have left room for others.
  CallExpiry(const PoolServices& services, const SessionEvents& sessions, SharedQueues& queues,
             const Leases& leases, const Children& children, std::function<void()> on_room);

  // Lets the call expire at its deadline. Without effect for a call that is watched already.
  void watch(call::Call& call);
  // Moves the timer to this deadline, if it is earlier. The call is watched already.
  void arm(TimePoint deadline) { timer_.arm_by(deadline); }

  // Ends the process if an invariant is broken.
  void check_invariants() const;

 private:
  // The calls that have expired, and the children that are given up because of them.
  struct Expired;
  void expire();
  // Whether the call is not due yet; if so, it gets a later deadline.
  bool goes_on(call::Call& call);
  // The last sign of life of the call, or its arrival; the present time while its clock stands.
  [[nodiscard]] TimePoint last_heard(const call::Call& call) const;
  void expire_waiting(const call::Call& call, Expired& expired);
  void expire_in_flight(const call::Call& call, Expired& expired);
  void note_timeout(Child& child, TimePoint waiting_since, Expired& expired) const;
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const PoolServices& services_;
  const SessionEvents& sessions_;
  SharedQueues& queues_;
  const Leases& leases_;
  const Children& children_;
  const std::function<void()> on_room_;
  Timer timer_;
};

}  // namespace stdgate::pool
