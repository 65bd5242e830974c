// LostTrips: parked calls whose child has gone before their client came back, see RoundTrips.
//
// They have lost their place among the parked calls. Their reports are kept until their clients
// come back. Owner: RoundTrips. Limit: as many as may be parked, but at least kLeast. Beyond the
// limit the oldest is forgotten; its state then counts as expired.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "gateway/mcp/bridge/trip_states.h"
#include "gateway/rpc/fault.h"

namespace stdgate::mcp {

class LostTrips {
 public:
  // A further call is parked in the place of a lost one, so the minimum matters where there are few
  // places.
  static constexpr size_t kLeast = 64;

  explicit LostTrips(size_t limit) : limit_(std::max(limit, kLeast)) {}

  void add(const TripRound& round, rpc::FaultReport report) {
    if (lost_.size() >= limit_) lost_.pop_front();
    lost_.push_back({round, std::move(report)});
  }
  // The report about the call that was parked for this round, which is told once; nothing: not
  // known.
  std::optional<rpc::FaultReport> take(const TripRound& round, TimePoint now) {
    const auto found = std::ranges::find_if(lost_, [&round](const Lost& lost) {
      return lost.round.trip == round.trip && lost.round.round == round.round;
    });
    if (found == lost_.end() || found->round.expires <= now) return std::nullopt;
    rpc::FaultReport report = std::move(found->report);
    lost_.erase(found);
    return report;
  }

 private:
  struct Lost {
    TripRound round;
    rpc::FaultReport report;
  };

  const size_t limit_;
  std::deque<Lost> lost_;  // oldest first
};

}  // namespace stdgate::mcp
