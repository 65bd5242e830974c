// SessionEvents: what a pool tells of the sessions that it serves: whether their messages are
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
  // at a quarter. No session: all that share children.
  virtual void on_reading(session::SessionId session, bool reading) = 0;
  // The session has got this child to itself.
  virtual void on_session_served(session::SessionId session, Child& child) = 0;
  // The session has no child any more, and gets another one with its next message.
  virtual void on_session_parked(session::SessionId session, ParkReason reason) = 0;
  // A message of a session without a child has come: it is to get one.
  virtual void on_session_waking(session::SessionId session) = 0;
  // It has got the first child of its life.
  virtual void on_session_begun(session::SessionId session) = 0;
  // It has got one and its messages follow; or it has none again (`failed`), and
  // on_session_parked() follows; or the session is over. `notices` are for the client.
  virtual void on_session_revived(session::SessionId session, RevivalOutcome outcome,
                                  Duration since_request,
                                  std::span<const std::string_view> notices) = 0;
  // What keeps the session's client connected.
  [[nodiscard]] virtual session::ClientHold hold_of(session::SessionId session) const = 0;
  // Whether the session's new child is to wait with its calls: it has asked something first.
  [[nodiscard]] virtual bool holds_calls(session::SessionId session) const = 0;
  // Whether the child with this number waits for an answer of the session's client; without a
  // session: of any client.
  [[nodiscard]] virtual bool awaits_answer(uint64_t child, session::SessionId session) const = 0;
  // The session's own child has gone, or could not be started. Its calls have been answered.
  virtual void on_session_end(session::SessionId session, session::SessionEnd end,
                              std::string_view message) = 0;
};

}  // namespace stdgate::pool
