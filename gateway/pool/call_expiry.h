// CallExpiry: ends calls that are due (call_clock.h), wherever they are, and notices children that
// hang.
//
// One timer for all calls of a pool. It is due at the earliest deadline, or earlier, as it is not
// moved when that call ends. A call that has had a sign of life since its deadline was set gets
// another one. The clock of a call stands while its child waits for an answer of its client, and
// while its child is not read. Owner: the pool.
#pragma once

#include <functional>
#include <vector>

#include "gateway/base/timers.h"
#include "gateway/pool/children.h"
#include "gateway/pool/leases.h"
#include "gateway/pool/pool_events.h"
#include "gateway/pool/pool_services.h"
#include "gateway/pool/session_events.h"
#include "gateway/pool/shared_queues.h"

namespace stdgate::pool {

class CallExpiry {
 public:
  // `queues` are the shared lane's. `on_room`: expired calls have left room for others.
  CallExpiry(const PoolServices& services, PoolEvents& events, const SessionEvents& sessions,
             SharedQueues& queues, const Leases& leases, const Children& children,
             std::function<void()> on_room);

  // The call is to expire at its deadline. Without effect for one that is watched already.
  void watch(call::Call& call);
  // The same for one that is watched already.
  void arm(TimePoint deadline);

  // Ends the process if an invariant is broken.
  void check_invariants() const;

 private:
  // What deadlines have ended: the calls, and the children that are given up for it.
  struct Expired;
  void expire();
  // Whether it is not due yet; then it has another deadline.
  bool goes_on(call::Call& call);
  // Its last sign of life, or its arrival; now, while its clock stands.
  [[nodiscard]] TimePoint last_heard(const call::Call& call) const;
  void expire_waiting(const call::Call& call, Expired& expired);
  void expire_in_flight(const call::Call& call, Expired& expired);
  void note_timeout(Child& child, TimePoint waiting_since, Expired& expired) const;
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const PoolServices& services_;
  PoolEvents& events_;
  const SessionEvents& sessions_;
  SharedQueues& queues_;
  const Leases& leases_;
  const Children& children_;
  const std::function<void()> on_room_;
  Timer timer_;
};

}  // namespace stdgate::pool
