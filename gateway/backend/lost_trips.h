// LostTrips: parked calls whose child has gone before their client came back, see RoundTrips.
//
// They have no place among the parked ones any more; what their client has to hear is kept until it
// does. Owner: RoundTrips. Limit: as many as may be parked, but kLeast at least; of more the oldest
// is forgotten, and its state is then as one that has expired.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "gateway/backend/trip_states.h"
#include "gateway/rpc/fault.h"

namespace stdgate::backend {

class LostTrips {
 public:
  // The next call is parked in the place of a lost one: with few places few clients would hear.
  static constexpr size_t kLeast = 64;

  explicit LostTrips(size_t limit) : limit_(std::max(limit, kLeast)) {}

  void add(const TripRound& round, rpc::FaultReport report) {
    if (lost_.size() >= limit_) lost_.pop_front();
    lost_.push_back({round, std::move(report)});
  }
  // What became of the call that was parked for this round, which is told once; nothing: it is not
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
  std::deque<Lost> lost_;  // the oldest first
};

}  // namespace stdgate::backend
