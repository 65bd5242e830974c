// SessionLane: sessions with a child of their own, and the places that they have.
//
// Job: give each session a child when it has something to say, take the child away from one that is
// idle when the place is needed, and give a session whose child has gone another one. A session
// that has no child is parked: see Revival for what its next child is told. Owner: the pool.
// Limits: as many children at a time as Children::session_places(); while nobody knows whether
// sessions need one, config.pool.queue sessions beyond these.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "gateway/pool/children.h"
#include "gateway/pool/leases.h"
#include "gateway/pool/pool_events.h"
#include "gateway/pool/pool_services.h"
#include "gateway/pool/session_events.h"

namespace stdgate::pool {

class SessionLane {
 public:
  // `on_places_taken`: sessions have got places that the shared lane may have had.
  SessionLane(const PoolServices& services, PoolEvents& events, SessionEvents& session_events,
              Leases& leases, Children& children, std::function<void()> on_places_taken);

  // As Pool's.
  tl::expected<void, rpc::FaultReport> open(session::SessionId session);
  void adopt(session::SessionId session, const Knowledge& client);
  std::vector<CallPtr> close(session::SessionId session);
  void hold_child(session::SessionId session, bool held);
  session::Parking park(session::SessionId session);
  [[nodiscard]] bool is_parked(session::SessionId session) const;
  [[nodiscard]] SessionMemory* memory_of(session::SessionId session) const;
  tl::expected<void, rpc::FaultReport> submit(Lease& lease, CallPtr& call, const Outgoing& message);
  bool notify(Lease& lease, const Outgoing& message);

  // Takes the child of the session that has been idle longest. False: all are at work, or none
  // gives way.
  bool free_place();
  // Some session may have become idle: those that wait for a place get it.
  void settle();
  // A child has answered a request of the gateway's own; null: with something unreadable.
  void note_own_answer(Child& child, rpc::WireId id, const rpc::Envelope* answer);
  // The own child of a session has answered with a result.
  void note_served();
  // The session's child has gone, with these calls of the session in flight.
  void lose_child(Lease& lease, session::SessionEnd end, const rpc::FaultReport& report,
                  std::vector<CallPtr> calls);
  // No child can be started for those that wait.
  void fail_waiting(const rpc::FaultReport& report);

 private:
  [[nodiscard]] bool cannot_start() const;
  [[nodiscard]] bool may_come_to_share() const;
  void wake(Lease& lease);
  void take_places();
  [[nodiscard]] Lease* longest_idle() const;
  void park(Lease& lease, ParkReason reason);
  void finish_greeting(Lease& lease, Child& child, const rpc::Envelope* answer);
  [[nodiscard]] bool can_park(const Lease& lease) const;
  [[nodiscard]] bool can_revive(const Lease& lease) const;
  void fail(Lease& lease, const rpc::FaultReport& report, std::vector<CallPtr> calls);
  void lose(Lease& lease, session::SessionEnd end, const rpc::FaultReport& report,
            std::vector<CallPtr> calls);
  std::vector<CallPtr> take_queue(Lease& lease);
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const PoolServices& services_;
  PoolEvents& events_;
  SessionEvents& session_events_;
  Leases& leases_;
  Children& children_;
  const std::function<void()> on_places_taken_;
  bool has_served_ = false;
};

}  // namespace stdgate::pool
