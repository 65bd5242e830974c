#include "gateway/mcp/bridge/trip_states.h"

#include <array>
#include <cstring>

namespace stdgate::mcp {

namespace {

constexpr std::string_view kPurpose = "stdgate request state";

using Numbers = std::array<uint64_t, 4>;  // instance, trip, round, end

}  // namespace

std::string TripStates::issue(const TripRound& round, std::string_view identity,
                              std::string_view essence) {
  if (!instance_) instance_ = services_.core.random();
  const auto end = static_cast<uint64_t>(round.expires.time_since_epoch().count());
  const Numbers numbers{*instance_, round.trip, round.round, end};
  const std::string_view plain(reinterpret_cast<const char*>(numbers.data()), sizeof(numbers));
  return services_.core.states->seal(plain, context_of(identity, essence));
}

std::optional<TripRound> TripStates::open(std::string_view state, std::string_view identity,
                                          std::string_view essence) const {
  const auto plain = services_.core.states->open(state, context_of(identity, essence));
  Numbers numbers{};
  if (!plain || plain->size() != sizeof(numbers)) return std::nullopt;
  std::memcpy(numbers.data(), plain->data(), sizeof(numbers));
  if (numbers[0] != instance_) return std::nullopt;
  return TripRound{numbers[1], numbers[2],
                   TimePoint(Duration(static_cast<Duration::rep>(numbers[3])))};
}

std::string TripStates::context_of(std::string_view identity, std::string_view essence) const {
  std::string context(kPurpose);
  for (const std::string_view part : {std::string_view(services_.config.name), identity, essence}) {
    context.append(1, '\0').append(std::to_string(part.size())).append(1, ':').append(part);
  }
  return context;
}

}  // namespace stdgate::mcp
