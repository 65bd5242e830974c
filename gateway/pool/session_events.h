// SessionEvents: what a pool tells of the sessions that it serves: whether their messages are taken,
// and that the child of one has gone.
//
// The pool is consistent before each call, since the implementation may call back. Implemented by
// SessionRouter; owner: the backend.
#pragma once

#include <string_view>

#include "gateway/session/session_sink.h"

namespace stdgate::pool {

class SessionEvents {
 public:
  virtual ~SessionEvents() = default;
  // Whether a session's messages are taken: false when its queue has become half full, true again
  // at a quarter. No session: all that share children.
  virtual void on_reading(session::SessionId session, bool reading) = 0;
  // The session's own child has gone, or could not be started. Its calls have been answered.
  virtual void on_session_end(session::SessionId session, session::SessionEnd end,
                              std::string_view message) = 0;
};

}  // namespace stdgate::pool
