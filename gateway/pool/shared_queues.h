// SharedQueues: what waits for children that clients share.
//
// Most calls wait for any child that has room. Where one process serves all calls of a principal,
// those during which it may ask their client something take turns at it: they wait here until no
// other one is under way. Owner: the pool. Limits: for each queue those of a CallQueue.
#pragma once

#include "gateway/call/call_queue.h"

namespace stdgate::pool {

struct SharedQueues {
  // `held`: see CallQueue.
  SharedQueues(const config::BackendConfig& config, HeldBytes* held)
      : calls(config.pool, held), turns(config.pool, held), has_turns(config.serves_one) {}

  // Whether it waits for its turn; it has got it when it has a session.
  [[nodiscard]] bool takes_turns(const call::Call& call) const {
    return has_turns && call.alone && call.session.is_none();
  }
  [[nodiscard]] call::CallQueue& of(const call::Call& call) {
    return takes_turns(call) ? turns : calls;
  }
  [[nodiscard]] bool empty() const { return calls.empty() && turns.empty(); }
  [[nodiscard]] size_t size() const { return calls.size() + turns.size(); }
  // How many messages a child could be given.
  [[nodiscard]] size_t wanting() const {
    return calls.size() + (!is_turn_taken && !turns.empty() ? 1 : 0);
  }

  call::CallQueue calls;
  call::CallQueue turns;
  const bool has_turns;
  bool is_turn_taken = false;
};

}  // namespace stdgate::pool
