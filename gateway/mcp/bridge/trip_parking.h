// Parked calls of trips: their places (ParkedPlaces), their states (TripStates), those whose child
// has gone (LostTrips), and what parks them (TripParking).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/backend/session_router.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/mcp/bridge/round_trip.h"
#include "gateway/pool/pool.h"
#include "gateway/pool/pool_services.h"
#include "gateway/rpc/fault.h"

namespace stdgate::mcp {

// ParkedPlaces: how many calls of a backend may be parked, see RoundTrips, and who has the places.
//
// One principal has half of them at most, so that some are left for others. Where clients have
// principals, all anonymous clients together count as one client, because one address may stand for
// many. Owner: RoundTrips. Limit: config.pool.parked.
class ParkedPlaces {
 public:
  // `has_principals`: see BackendOptions.
  ParkedPlaces(const pool::PoolServices& services, bool has_principals)
      : services_(services), has_principals_(has_principals) {}

  [[nodiscard]] size_t taken() const { return taken_; }
  // Whether a call of this client (empty: anonymous) may have a place.
  [[nodiscard]] bool has_one_for(const std::string& identity) const;
  void take(const std::string& identity);
  void give_back(const std::string& identity);

  // Why there was no place for this client, and what helps.
  [[nodiscard]] std::string why_none(const std::string& identity) const;
  // Logs that a call of this client begins to wait for a place.
  void note_waiting(const std::string& identity);

 private:
  [[nodiscard]] size_t all() const { return services_.config.pool.parked; }
  [[nodiscard]] size_t share() const;
  [[nodiscard]] size_t taken_by(const std::string& identity) const;

  const pool::PoolServices& services_;
  const bool has_principals_;
  size_t taken_ = 0;
  std::map<std::string, size_t> holders_;  // by identity; never zero
  RateLimit warnings_{1};
};

// A round of a trip, and its end.
struct TripRound {
  uint64_t trip = 0;
  uint64_t round = 0;
  TimePoint expires{};
};

// TripStates: makes and opens the states that clients of parked calls keep, see RoundTrips.
//
// A state is sealed over a number of this instance, the trip, its round and its end. Principal and
// request are the context of the seal: in another context the state does not open. Owner:
// RoundTrips.
class TripStates {
 public:
  explicit TripStates(const pool::PoolServices& services) : services_(services) {}

  std::string issue(const TripRound& round, std::string_view identity, std::string_view essence);
  // Nothing: the state was not issued here for this identity and request.
  [[nodiscard]] std::optional<TripRound> open(std::string_view state, std::string_view identity,
                                              std::string_view essence) const;

 private:
  [[nodiscard]] std::string context_of(std::string_view identity, std::string_view essence) const;

  const pool::PoolServices& services_;
  std::optional<uint64_t> instance_;  // tells it from other instances with the same keys
};

// LostTrips: parked calls whose child has gone before their client came back, see RoundTrips.
//
// They have lost their place among the parked calls. Their reports are kept until their clients
// come back. Owner: RoundTrips. Limit: as many as may be parked, but at least kLeast. Beyond the
// limit the oldest is forgotten; its state then counts as expired.
class LostTrips {
 public:
  // The least limit. Lost trips leave their places to further parked calls, so even with few places
  // many trips may be lost.
  static constexpr size_t kLeast = 64;

  explicit LostTrips(size_t limit) : limit_(std::max(limit, kLeast)) {}

  void add(const TripRound& round, rpc::FaultReport report) {
    if (lost_.size() >= limit_) lost_.pop_front();
    lost_.push_back({round, std::move(report)});
  }
  // The report about the call that was parked for this round, which is told once; nothing: not
  // known.
  std::optional<rpc::FaultReport> take(const TripRound& round, TimePoint now);

 private:
  struct Lost {
    TripRound round;
    rpc::FaultReport report;
  };

  const size_t limit_;
  std::deque<Lost> lost_;  // oldest first
};

// TripParking: parks calls of trips, and lets them continue; see RoundTrips.
//
// Job: answer the client with the server's questions and a state, leave a stand-in in the place of
// the call, count taken places, and find the trip that a retry continues. Owner: RoundTrips.
// Limits: the limits of ParkedPlaces and LostTrips; the input timeout.
class TripParking {
 public:
  struct Terms {
    const Duration& input_timeout;  // may change
    bool has_principals = false;    // see BackendOptions
  };

  TripParking(const pool::PoolServices& services, pool::Pool& pool,
              backend::SessionRouter& sessions, const Terms& terms)
      : services_(services),
        pool_(pool),
        sessions_(sessions),
        chain_(services.chain),
        input_timeout_(terms.input_timeout),
        places_(services, terms.has_principals),
        states_(services),
        lost_(services.config.pool.parked),
        stand_ins_(services.calls.reserve<StandIn>()) {}

  [[nodiscard]] ParkedPlaces& places() { return places_; }
  [[nodiscard]] const ParkedPlaces& places() const { return places_; }

  // Answers the client of `call`, or of its stand-in, with these requests. Returns until when the
  // client may come back. Consequences of the answer come after the return.
  TimePoint begin(Trip& trip, const call::Call& call);
  void tell(const Trip& trip, const call::Call& call, std::span<const InputRequest> requests);
  // The call has no client from now on, until its client continues it.
  void leave_in_place(Trip& trip, call::Call& call);
  [[nodiscard]] bool is_left_in_place(const call::Call& call) const {
    return stand_ins_.find(call.slots) != nullptr;
  }
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

  // Ends a call whose state is not what the client was given.
  void refuse_state(call::CallPtr call) const;
  // Answers a question of the child with this member. Without effect if the question is over.
  void answer_ask(const Trip& trip, rpc::WireId ask, std::string_view member) const;
  // Refuses the open questions, because no client will answer them.
  void refuse_asks(Trip& trip) const;

 private:
  // Marks a call without a client.
  struct StandIn {};
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  backend::SessionRouter& sessions_;
  call::Chain& chain_;
  const Duration& input_timeout_;
  ParkedPlaces places_;
  TripStates states_;
  LostTrips lost_;
  const call::Slot<StandIn> stand_ins_;
};

}  // namespace stdgate::mcp
