// ChildListener: receives the requests and notifications of children, and decides which clients get
// them.
//
// Called by children and the pool. A child is valid during the call and consistent before it, since
// the implementation may call back. Implemented by SessionDelivery, and by ChainListener above it,
// which has filters look first. Owner: the backend.
#pragma once

#include <cstdint>
#include <string_view>

#include "gateway/base/time.h"
#include "gateway/call/call_store.h"
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
  // The session's new child has answered the gateway's greeting with these params, which repeats
  // the greeting of the session's client.
  virtual void on_greeted_again(std::string_view /*params*/, const rpc::Envelope& /*answer*/) {}
  // Nothing but calls that listen keeps the only child. True: these were the gateway's own, and
  // have been ended, so the server may sleep.
  virtual bool let_sleep(const Child& /*child*/) { return false; }
};

}  // namespace stdgate::pool
