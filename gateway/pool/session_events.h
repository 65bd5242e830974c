// SessionEvents: what a pool reports about the sessions that it serves: whether their messages are
// taken, and whether each has a child.
//
// The pool is consistent before each call, since the implementation may call back. Implemented by
// SessionRouter; owner: the backend.
#pragma once

#include <span>
#include <string_view>

#include "gateway/observer.h"
#include "gateway/session/session_sink.h"

namespace stdgate::pool {

class Child;

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
