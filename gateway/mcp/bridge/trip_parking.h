// TripParking: parks calls of trips, and lets them continue; see RoundTrips.
//
// Job: answer the client with the server's questions and a state, leave a stand-in in the place of
// the call, count taken places, and find the trip that a retry continues. Owner: RoundTrips.
// Limits: the limits of ParkedPlaces and LostTrips; the input timeout.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gateway/backend/session_router.h"
#include "gateway/mcp/bridge/lost_trips.h"
#include "gateway/mcp/bridge/parked_places.h"
#include "gateway/mcp/bridge/round_trip.h"
#include "gateway/mcp/bridge/trip_states.h"
#include "gateway/pool/pool.h"

namespace stdgate::mcp {

class TripParking {
 public:
  struct Terms {
    const Duration& input_timeout;  // may change
    bool has_principals = false;    // see BackendOptions
  };

  TripParking(const pool::PoolServices& services, pool::Pool& pool,
              backend::SessionRouter& sessions, call::Chain& chain, const Terms& terms)
      : services_(services),
        pool_(pool),
        sessions_(sessions),
        chain_(chain),
        input_timeout_(terms.input_timeout),
        places_(services, terms.has_principals),
        states_(services),
        lost_(services.config.pool.parked) {}

  [[nodiscard]] ParkedPlaces& places() { return places_; }
  [[nodiscard]] const ParkedPlaces& places() const { return places_; }

  // Answers the client of `call`, or of its stand-in, with these requests. Returns until when the
  // client may come back. Consequences of the answer come after the return.
  TimePoint begin(Trip& trip, const call::Call& call);
  void tell(const Trip& trip, const call::Call& call, std::span<const InputRequest> requests);
  // The call has no client from now on, until its client continues it.
  void leave_in_place(Trip& trip, call::Call& call);
  // A call that ends for the client in place of `call`, with the state of all filters. `call` stays
  // in its place.
  [[nodiscard]] call::CallPtr ending_of(call::Call& call) const;
  void end(Trip& trip, ParkedEnd how);

  // The round that the client wants to continue; nothing: the state is not for this client and
  // request.
  [[nodiscard]] std::optional<TripRound> open(std::string_view state, std::string_view identity,
                                              std::string_view essence) const {
    return states_.open(state, identity, essence);
  }
  [[nodiscard]] bool is_of(const Trip& trip, const TripRound& round) const {
    return trip.is_parked && trip.round == round.round && now() < round.expires;
  }
  [[nodiscard]] LostTrips& lost() { return lost_; }

  // Ends a call with an error. refuse_state(): the state is not what the client was given.
  void end_with(call::CallPtr call, const call::Absence& error) const;
  void refuse_state(call::CallPtr call) const;
  // Answers a question of the child with this member. Without effect if the question is over.
  void answer_ask(const Trip& trip, rpc::WireId ask, std::string_view member) const;
  // Refuses the open questions, because no client will answer them.
  void refuse_asks(Trip& trip) const;

 private:
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  backend::SessionRouter& sessions_;
  call::Chain& chain_;
  const Duration& input_timeout_;
  ParkedPlaces places_;
  TripStates states_;
  LostTrips lost_;
};

// An error as a member of a response.
std::string error_member(const call::Absence& error);

}  // namespace stdgate::mcp
