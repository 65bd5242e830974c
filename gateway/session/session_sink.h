// SessionSink: the client of a session, as the core sees it. Implemented by transports and by
// the sessions of protocols.
//
// All calls come on the loop's thread, possibly from within a call of the transport into the core.
// Implementations must not call back into the core; they defer such work to the end of the turn.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/base/log.h"
#include "gateway/rpc/fault.h"
#include "gateway/session/reply_sink.h"

namespace stdgate::session {

using SessionId = Handle;

// Why a session has ended, although its client has not ended it.
enum class SessionEnd : uint8_t {
  finished,  // the child exited with code 0 by itself, without calls in flight
  failed,    // any other end of the child; calls in flight have had their faults
  denied,    // the client may have no session any more
  replaced,  // the configuration has removed or replaced the backend
};

// The connection that a session's client has open.
enum class ClientHold : uint8_t {
  nothing,
  stream,      // a stream that it has opened to listen; it can open another one
  connection,  // a connection that is the session
};

// The result of asking a session to give up its child for a while.
enum class Parking : uint8_t {
  parked,
  at_work,  // calls are under way
  refused,  // the session needs this child
};

// How a session began in another process.
struct Beginning {
  std::string_view greeting;    // params
  std::string_view revision{};  // the agreed revision, a text for good; empty: not known
  Duration age{0};              // since the session began
};

class SessionSink : public ReplySink {
 public:
  // A notification or a request of a child, in the order of the child's output. The message is the
  // concatenation of `parts`, on one line, valid during the call. `call`: the call of a
  // notification, if the message names it.
  virtual void on_message(std::optional<Tag> call, std::span<const std::string_view> parts) = 0;
  // Whether a request of a child would reach the client, now or in a moment. Only called when there
  // is a request, because the wait begins with it.
  [[nodiscard]] virtual bool awaits_requests() { return true; }
  [[nodiscard]] virtual ClientHold hold() const { return ClientHold::connection; }
  // How log and audit name the session; none: the core gives it a name.
  [[nodiscard]] virtual SessionName name() const { return {}; }
  // Whether the core takes messages of this client. While it does not, the transport has to stop
  // reading. Further messages are queued as far as there is room, then refused.
  virtual void set_reading(bool reading) = 0;
  // No more messages come, and the session has to be closed. `message`: for the client.
  virtual void on_session_end(SessionEnd end, std::string_view message) = 0;
};

}  // namespace stdgate::session
