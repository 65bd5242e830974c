// TripQuestions: turns requests of the children of trips into questions for their clients; see
// RoundTrips.
//
// Job: judge each request of a child by what the client of its call has declared, and add it to the
// trip, as a question or as one to be refused. Where one child serves all calls of a principal,
// questions before the first call are kept for the first client that may be asked. Owner:
// RoundTrips. Limits: config.limits.message bytes of questions of one trip.
#pragma once

#include <cstdint>
#include <string_view>

#include "gateway/backend/session_router.h"
#include "gateway/mcp/bridge/round_trip.h"
#include "gateway/mcp/mcp_input.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::mcp {

class TripQuestions {
 public:
  TripQuestions(const pool::PoolServices& services, const backend::SessionRouter& sessions)
      : services_(services), sessions_(sessions) {}

  // A message of the trip's child. Returns whether it asks something.
  bool take(Trip& trip, std::string_view text);
  // The call of the trip has begun: takes the questions that its child asked before.
  void take_first(Trip& trip);
  // Adds a demand in a child's error (InputRuling::value).
  void add_demand(Trip& trip, std::string value) {
    trip.demands.push_back({next_key(), std::move(value)});
  }

 private:
  std::string next_key() { return std::string(Trip::kOwnKey) + std::to_string(++keys_); }
  bool add(Trip& trip, rpc::WireId ask, const rpc::Envelope& request, std::string_view method);

  const pool::PoolServices& services_;
  const backend::SessionRouter& sessions_;
  uint64_t keys_ = 0;
};

}  // namespace stdgate::mcp
