// BoundCalls: calls that only one of the shared children may get (Route::is_bound), as it has
// given out what they bring back.
//
// Such a call goes to its child at once, whatever others wait for, as those may go elsewhere: see
// Child for how many. Further ones wait at the child. They are over when it is not there any more.
// Owner: the pool. Limits: those of the pool's queue, together with what waits there.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "gateway/pool/children.h"
#include "gateway/pool/pool_events.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::pool {

class BoundCalls {
 public:
  // Gives a call to a child that has room for it.
  using Give = std::function<void(Child& child, call::CallPtr call, const call::Outgoing& message)>;

  // `queue`: what waits for any child.
  BoundCalls(const PoolServices& services, PoolEvents& events, const call::CallQueue& queue,
             const Children& children, Give give)
      : services_(services),
        events_(events),
        queue_(queue),
        children_(children),
        give_(std::move(give)) {}

  // As Pool::submit(), of a message that is bound.
  tl::expected<void, rpc::FaultReport> submit(call::CallPtr& call, const call::Outgoing& message);
  // Sends what waits for the child, as far as it takes any.
  void dispatch(Child& child);
  // The queue in which this call waits.
  static call::CallQueue& queue_of(const call::Call& waiting, const Children& children);
  // Whether one more message may wait, for one child or for any.
  [[nodiscard]] bool has_room(size_t bytes) const;
  // Those that wait.
  [[nodiscard]] size_t size() const;
  [[nodiscard]] size_t bytes() const;

  // What waits for the child, which has gone, is told so once everything is in order.
  static std::vector<call::WaitingMessage> take_all(Child& child);
  void tell_lost(std::vector<call::WaitingMessage> messages);
  // All of them, of all children.
  [[nodiscard]] std::vector<call::CallPtr> take_calls();

 private:
  const PoolServices& services_;
  PoolEvents& events_;
  const call::CallQueue& queue_;
  const Children& children_;
  const Give give_;
};

}  // namespace stdgate::pool
