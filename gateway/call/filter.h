// Filter: whatever looks at the calls of a backend on their way to what answers them, and back.
//
// A filter overrides what it wants to see; the chain (chain.h) calls it for nothing else. A call
// goes on to the next filter unless this one has taken it: to end it by the chain, or to keep it
// for later. What a filter keeps of a call, it keeps in a slot of the call (slots.h). Filters do
// not know each other: what a filter has changed, all that come after it see changed. Owner: the
// backend.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/base/session_name.h"
#include "gateway/call/call_context.h"
#include "gateway/call/call_store.h"
#include "gateway/call/client_intent.h"
#include "gateway/observer.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/known_message.h"
#include "gateway/session/reply_sink.h"

namespace stdgate::call {

// A call begins: a client has sent something that is to be answered.
struct Arrival {
  const CallContext& context;
  const rpc::Envelope* message = nullptr;  // null: it could not be read
  std::string_view method{};               // decoded
  std::string_view tool{};                 // see ClientIntent
  bool is_refused = false;                 // for its form: it comes to no filter as a request
};

// A request on its way down. A filter that changes it takes the call, and has the changed one go on
// (Chain::go_on).
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
  SessionName session;  // none: it stands alone
};
enum class Passage : uint8_t {
  open,
  denied,   // it is not for this client to send
  refused,  // there is no room for it now
};

// An answer on its way up, as the filters below leave it.
struct Answer {
  const rpc::Envelope& message;  // a child's; without a text: a result that was kept
  std::string_view payload;      // of the result or error, raw JSON; outlives the answer
  std::string_view tail{};  // all behind the id, in the place of the message's; empty: as it is
  Outcome outcome = Outcome::ok();
  uint64_t child = 0;  // the number of the one that has given it
};

// A child, as far as filters know one.
struct ChildRef {
  uint64_t number = 0;
  std::optional<Era> era{};
  bool is_shared = true;
  session::SessionId session{};  // that it is leased to; none: it is shared, or spare
};

// A notification of a child, on its way up. A filter may put another one in its place.
class ChildMessage {
 public:
  // `method` is decoded. `call`: that it belongs to; null: none is known. `progress_token`: by
  // which it names that call, in its text.
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

  // `text`: of a notification of the same method.
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
  std::optional<rpc::KnownMessage> known_;  // of `text_`; nothing: it is as it was
};

// What a child has given out that clients may come back with.
struct ChildWork {
  size_t states = 0;  // of calls that wait for input of their clients
  size_t tasks = 0;
};

// The end of a call.
struct End {
  Outcome outcome = Outcome::ok();
  CallRecord* record = nullptr;           // what is told of it; null: nothing is
  const session::Reply* reply = nullptr;  // null: there is none
};

class Filter {
 public:
  virtual ~Filter() = default;

  virtual void on_begin(Call& /*call*/, const Arrival& /*arrival*/) {}
  virtual void on_request(CallPtr& /*call*/, const Request& /*request*/) {}
  virtual Passage on_notification(const Notification& /*notification*/) { return Passage::open; }
  // What has become of it, at whatever filter.
  virtual void on_notification_judged(const Notification& /*notification*/, Passage /*passage*/) {}
  virtual void on_answer(CallPtr& /*call*/, Answer& /*answer*/) {}
  // Instead of an answer.
  virtual void on_fault(CallPtr& /*call*/, const rpc::FaultReport& /*report*/) {}
  // No child gets the request, which is `text`, as its Route says: the one that it is for has gone,
  // or children are of another era. The same for a call that listens, and has lost its child. If no
  // filter takes it, another child gets it, or it ends with this report.
  virtual void on_lost(CallPtr& /*call*/, std::string_view /*text*/,
                       const rpc::FaultReport& /*report*/) {}
  // The filter has held it (Chain::hold), until now.
  virtual void on_released(CallPtr /*call*/, const Request& /*request*/) {}
  // Exactly once for each call that has begun. The filter may put another reply in the place of the
  // one that its client is to get.
  virtual void on_end(const Call& /*call*/, End& /*end*/) {}
  // The same, after the reply.
  virtual void on_ended(const Call& /*call*/) {}

  // --- Children
  // False: nobody above hears of it.
  virtual bool on_child_message(ChildMessage& /*message*/) { return true; }
  virtual void on_child_gone(const ChildRef& /*child*/) {}
  // Until when clients need what the child with this number has given out; min(): they do not.
  [[nodiscard]] virtual TimePoint needed_until(uint64_t /*child*/) const {
    return TimePoint::min();
  }
  [[nodiscard]] virtual ChildWork work_of(uint64_t /*child*/) const { return {}; }
  // Whether this request, which stands alone, brings back what a child that runs has given out.
  [[nodiscard]] virtual bool gave(const Arrival& /*request*/) const { return false; }

  // Frees what is kept only to be faster.
  virtual void drop_kept() {}
};

}  // namespace stdgate::call
