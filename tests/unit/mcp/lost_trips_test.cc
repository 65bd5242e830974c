#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "gateway/mcp/bridge/trip_parking.h"

namespace stdgate::mcp {
namespace {

constexpr TimePoint kNow{std::chrono::seconds(100)};

TripRound lost(uint64_t trip) { return {trip, 1, kNow + std::chrono::seconds(1)}; }

// Few calls may be parked at a time, but their places pass on as soon as their child has gone.
TEST(LostTrips, AreKeptForSomeClientsWhateverTheirLimit) {
  LostTrips trips(1);
  for (uint64_t trip = 0; trip < LostTrips::kLeast; ++trip) {
    trips.add(lost(trip), rpc::faults::child_failed("gone"));
  }
  EXPECT_TRUE(trips.take(lost(0), kNow).has_value());
  EXPECT_FALSE(trips.take(lost(0), kNow).has_value()) << "told once";
  for (const uint64_t trip : {1000, 1001}) trips.add(lost(trip), rpc::faults::child_failed("gone"));
  EXPECT_FALSE(trips.take(lost(1), kNow).has_value()) << "the oldest is forgotten";
  EXPECT_TRUE(trips.take(lost(2), kNow).has_value());
}

TEST(LostTrips, AreKeptUntilTheirStatesEnd) {
  LostTrips trips(1);
  trips.add(lost(1), rpc::faults::child_failed("gone"));
  EXPECT_FALSE(trips.take(lost(1), lost(1).expires).has_value());
}

}  // namespace
}  // namespace stdgate::mcp
