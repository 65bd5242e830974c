// PlaceShortage: how many places the sessions of a backend lack when they take turns.
//
// Sessions take turns when one comes back soon after another one has got its place. Each turn costs
// what the child has kept in memory. Writes log lines about the shortage, and remembers it for
// reports. Owner: SessionLane.
// what its child has kept. Says so in the log, and remembers it for reports. Owner: SessionLane.
#pragma once

#include <cstddef>

#include "gateway/base/time.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::pool {

class PlaceShortage {
 public:
  // A session that comes back within this time has not been idle.
  static constexpr Duration kTurn = std::chrono::minutes(1);
  static constexpr Duration kRemembered = std::chrono::minutes(5);
  // Time between two log lines, unless more places are missing than the last line said.
  static constexpr Duration kToldEvery = std::chrono::minutes(10);

  explicit PlaceShortage(const PoolServices& services) : services_(services) {}

  // A session has come back within kTurn, while `at_work` sessions have been at work.
  void note(size_t at_work, size_t places);
  // How many more places the sessions would have needed of late.
  [[nodiscard]] size_t missing() const;

 private:
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const PoolServices& services_;
  size_t missing_ = 0;
  TimePoint seen_{};  // when places were missing last
  size_t told_ = 0;   // missing places in the last log line
  TimePoint told_at_{};
};

}  // namespace stdgate::pool
