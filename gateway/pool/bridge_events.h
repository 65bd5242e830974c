// BridgeEvents: what a pool finds out when clients and children are of different kinds (see
// PeerKind). The pool is consistent before each call, since the implementation may call back.
// Implemented by backend::Bridge. A protocol of one kind has no such events.
#pragma once

#include "gateway/call/call_store.h"
#include "gateway/observer.h"
#include "gateway/pool/child_facts.h"
#include "gateway/rpc/fault.h"

namespace stdgate::pool {

class BridgeEvents {
 public:
  virtual ~BridgeEvents() = default;
  // A shared child has shown this kind, which is news. The child gets its first call afterwards.
  virtual void on_peer_kind(PeerKind /*peer_kind*/) {}
  // The children are stateful ones, and cannot serve this stateless call.
  virtual void on_wrong_peer_kind(call::CallPtr /*call*/) {}
  // The children are stateful ones, so this call (Call::alone) needs a child of its own.
  virtual void on_call_alone(call::CallPtr /*call*/, const call::Outgoing& /*message*/) {}
  // A call listens at a child that is not told about it.
  virtual void on_listening(const call::Call& /*call*/, const ChildFacts& /*facts*/) {}
  // The child has ended what the call listens to.
  virtual void on_listening_end(call::CallPtr /*call*/) {}
  // The child of a call that listens has gone for this reason. Another child may take its place.
  virtual void on_listener_lost(call::CallPtr /*call*/, const rpc::FaultReport& /*report*/) {}
};

}  // namespace stdgate::pool
