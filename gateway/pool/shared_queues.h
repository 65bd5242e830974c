// SharedQueues: messages that wait for children that clients share.
//
// Most calls wait for any child that has room. Where one process serves all calls of a principal,
// some calls take turns: calls during which the process may ask their client something. They wait
// here until no other such call is under way. Owner: the pool. Limits: for each queue the limits of
// a CallQueue.
#pragma once

#include "gateway/call/call_queue.h"

namespace stdgate::pool {

struct SharedQueues {
  // `held`: see CallQueue.
  SharedQueues(const config::BackendConfig& config, HeldBytes* held)
      : calls(config.pool, held), turns(config.pool, held), has_turns(config.serves_one) {}

  // Whether the call waits for its turn. A call that has got its turn has a session.
  [[nodiscard]] bool takes_turns(const call::Call& call) const {
    return has_turns && call.alone && call.session.is_none();
  }
  [[nodiscard]] call::CallQueue& of(const call::Call& call) {
    return takes_turns(call) ? turns : calls;
  }
  [[nodiscard]] bool empty() const { return calls.empty() && turns.empty(); }
  [[nodiscard]] size_t size() const { return calls.size() + turns.size(); }
  // How many messages a child could be given now.
  [[nodiscard]] size_t wanting() const {
    return calls.size() + (!is_turn_taken && !turns.empty() ? 1 : 0);
  }

  call::CallQueue calls;
  call::CallQueue turns;
  const bool has_turns;
  bool is_turn_taken = false;
};

}  // namespace stdgate::pool
