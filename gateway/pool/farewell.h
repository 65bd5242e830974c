// Farewell: asks a process to go as its protocol demands: by a shutdown request, and by a
// notification once that is answered or has not been answered for too long.
//
// Each step may take a third of config.pool.grace: the answer, the exit, and the signals that
// follow. Owner: the child.
#pragma once

#include <optional>

#include "gateway/base/timers.h"
#include "gateway/pool/child_input.h"
#include "gateway/pool/child_link.h"
#include "gateway/pool/pool_services.h"
#include "gateway/rpc/correlator.h"

namespace stdgate::pool {

class Farewell {
 public:
  Farewell(const PoolServices& services, ChildInput& input)
      : services_(services), input_(input), timer_(services.core.timers, [this] { finish(); }) {}

  // Sends the shutdown request with this id. False, and without effect: the protocol has none.
  bool begin(rpc::WireId id, ChildLink& link);
  // The request is not answered yet.
  [[nodiscard]] bool is_under_way() const { return request_.has_value(); }
  [[nodiscard]] bool is(rpc::WireId id) const { return request_ == id; }
  // The request was answered, in whatever way, or its time is over.
  void finish();
  // The process has gone.
  void stop() { timer_.disarm(); }

 private:
  const PoolServices& services_;
  ChildInput& input_;
  ChildLink* link_ = nullptr;           // from begin() on
  std::optional<rpc::WireId> request_;  // while it is not answered
  Timer timer_;
};

}  // namespace stdgate::pool
