#include "gateway/pool/kept_places.h"

#include <algorithm>

namespace stdgate::pool {

uint32_t KeptPlaces::all() const {
  const config::PoolConfig& pool = services_.config.pool;
  return std::min(is_shared() ? std::max(pool.min, 1U) : services_.config.kept_for_calls(),
                  pool.max);
}

bool KeptPlaces::is_lending() const {
  if (is_shared() || !queues_.empty()) return false;
  if (last_call_ && now() - *last_call_ < services_.config.pool.idle_timeout) return false;
  return std::ranges::none_of(children_, [](const auto& child) {
    return child->isolation() == config::Isolation::shared && child->load() > 0;
  });
}

std::optional<TimePoint> KeptPlaces::lends_at() const {
  if (is_shared() || all() == 0 || !last_call_) return std::nullopt;
  const TimePoint due = *last_call_ + services_.config.pool.idle_timeout;
  return due > now() ? std::optional(due) : std::nullopt;
}

std::string KeptPlaces::shortage(uint32_t places) const {
  const config::BackendConfig& config = services_.config;
  const std::string number = std::to_string(places);
  std::string text = number + " of " + number;
  text += config.gives_way() ? " sessions are at work" : " children have a session";
  if (const uint32_t kept = unlent(); kept > 0) {
    text += ", and " + std::to_string(kept) + " of " + std::to_string(config.pool.max) +
            " children kept for calls without a session (pool.min)";
  }
  return text + "; raise backends." + config.name +
         ".pool.max; the reload replaces all its processes";
}

}  // namespace stdgate::pool
