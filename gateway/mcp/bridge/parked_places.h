// ParkedPlaces: how many calls of a backend may be parked, see RoundTrips, and who has the places.
//
// One principal has half of them at most, so that some are left for others. All anonymous clients
// together count as one client, because one address may stand for many, but only where there are
// principals. Owner: RoundTrips. Limit: config.pool.parked.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "gateway/base/rate_limit.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::mcp {

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

}  // namespace stdgate::mcp
