#include "gateway/mcp/bridge/parked_places.h"

#include <algorithm>

#include "gateway/base/check.h"

namespace stdgate::mcp {

size_t ParkedPlaces::share() const { return std::max<size_t>(1, all() / 2); }

size_t ParkedPlaces::taken_by(const std::string& identity) const {
  const auto found = holders_.find(identity);
  return found == holders_.end() ? 0 : found->second;
}

bool ParkedPlaces::has_one_for(const std::string& identity) const {
  if (taken_ >= all()) return false;
  return (identity.empty() && !has_principals_) || taken_by(identity) < share();
}

void ParkedPlaces::take(const std::string& identity) {
  ++taken_;
  ++holders_[identity];
}

void ParkedPlaces::give_back(const std::string& identity) {
  const auto found = holders_.find(identity);
  STDGATE_CHECK(found != holders_.end());
  --taken_;
  if (--found->second == 0) holders_.erase(found);
}

std::string ParkedPlaces::why_none(const std::string& identity) const {
  const auto of = [](size_t some, size_t most) {
    return std::to_string(some) + " of " + std::to_string(most);
  };
  const std::string why =
      taken_ >= all() ? of(taken_, all()) + " places of parked calls are taken"
                      : (identity.empty() ? "anonymous clients have " : "this client has ") +
                            of(taken_by(identity), share()) + " places of parked calls";
  return why + "; raise backends." + services_.config.name + ".pool.parked";
}

void ParkedPlaces::note_waiting(const std::string& identity) {
  if (!warnings_.allow(services_.core.clock.now())) return;
  services_.core.log.write(LogLevel::warn, "calls wait for places of parked calls",
                           {{"backend", services_.config.name},
                            {"why", why_none(identity)},
                            {"suppressed", warnings_.take_suppressed()}});
}

}  // namespace stdgate::mcp
