// PoolEvents: what a pool tells the backend, and asks it. The pool is consistent before each call,
// since the told may call back.
#pragma once

#include <cstdint>
#include <string_view>

#include "gateway/pool/call_store.h"
#include "gateway/rpc/envelope.h"

namespace stdgate {

class Child;

class PoolEvents {
 public:
  virtual ~PoolEvents() = default;
  virtual void on_answer(CallPtr call, const Envelope& answer) = 0;
  virtual void on_fault(CallPtr call, const FaultReport& report) = 0;

  // What children say on their own account; see ChildOwner. The child is valid during the call.
  virtual void on_event(const Call& call, const Envelope& notification,
                        Outgoing::Place progress_token) = 0;
  virtual void on_notification(Child& child, const Envelope& notification,
                               std::string_view method) = 0;
  virtual void on_request(Child& child, const Envelope& request, std::string_view method) = 0;

  // A shared child may be asked something by the gateway itself: see Pool::ask().
  virtual void on_spare_room(Child& child) = 0;
  // Nothing more comes from the child with this number, nor does it take anything.
  virtual void on_child_gone(uint64_t number) = 0;
  // Whether sessions need the child even while nothing is in flight.
  [[nodiscard]] virtual bool is_needed(uint64_t child) const = 0;

  // Whether a session's messages are taken: what waits for its child has reached half of the limits
  // of a queue, or fallen to a quarter. For a session that is none: all that share children.
  virtual void on_reading(SessionId session, bool reading) = 0;
  // The session's own child has gone, or cannot be had. Its calls have been answered.
  virtual void on_session_end(SessionId session, SessionEnd end, std::string_view message) = 0;
};

}  // namespace stdgate
