// BoundCalls: calls that only one of the shared children may get (Route::is_bound), because they
// bring back something that this child has given out.
//
// Such a call goes to its child at once, even while other calls wait: those may go to other
// children. Child says how many bound calls a child takes; further ones wait at the child. If the
// child ends, its bound calls end too. Owner: the pool. Limits: the limits of the pool's queue,
// which count the messages in the queue and here together.
#pragma once

#include <cstddef>
#include <vector>

#include "gateway/pool/bridge.h"
#include "gateway/pool/children.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::pool {

class BoundCalls {
 public:
  // `queue`: the messages that wait for any shared child.
  BoundCalls(const PoolServices& services, Pool& pool, Bridge& bridge, const call::CallQueue& queue,
             const Children& children)
      : services_(services), pool_(pool), bridge_(bridge), queue_(queue), children_(children) {}

  // Like Pool::submit(), but for a bound message.
  tl::expected<void, rpc::FaultReport> submit(call::CallPtr& call, const call::Outgoing& message);
  // Its child has gone, or the call was written for children of another kind (Route::written_for).
  // Another child may get it, or it fails.
  void redirect(call::CallPtr call, const call::Outgoing& message);
  // Sends waiting messages while the child has room.
  void dispatch(Child& child);
  // The queue that holds this waiting call.
  static call::CallQueue& queue_of(const call::Call& waiting, const Children& children);
  // Whether one more message may wait, here or in the pool's queue.
  [[nodiscard]] bool has_room(size_t bytes) const;
  // Messages that wait here.
  [[nodiscard]] size_t size() const;
  [[nodiscard]] size_t bytes() const;

  // Takes the messages that waited for a child which has gone. tell_lost() ends their calls, once
  // the pool is consistent again.
  static std::vector<call::WaitingMessage> take_all(Child& child);
  void tell_lost(std::vector<call::WaitingMessage> messages);
  // Takes the waiting calls of all children.
  [[nodiscard]] std::vector<call::CallPtr> take_calls();

 private:
  const PoolServices& services_;
  Pool& pool_;
  Bridge& bridge_;
  const call::CallQueue& queue_;
  const Children& children_;
};

}  // namespace stdgate::pool
