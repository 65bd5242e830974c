// SessionKeeper: keeps sessions whose client may lose its connection and come back on another one.
//
// Implemented by acp::AcpConnections. Known to the connections that carry such a session by its id
// alone: the session may end before they do. Nothing here is called from within a call of the core.
#pragma once

#include <string_view>
#include <tl/expected.hpp>

#include "gateway/rpc/fault.h"
#include "gateway/session/session_sink.h"

namespace stdgate::session {

class SessionKeeper {
 public:
  virtual ~SessionKeeper() = default;

  struct Kept {
    SessionId session;
    Caller caller;  // of its calls
  };
  // `client` hears the session from now on, in the place of who did before. Until replay() it is
  // told nothing. It is told of the session's end, and detached before it goes.
  virtual tl::expected<Kept, rpc::FaultReport> attach(std::string_view id, SessionSink& client) = 0;
  // Tells it what it has missed.
  virtual void replay(std::string_view id, SessionSink& client) = 0;
  // It has answered the request with this id (raw JSON), which is not told again.
  virtual void note_answer(std::string_view id, std::string_view request) = 0;
  // Without effect if another one has taken its place.
  virtual void detach(std::string_view id, SessionSink& client) = 0;
};

}  // namespace stdgate::session
