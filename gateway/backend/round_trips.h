// RoundTrips: calls of modern clients that a legacy child serves alone, as it may ask something.
//
//   client        gateway                       child
//   tools/call ─▶ a session of the gateway's ─▶ initialize with what this client can be asked, call
//                                            ◀─ elicitation/create
//              ◀─ input_required, requestState  (the call is parked: the child waits)
//   tools/call ─▶ the parked call goes on     ─▶ the answer
//              ◀──────────────────────────────── the result
//
// A trip is one such call from its first request to its result, and the session that stands for it
// at the pool: it has no client of its own, its messages are the gateway's. The call is in the
// child's table as any call; while it is parked another one, of nobody, stands in its place.
// A `requestState` is sealed, for one principal and one request, and used once; all else of a
// parked call is kept here. If its child goes, it gives its place back, and its client hears of
// that when it comes back (LostTrips). A trip that is over leaves its child to the next call that
// may have it, from the moment of its answer on: where sessions have children of their own, to one
// of the same principal, and to nobody if the client was anonymous.
// In the pool of one principal (BackendConfig::serves_one) there is one trip, and its child is the
// one that all calls of the principal share: such calls take turns (SharedQueues) there.
// Owner: the backend. Limits: config.pool.parked calls at a time, half of them of one principal,
// and half of all anonymous clients where others have to say who they are; others that would be
// parked wait; the input timeout, after which a parked call is cancelled; those of a pool's queue
// for calls that wait for a child.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gateway/backend/round_trip.h"
#include "gateway/backend/session_router.h"
#include "gateway/backend/trip_parking.h"
#include "gateway/backend/trip_questions.h"
#include "gateway/base/timers.h"
#include "gateway/call/trace_filter.h"
#include "gateway/pool/pool.h"

namespace stdgate::backend {

class RoundTrips final : public TripOwner {
 public:
  RoundTrips(const pool::PoolServices& services, pool::Pool& pool, SessionRouter& sessions,
             pool::PoolEvents& events, TripEnds& ends, const TripParking::Terms& terms,
             call::TraceFilter& traces);

  // Takes a call (Call::alone) that legacy children are to serve, and brings it to its end.
  void take(call::CallPtr call, const call::Outgoing& message);
  // The same for one to which its turn has come, where calls take turns.
  void take_turn(call::CallPtr call, const call::Outgoing& message);
  // Where they do: a child that this request of a modern client starts is to know what that client
  // can be asked.
  void note_request(const rpc::Envelope& request);
  // A child has answered a call of a trip. False: the answer is for the call's client.
  bool take_answer(call::CallPtr& call, const rpc::Envelope& answer);
  // The same for what has ended a call instead of an answer; one that has waited for a place of
  // parked calls is told so.
  bool take_fault(call::CallPtr& call, const rpc::FaultReport& report);
  // A call of a trip has ended, and its client has been told.
  void note_end(const call::Call& call, Outcome outcome);
  // Nobody can go on with a parked call any more.
  void drain();

  [[nodiscard]] size_t parked() const { return parking_.places().taken(); }

 private:
  // TripOwner
  void on_trip_message(Trip& trip, std::string_view text) override;
  void on_trip_over() override { settle_timer_.arm(now()); }

  [[nodiscard]] const pool::InputDialect& input() const { return *services_.dialect.input(); }
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }
  void begin(call::CallPtr call, const rpc::Envelope& request);
  void resume(call::CallPtr call, const rpc::Envelope& request);
  void submit(Trip& trip, call::CallPtr call, const rpc::Envelope& request);
  Trip* idle_trip(const call::Call& call, std::string_view greeting);
  tl::expected<Trip*, rpc::FaultReport> open(std::string greeting, const call::Call& call);
  // Null: the call belongs to none.
  [[nodiscard]] Trip* trip_of(const call::Call& call) const {
    const session::Session* const session = sessions_.find(call.session);
    const bool is_trip = session != nullptr && session->kind == session::SessionKind::trip;
    return is_trip ? static_cast<Trip*>(session->sink) : nullptr;
  }
  // What its client is told if it cannot be asked now.
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
  void park_for(Trip& trip, const call::Call& call, std::span<const pool::InputRequest> requests);
  void end_parking(Trip& trip, ParkedEnd end);
  void release(Trip& trip);
  void look_at_time();
  void arm_clock(TimePoint due) {
    if (!clock_timer_.armed() || due < clock_timer_.due()) clock_timer_.arm(due);
  }

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  SessionRouter& sessions_;
  pool::PoolEvents& events_;
  call::TraceFilter& traces_;
  // Sessions have children of their own: nobody gets one that another client has used.
  const bool is_strict_;
  const bool takes_turns_;
  TripParking parking_;
  TripQuestions questions_;
  std::map<uint64_t, std::unique_ptr<Trip>> trips_;  // by number, the oldest first
  bool has_turn_ = false;                            // where calls take turns: one is under way
  uint64_t opened_ = 0;
  uint64_t ends_so_far_ = 0;  // of calls
  Timer settle_timer_;        // something has changed in this turn of the loop
  Timer clock_timer_;         // some trip may have to end, or to go on
};

}  // namespace stdgate::backend
