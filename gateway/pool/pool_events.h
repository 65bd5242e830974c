// PoolEvents: how the calls of a pool end. The pool is consistent before each call, since the
// implementation may call back. Implemented by Backend. Events of sessions go to SessionEvents,
// events for the bridge to BridgeEvents, messages of children to the ChildListener.
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
  // The session's new child has answered the gateway's greeting with these params, which repeats
  // the greeting of the session's client.
  virtual void on_greeted_again(std::string_view params, const rpc::Envelope& answer) = 0;
  // No child has got the call: its child has gone (Route::is_bound), or it was written for another
  // kind (Route::written_for).
  virtual void on_misdirected(call::CallPtr call, const call::Outgoing& message) = 0;
};

}  // namespace stdgate::pool
