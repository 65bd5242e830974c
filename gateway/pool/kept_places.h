// KeptPlaces: the places for children that sessions leave to calls without a session.
//
// Where sessions have children of their own, these are config.pool.min places. They are lent to
// sessions while there is no call without a session, and has been none for
// config.pool.idle_timeout. Owner: Children.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/pool/child.h"
#include "gateway/pool/leases.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::pool {

class KeptPlaces {
 public:
  // `queues`, `children`: of the pool.
  KeptPlaces(const PoolServices& services, const SharedQueues& queues,
             const std::vector<std::unique_ptr<Child>>& children)
      : services_(services), queues_(queues), children_(children) {}

  // The number of kept places, and how many of them are not lent at the moment.
  [[nodiscard]] uint32_t all() const;
  [[nodiscard]] uint32_t unlent() const { return is_lending() ? 0 : all(); }
  // When the kept places may be lent; nothing: no place is left to lend.
  [[nodiscard]] std::optional<TimePoint> lends_at() const;
  // A call without a session has come.
  void note_call(TimePoint arrived) { last_call_ = arrived; }
  // Why a session has no child, for its client: all `places` of sessions are taken.
  [[nodiscard]] std::string shortage(uint32_t places) const;

 private:
  [[nodiscard]] bool is_lending() const;
  [[nodiscard]] bool is_shared() const {
    return services_.config.isolation == config::Isolation::shared;
  }
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const PoolServices& services_;
  const SharedQueues& queues_;
  const std::vector<std::unique_ptr<Child>>& children_;
  std::optional<TimePoint> last_call_;  // nothing: there was none
};

}  // namespace stdgate::pool
