// RoundTrips: calls of modern clients that a legacy child serves alone, because it may ask its
// client.
//
//   client        gateway                       child
//   tools/call ─▶ a session of the gateway's ─▶ initialize with what this client can be asked, call
//                                            ◀─ elicitation/create
//              ◀─ input_required, requestState  (the call is parked: the child waits)
//   tools/call ─▶ the parked call goes on     ─▶ the answer
//              ◀──────────────────────────────── the result
//
// A trip is one such call from its first request to its result, together with the session that
// represents it at the pool. The session has no client of its own: its messages are the gateway's.
// The call is in the child's table like any call; while it is parked, a stand-in without a client
// takes its place. A `requestState` is sealed for one principal and one request, and good once;
// everything else about a parked call is kept here. If its child goes, the call gives its place
// back, and the client gets the report when it comes back (LostTrips). From the moment of its
// answer, an ended trip leaves its child to the next call that may have it. Where sessions have
// children of their own, that is a call of the same principal; the child of an anonymous client
// goes to no other call. The pool of one principal (BackendConfig::serves_one) has one trip at a
// time. Its child is shared by all calls of the principal, so such calls take turns (SharedQueues).
// Owner: the bridge. Limits: config.pool.parked calls at a time. One principal has half of them at
// most; so have all anonymous clients together, where other clients have to authenticate. Further
// calls that would be parked wait. A parked call is cancelled after the input timeout. For calls
// that wait for a child, the limits of a pool's queue hold.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gateway/backend/session_router.h"
#include "gateway/base/time.h"
#include "gateway/call/trace_filter.h"
#include "gateway/mcp/bridge/round_trip.h"
#include "gateway/mcp/bridge/trip_parking.h"
#include "gateway/mcp/mcp_input.h"
#include "gateway/pool/pool.h"

namespace stdgate::mcp {

class McpDialect;

class RoundTrips {
 public:
  RoundTrips(const pool::PoolServices& services, const McpDialect& dialect, pool::Pool& pool,
             backend::SessionRouter& sessions, const TripParking::Terms& terms,
             call::TraceFilter& traces);

  // Takes a call (Call::alone) for legacy children, and brings it to its end.
  void take(call::CallPtr call, const call::Outgoing& message);
  // Like take(), where calls take turns: `call` has its turn.
  void take_turn(call::CallPtr call, const call::Outgoing& message);
  // Where calls take turns: this request of a modern client starts a child, so the child is to know
  // what that client can be asked.
  void note_request(const rpc::Envelope& request);
  // A child has answered a call of a trip. False: the answer is for the client.
  bool take_answer(call::CallPtr& call, const rpc::Envelope& answer);
  // Like take_answer(), but for a fault that has ended a call. If the call has waited for a place,
  // the fault says so.
  bool take_fault(call::CallPtr& call, const rpc::FaultReport& report);
  // A call of a trip has ended, and its client has its answer.
  void note_end(const call::Call& call, Outcome outcome);
  // Ends parked calls, because clients can no longer continue them.
  void drain();

  [[nodiscard]] size_t parked() const { return parking_.places().taken(); }

  // --- Called by trips
  // The trip's child has sent a request or notification for its client.
  void on_trip_message(Trip& trip, std::string_view text);
  // A trip has lost its child, and has to be released when it has no call.
  void on_trip_over() { settle_timer_.arm(now()); }

 private:
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }
  void begin(call::CallPtr call, const rpc::Envelope& request);
  void resume(call::CallPtr call, const rpc::Envelope& request);
  void submit(Trip& trip, call::CallPtr call, const rpc::Envelope& request);
  Trip* idle_trip(const call::Call& call, std::string_view greeting);
  tl::expected<Trip*, rpc::FaultReport> open(std::string greeting, const call::Call& call);
  // Null: the call belongs to no trip.
  [[nodiscard]] Trip* trip_of(const call::Call& call) const {
    const session::Session* const session = sessions_.find(call.session);
    const bool is_trip = session != nullptr && session->kind == session::SessionKind::trip;
    return is_trip ? static_cast<Trip*>(session->sink) : nullptr;
  }
  // The fault for a client that cannot be asked now.
  [[nodiscard]] rpc::FaultReport why_not_asked(const Trip& trip) const {
    if (pool_.is_draining()) return rpc::faults::shutting_down();
    return rpc::faults::overloaded(parking_.places().why_none(trip.identity));
  }
  Trip* find_parked(const TripRound& round);
  bool give_answers(Trip& trip, std::string_view answers);
  void note_call(Trip& trip, const call::Call& call, const rpc::Envelope& request);
  tl::expected<Trip*, rpc::FaultReport> own_trip();
  void await_turn(call::CallPtr call, const rpc::Envelope& request);
  [[nodiscard]] call::Outgoing outgoing(const call::Call& call, const rpc::Envelope& request) const;
  void begin_again(Trip& trip, call::CallPtr call, const rpc::Envelope& request);
  void end_turn(Trip& trip);
  void deliver_answer(Trip& trip, call::CallPtr call);

  void settle();
  void settle(Trip& trip);
  void park(Trip& trip);
  void park_for(Trip& trip, const call::Call& call, std::span<const InputRequest> requests);
  void end_parking(Trip& trip, ParkedEnd end);
  void release(Trip& trip);
  void look_at_time();

  const pool::PoolServices& services_;
  const McpDialect& dialect_;
  pool::Pool& pool_;
  backend::SessionRouter& sessions_;
  call::Chain& chain_;
  call::TraceFilter& traces_;
  // Sessions have children of their own, so no client gets a child that another client has used.
  const bool is_strict_;
  const bool takes_turns_;
  TripParking parking_;
  TripQuestions questions_;
  std::map<uint64_t, std::unique_ptr<Trip>> trips_;  // by number, oldest first
  uint64_t opened_ = 0;
  uint64_t ends_so_far_ = 0;  // number of ended calls
  Timer settle_timer_;        // a change of this turn of the loop has to be handled
  Timer clock_timer_;         // a trip may have to end, or to continue
};

}  // namespace stdgate::mcp
