// TripStates: makes and opens the states that clients of parked calls keep, see RoundTrips.
//
// A state is sealed over a number of this instance, the trip, its round and its end. Principal and
// request are the context of the seal: in another context the state does not open. Owner:
// RoundTrips.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/time.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::mcp {

// A round of a trip, and its end.
struct TripRound {
  uint64_t trip = 0;
  uint64_t round = 0;
  TimePoint expires{};
};

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

}  // namespace stdgate::mcp
