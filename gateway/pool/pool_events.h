// PoolEvents: how the calls of a pool end. The pool is consistent before each call of a function,
// since the implementation may call back. Implemented by Backend. What concerns sessions goes to
// SessionEvents, what children say on their own account to the ChildListener.
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
  // What the call listened to has ended, as far as the child is concerned.
  virtual void on_listening_end(call::CallPtr call) = 0;
  // The child of a call that listens has gone for this reason; another one may take its place.
  virtual void on_listener_lost(call::CallPtr call, const rpc::FaultReport& report) = 0;
  // A call listens at a child that is not to be told of it.
  virtual void on_listening(const call::Call& call, const ChildFacts& facts) = 0;
  // A shared child has shown that they are of this era, which is news. It gets its first call
  // afterwards.
  virtual void on_era(Era era) = 0;
  // The gateway has greeted a session's new child with these params, as the session had greeted its
  // former one, and the child has answered.
  virtual void on_greeted_again(std::string_view params, const rpc::Envelope& answer) = 0;
  // The call is for a child that is not there any more (Route::is_bound), or for children of
  // another era (Route::written_for). No child has got it.
  virtual void on_misdirected(call::CallPtr call, const call::Outgoing& message) = 0;
  // The children are of the legacy era, and cannot serve this call of the modern one.
  virtual void on_wrong_era(call::CallPtr call) = 0;
  // The children are of the legacy era: this call (Call::alone) needs one of its own.
  virtual void on_call_alone(call::CallPtr call, const call::Outgoing& message) = 0;
};

}  // namespace stdgate::pool
