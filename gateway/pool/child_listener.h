// ChildListener: receives the requests and notifications of children, and decides which clients get
// them.
//
// Called by children and the pool. A child is valid during the call and consistent before it, since
// the implementation may call back. Implemented by SessionDelivery, and by ChainListener above it,
// which has filters look first. Owner: the backend.
//
// ChildOwner: hears of a child's state and of its answers.
#pragma once

#include <cstdint>
#include <string_view>

#include "gateway/base/time.h"
#include "gateway/call/call_store.h"
#include "gateway/pool/child_end.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::pool {

class Child;

class ChildListener {
 public:
  virtual ~ChildListener() = default;
  // A notification that belongs to `call`; `progress_token` is its place in notification.text.
  virtual void on_event(const call::Call& call, const rpc::Envelope& notification,
                        TextPlace progress_token) = 0;
  // A notification that belongs to no call, or a request. `method` is decoded.
  virtual void on_notification(Child& child, const rpc::Envelope& notification,
                               std::string_view method) = 0;
  virtual void on_request(Child& child, const rpc::Envelope& request, std::string_view method) = 0;

  // Whether the child with this number may be given the call now, see Filter::admits().
  [[nodiscard]] virtual bool admits(const call::Call& call, uint64_t child) = 0;
  // A shared child may have room for a request of the gateway's own: see Pool::can_ask().
  virtual void on_spare_room(Child& child) = 0;
  // The child with this number says no more, and takes no more messages.
  virtual void on_child_gone(const Child& child) = 0;
  // Until when clients need the child, even while no call is in flight. kNotNeeded: they do not
  // need it. max(): the end is not known yet; a later event will tell it.
  static constexpr TimePoint kNotNeeded = TimePoint::min();
  [[nodiscard]] virtual TimePoint needed_until(uint64_t child) const = 0;
  // Until when the child has work that no other child can take over. See needed_until().
  [[nodiscard]] virtual TimePoint works_until(uint64_t child) const = 0;
  // Nothing but calls that listen keeps the only child. True: these were the gateway's own, and
  // have been ended, so the server may sleep.
  virtual bool let_sleep(const Child& /*child*/) { return false; }
};

// Called by a child from the outermost level of the loop. Implementations must not destroy the
// child inside these calls.
class ChildOwner {
 public:
  virtual ~ChildOwner() = default;
  virtual void on_child_ready(Child& child) = 0;
  // The call has left the child's table.
  virtual void on_child_answer(Child& child, call::CallPtr call, const rpc::Envelope& answer) = 0;
  // The child's answer to `call` makes no sense.
  virtual void on_child_broken_answer(Child& child, call::CallPtr call,
                                      const rpc::FaultReport& report) = 0;
  // The child has answered a request of the gateway's own; null: the answer makes no sense. The
  // request has left the child's table.
  virtual void on_child_own_answer(Child& child, rpc::WireId id, const rpc::Envelope* answer) = 0;
  // The child has ended what the call listens to. The call has left the child's table.
  virtual void on_child_ended_listening(Child& child, call::CallPtr call) = 0;
  // The child may have room again.
  virtual void on_child_writable(Child& child) = 0;
  // The memory of the child has been measured.
  virtual void on_child_memory(Child& child) = 0;
  // The last call for a child. The child's calls are still in its table: see take_calls().
  virtual void on_child_gone(Child& child, const ChildEnd& end) = 0;
};

}  // namespace stdgate::pool
