// PoolEvents: how the calls of a pool end. The pool is consistent before each call, since the
// implementation may call back. Implemented by Backend. Events of sessions go to SessionEvents,
// messages of children to the ChildListener.
#pragma once

#include "gateway/call/call_store.h"
#include "gateway/pool/child_facts.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::pool {

class PoolEvents {
 public:
  virtual ~PoolEvents() = default;
  virtual void on_answer(call::CallPtr call, const rpc::Envelope& answer) = 0;
  virtual void on_fault(call::CallPtr call, const rpc::FaultReport& report) = 0;
  // The child has ended what the call listens to.
  virtual void on_listening_end(call::CallPtr call) = 0;
  // The child of a call that listens has gone for this reason. Another child may take its place.
  virtual void on_listener_lost(call::CallPtr call, const rpc::FaultReport& report) = 0;
  // A call listens at a child that is not told about it.
  virtual void on_listening(const call::Call& call, const ChildFacts& facts) = 0;
  // A shared child has shown this era, which is news. The child gets its first call afterwards.
  virtual void on_era(Era era) = 0;
  // The session's new child has answered the gateway's greeting with these params, which repeats
  // the greeting of the session's client.
  virtual void on_greeted_again(std::string_view params, const rpc::Envelope& answer) = 0;
  // No child has got the call: its child has gone (Route::is_bound), or it was written for another
  // era (Route::written_for).
  virtual void on_misdirected(call::CallPtr call, const call::Outgoing& message) = 0;
  // The children are legacy ones, and cannot serve this modern call.
  virtual void on_wrong_era(call::CallPtr call) = 0;
  // The children are legacy ones, so this call (Call::alone) needs a child of its own.
  virtual void on_call_alone(call::CallPtr call, const call::Outgoing& message) = 0;
};

}  // namespace stdgate::pool
