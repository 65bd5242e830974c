// What a pool and its children tell their backend: ChildMessages, ChildListener and SessionEvents.
// Calls end in the chain.
//
// Pool and child are consistent before each call, since the implementation may call back.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "gateway/base/text.h"
#include "gateway/base/time.h"
#include "gateway/call/call_store.h"
#include "gateway/observer.h"
#include "gateway/pool/child_facts.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/fault.h"
#include "gateway/session/sinks.h"

namespace stdgate::pool {

class Child;

// ChildMessages: receives the requests and notifications of children, and decides which clients get
// them. Implemented by SessionDelivery, and by ChainListener above it, which has filters look
// first. A child is valid during the call.
class ChildMessages {
 public:
  virtual ~ChildMessages() = default;
  // A notification that belongs to `call`; `progress_token` is its place in notification.text.
  virtual void on_event(const call::Call& call, const rpc::Envelope& notification,
                        TextPlace progress_token) = 0;
  // A notification that belongs to no call, or a request. `method` is decoded.
  virtual void on_notification(Child& child, const rpc::Envelope& notification,
                               std::string_view method) = 0;
  virtual void on_request(Child& child, const rpc::Envelope& request, std::string_view method) = 0;
};

// ChildListener: hears everything about children, and knows how long they are needed. Implemented
// by ChainListener.
class ChildListener : public ChildMessages {
 public:
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

// SessionEvents: what a pool reports about the sessions that it serves: whether their messages are
// taken, and whether each has a child. Implemented by SessionRouter.
class SessionEvents {
 public:
  virtual ~SessionEvents() = default;
  // Whether a session's messages are taken: false when its queue has become half full, true again
  // at a quarter. No session: all sessions that share children.
  virtual void on_reading(session::SessionId session, bool reading) = 0;
  // The session has got this child for itself.
  virtual void on_session_served(session::SessionId session, Child& child) = 0;
  // The session has lost its child, and gets another one with its next message.
  virtual void on_session_parked(session::SessionId session, ParkReason reason) = 0;
  // A session without a child has got a message, so it is to get a child.
  virtual void on_session_waking(session::SessionId session) = 0;
  // The session has got the first child of its life.
  virtual void on_session_begun(session::SessionId session) = 0;
  // The waking session has got a child, and its messages follow; or it has none again (`failed`),
  // and on_session_parked() follows; or it is over. `notices` are for the client.
  virtual void on_session_revived(session::SessionId session, RevivalOutcome outcome,
                                  Duration since_request,
                                  std::span<const std::string_view> notices) = 0;
  // The connection or stream that keeps the session's client connected.
  [[nodiscard]] virtual session::ClientHold hold_of(session::SessionId session) const = 0;
  // Whether the session's new child has asked something first, so that its calls have to wait.
  [[nodiscard]] virtual bool holds_calls(session::SessionId session) const = 0;
  // Whether the child with this number waits for an answer of the session's client; without a
  // session: of any client.
  [[nodiscard]] virtual bool awaits_answer(uint64_t child, session::SessionId session) const = 0;
  // The session's own child has gone, or could not be started. The session's calls have been
  // answered.
  virtual void on_session_end(session::SessionId session, session::SessionEnd end,
                              std::string_view message) = 0;
};

}  // namespace stdgate::pool
