// Filter: a stage that looks at the calls of a backend on their way down to the children, and at
// the answers on their way up.
//
// A filter overrides the functions that it needs; the chain (chain.h) calls no others. A call
// passes to the next filter unless this one has taken it: to end it through the chain, or to keep
// it for later. A filter keeps its state of a call in a slot of the call (call.h). Filters do not
// know each other: the filters that follow see what a filter has changed. Owner: the backend.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/base/log.h"
#include "gateway/call/call_context.h"
#include "gateway/call/call_store.h"
#include "gateway/observer.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/message_text.h"
#include "gateway/session/sinks.h"

namespace stdgate::call {

// A call begins: a client has sent a message that has to be answered.
struct Arrival {
  const CallContext& context;
  const rpc::Envelope* message = nullptr;  // null: it could not be read
  std::string_view method{};               // decoded
  std::string_view tool{};                 // see ClientIntent
  bool is_refused = false;                 // because of its form: no filter gets it as a request
};

// A request on its way down. A filter that changes a request takes the call, and passes the changed
// request on (Chain::go_on).
struct Request {
  const rpc::Envelope& message;
  std::string_view method;  // decoded
  const ClientIntent& intent;
  const CallContext& context;
};

// A notification on its way down.
struct Notification {
  const rpc::Envelope& message;
  std::string_view method;  // decoded
  const CallContext& context;
  SessionName session;  // none: the notification stands alone
};
enum class Passage : uint8_t {
  open,
  denied,   // the client may not send it
  refused,  // there is no room for it at the moment
};

// An answer on its way up, as the filters below have left it.
struct Answer {
  const rpc::Envelope& message;  // of a child; without text: a kept result
  std::string_view payload;      // of the result or error, raw JSON; outlives the answer
  std::string_view tail{};       // replaces everything behind the id; empty: it does not
  Outcome outcome = Outcome::ok();
  uint64_t child = 0;  // number of the child that has answered
};

// A child, as filters know it.
struct ChildRef {
  uint64_t number = 0;
  std::optional<PeerKind> peer_kind{};
  bool is_shared = true;
  session::SessionId session{};  // the session that it is leased to; none: it is shared or warm
};

// A notification of a child, on its way up. A filter may replace it.
class ChildMessage {
 public:
  // `method` is decoded. `call`: the call that it belongs to; null: none is known.
  // `progress_token`: the place in its text of the token that names that call.
  ChildMessage(const rpc::Envelope& message, std::string_view method, const ChildRef& from,
               const Call* call = nullptr, TextPlace progress_token = {})
      : child_(from),
        method_(method),
        call_(call),
        progress_token_(progress_token),
        message_(&message) {}

  [[nodiscard]] const rpc::Envelope& message() const { return *message_; }
  [[nodiscard]] std::string_view method() const { return method_; }
  [[nodiscard]] const ChildRef& child() const { return child_; }
  [[nodiscard]] const Call* call() const { return call_; }
  [[nodiscard]] TextPlace progress_token() const { return progress_token_; }

  // `text`: a notification of the same method.
  void replace(std::string text) {
    text_ = std::move(text);
    message_ = &known_.emplace(text_).envelope();
  }
  void set_progress_token(TextPlace place) { progress_token_ = place; }

 private:
  const ChildRef child_;
  const std::string_view method_;
  const Call* const call_;
  TextPlace progress_token_;
  const rpc::Envelope* message_;
  std::string text_;
  std::optional<rpc::KnownMessage> known_;  // of `text_`; nothing: not replaced
};

// Claims that a child has given out and that clients may bring back.
struct ChildWork {
  size_t states = 0;  // of calls that wait for input of their clients
  size_t tasks = 0;
};

// The end of a call.
struct End {
  Outcome outcome = Outcome::ok();
  CallRecord* record = nullptr;           // for the observer; null: the call is not reported
  const session::Reply* reply = nullptr;  // null: there is no reply
};

class Filter {
 public:
  virtual ~Filter() = default;

  virtual void on_begin(Call& /*call*/, const Arrival& /*arrival*/) {}
  virtual void on_request(CallPtr& /*call*/, const Request& /*request*/) {}
  virtual Passage on_notification(const Notification& /*notification*/) { return Passage::open; }
  // The result of on_notification(), of whichever filter decided.
  virtual void on_notification_judged(const Notification& /*notification*/, Passage /*passage*/) {}
  virtual void on_answer(CallPtr& /*call*/, Answer& /*answer*/) {}
  // The call ends with a fault in place of an answer.
  virtual void on_fault(CallPtr& /*call*/, const rpc::FaultReport& /*report*/) {}
  // No child gets the request `text` as its Route says: its child has gone, or the children are of
  // another kind. Also called for a call that listens and has lost its child. If no filter takes
  // the call, another child gets it, or it ends with this report.
  virtual void on_lost(CallPtr& /*call*/, std::string_view /*text*/,
                       const rpc::FaultReport& /*report*/) {}
  // The filter has held the call (Chain::hold), and has released it, or its time is over.
  virtual void on_released(CallPtr /*call*/, const Request& /*request*/) {}
  // The filter has kept the call (Chain::keep), and its time is over.
  virtual void on_overdue(CallPtr /*call*/) {}
  // Called exactly once for each call that has begun. The filter may replace the reply to the
  // client.
  virtual void on_end(const Call& /*call*/, End& /*end*/) {}
  // Called after the reply.
  virtual void on_ended(const Call& /*call*/) {}

  // --- Children
  // Whether the child with this number may be given the call now. If not, the call waits in its
  // queue until the pool looks again (Pool::take_waiting).
  virtual bool admits(const Call& /*call*/, uint64_t /*child*/) { return true; }
  // False: the filters above do not get the message.
  virtual bool on_child_message(ChildMessage& /*message*/) { return true; }
  virtual void on_child_gone(const ChildRef& /*child*/) {}
  // Until when clients need something that the child with this number has given out; min():
  // nothing.
  [[nodiscard]] virtual TimePoint needed_until(uint64_t /*child*/) const {
    return TimePoint::min();
  }
  [[nodiscard]] virtual ChildWork work_of(uint64_t /*child*/) const { return {}; }
  // Whether this request, which has no session, brings back something of a child that runs.
  [[nodiscard]] virtual bool gave(const Arrival& /*request*/) const { return false; }

  // Frees memory that only makes the filter faster.
  virtual void drop_kept() {}
};

}  // namespace stdgate::call
