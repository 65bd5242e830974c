// SessionSink: the client of a session, as the core sees it. Implemented by WebSocketConnection and
// McpSession.
//
// All calls come on the loop's thread, possibly from inside a call of the transport into the core.
// Implementations must not call back into the core; they defer such work to the end of the turn.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "gateway/base/session_name.h"
#include "gateway/session/reply_sink.h"

namespace stdgate::session {

using SessionId = Handle;

// Why a session has ended, though its client has not ended it.
enum class SessionEnd : uint8_t {
  finished,  // the child exited with code 0 by itself, nothing in flight
  failed,    // anything else; the calls in flight have had their faults
  denied,    // not from its child's side: its client may have no session any more
  replaced,  // nor is this: the configuration has no such backend any more, or another one
};

// The connection that a session's client has open.
enum class ClientHold : uint8_t {
  nothing,
  stream,      // that it has opened to listen; it can open another one
  connection,  // that is the session
};

// The result of asking a session to give up its child for a while.
enum class Parking : uint8_t {
  parked,
  at_work,  // not now
  refused,  // it needs this child
};

// How a session began in another process.
struct Beginning {
  std::string_view greeting;    // its params
  std::string_view revision{};  // that was agreed on, a text for good; empty: not known
  Duration age{0};              // since then
};

class SessionSink : public ReplySink {
 public:
  // A notification or a request of a child, in the order of the child's output. The message is the
  // concatenation of `parts`, on one line, valid during the call. `call`: the call that a
  // notification belongs to, if the message says so.
  virtual void on_message(std::optional<Tag> call, std::span<const std::string_view> parts) = 0;
  // Whether a request of a child would reach the client, now or in a moment. To be called only when
  // a request is there, as the wait begins with it.
  [[nodiscard]] virtual bool awaits_requests() { return true; }
  [[nodiscard]] virtual ClientHold hold() const { return ClientHold::connection; }
  // How log and audit name the session; none: the core gives it a name.
  [[nodiscard]] virtual SessionName name() const { return {}; }
  // Whether the core takes messages of this client. While it does not, the transport is to stop
  // reading; what it still hands over is queued as far as there is room, then refused.
  virtual void set_reading(bool reading) = 0;
  // Nothing more comes; the session is to be closed. `message` is for the client.
  virtual void on_session_end(SessionEnd end, std::string_view message) = 0;
};

}  // namespace stdgate::session
