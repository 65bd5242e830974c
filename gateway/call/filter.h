// Filter: whatever looks at the calls of a backend on their way to what answers them, and back.
//
// A filter overrides what it wants to see; the chain (chain.h) calls it for nothing else. A call
// goes on to the next filter unless this one has taken it: to end it by the chain, or to keep it
// for later. What a filter keeps of a call, it keeps in a slot of the call (slots.h). Filters do
// not know each other: what a filter has changed, all that come after it see changed. Owner: the
// backend.
#pragma once

#include <cstdint>
#include <string_view>

#include "gateway/base/session_name.h"
#include "gateway/call/call_context.h"
#include "gateway/call/call_store.h"
#include "gateway/call/client_intent.h"
#include "gateway/observer.h"
#include "gateway/rpc/envelope.h"
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

// A request on its way down.
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
  // Exactly once for each call that has begun. The filter may put another reply in the place of the
  // one that its client is to get.
  virtual void on_end(const Call& /*call*/, End& /*end*/) {}
  // The same, after the reply.
  virtual void on_ended(const Call& /*call*/) {}
};

}  // namespace stdgate::call
