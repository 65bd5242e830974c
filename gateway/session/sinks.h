// The clients of the core, as it sees them: the sinks of replies, of sessions, and of events over
// HTTP.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "gateway/base/log.h"
#include "gateway/base/slot_map.h"
#include "gateway/base/time.h"
#include "gateway/observer.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/fault.h"

namespace stdgate::session {

// One event of a stream (WHATWG HTML, section 9.2.6).
struct StreamEvent {
  std::string_view name{};                   // of the event; empty: omitted, which means "message"
  std::string_view id{};                     // empty: none
  unsigned retry_ms = 0;                     // zero: omitted
  std::span<const std::string_view> data{};  // the concatenation, on one line; may be nothing
};

// EventSink: the response to one HTTP request of a session, as the core sees it: one JSON document,
// or a stream of events. Implemented by transports/http.
//
// The sink of a response that is over is never called again: the side that ends it forgets it
// first.
class EventSink {
 public:
  virtual ~EventSink() = default;
  // The whole response: a JSON document. Ends it.
  virtual void respond(std::span<const std::string_view> json) = 0;
  // Like respond(), but for a client that needs these scopes, with spaces between them.
  virtual void respond_scope(std::span<const std::string_view> json, std::string_view scope) = 0;
  // Makes the response a stream; may be called again.
  virtual void begin_stream() = 0;
  // These functions make the response a stream if begin_stream() has not done so.
  virtual void write_event(const StreamEvent& event) = 0;
  virtual void end_stream() = 0;
  // Whether so much is unsent that the source should wait, if it can.
  [[nodiscard]] virtual bool is_backed_up() const = 0;
};

// EventSources: the sessions that write to EventSinks, by the ids that their clients know. Either
// may end first, so a sink knows no more of its session than the id. Implemented by the sessions of
// protocols.
class EventSources {
 public:
  virtual ~EventSources() = default;
  // Whether the session with this id is over, even if it has not been closed yet.
  [[nodiscard]] virtual bool has_ended(std::string_view id) const = 0;
  // The client of a response has gone, or has taken what was unsent. Without effect if the session
  // is over.
  virtual void detach(std::string_view id, EventSink& sink) const = 0;
  virtual void on_sink_writable(std::string_view id) const = 0;
};

// Caller: the handle of a ReplySink in Callers. Tag: a number that the sink has given to its call.
using Caller = Handle;
using Tag = uint64_t;

// One response. Its text is the concatenation head + id + tail; the views are valid during the
// call.
struct Reply {
  std::string_view head;
  std::string_view id;  // the client's own bytes
  std::string_view tail;
  std::optional<rpc::Fault> fault;  // set: the gateway's own answer, not a child's
  Duration retry_after{0};          // with fault: a hint for Retry-After, zero for none
  std::string_view scope{};         // with insufficient_scope: see FaultReport
  // The code of an error, if the transport tells it besides, as an HTTP status.
  std::optional<int64_t> error_code{};
  // The child's answer under its own id; head and tail are parts of it. Null: the text is of the
  // gateway, or was changed.
  const rpc::Envelope* whole = nullptr;
  Outcome outcome = Outcome::ok();  // of `whole`
  [[nodiscard]] size_t size() const { return head.size() + id.size() + tail.size(); }
};

// ReplySink: where the answers of calls go. Implemented by transports (a connection, a stream).
//
// The core holds no pointer to a sink across turns. A call keeps a Caller and a Tag.
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  // Called exactly once for each request that was given to the core, unless its caller was
  // withdrawn before. May be called before the call that handed the request over returns.
  virtual void on_reply(Tag tag, const Reply& reply) = 0;
  // A notification that belongs to the call, before its reply. Only if the request asked for it.
  virtual void on_event(Tag tag, std::string_view notification) = 0;
  // In place of on_reply(): the client itself has cancelled the call, in a protocol that does not
  // answer cancelled calls.
  virtual void on_cancelled(Tag tag) = 0;
};

// Callers: the sinks of all callers, by handle. Owner: the worker; outlives all sinks and pools.
// Limit: `capacity` sinks.
class Callers {
 public:
  explicit Callers(size_t capacity) : sinks_(capacity) {}

  // Nothing when the table is full.
  std::optional<Caller> add(ReplySink& sink) {
    const auto caller = sinks_.acquire();
    if (caller) *sinks_.find(*caller) = &sink;
    return caller;
  }
  void remove(Caller caller) { sinks_.release(caller); }
  void raise_capacity(size_t capacity) { sinks_.raise_capacity(capacity); }
  [[nodiscard]] size_t size() const { return sinks_.size(); }
  [[nodiscard]] size_t capacity() const { return sinks_.capacity(); }
  [[nodiscard]] bool is_full() const { return size() >= capacity(); }
  ReplySink* find(Caller caller) {
    ReplySink** sink = sinks_.find(caller);
    return sink == nullptr ? nullptr : *sink;
  }

  // The caller of what the gateway asks in its own name, which has no sink. No entry in the table
  // has this index.
  static constexpr Caller kGateway{Handle::kNone - 1, 0};

 private:
  SlotMap<ReplySink*> sinks_;
};

// CallerSlot: the place of one sink in Callers. The place is given back with this object at the
// latest. Owner: the object that the sink belongs to, which first has its calls withdrawn.
class CallerSlot {
 public:
  CallerSlot() = default;
  ~CallerSlot() { release(); }
  CallerSlot(const CallerSlot&) = delete;
  CallerSlot& operator=(const CallerSlot&) = delete;

  // Only while is_none(). False: the table is full.
  bool take(Callers& callers, ReplySink& sink) {
    caller_ = callers.add(sink).value_or(Caller());
    callers_ = &callers;
    return !is_none();
  }
  void release() {
    if (!is_none()) callers_->remove(std::exchange(caller_, Caller()));
  }
  [[nodiscard]] bool is_none() const { return caller_.is_none(); }
  [[nodiscard]] Caller caller() const { return caller_; }

 private:
  Callers* callers_ = nullptr;
  Caller caller_;
};

// The handle of a session in the core.
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

// SessionSink: the client of a session, as the core sees it. Implemented by transports and by the
// sessions of protocols.
//
// All calls come on the loop's thread, possibly from within a call of the transport into the core.
// Implementations must not call back into the core; they defer such work to the end of the turn.
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
