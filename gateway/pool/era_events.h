// EraEvents: what a pool finds out when clients and children are of different eras (see Era). The
// pool is consistent before each call, since the implementation may call back. Implemented by
// backend::Bridge. A protocol of one era has no such events.
#pragma once

#include "gateway/call/call_store.h"
#include "gateway/observer.h"
#include "gateway/pool/child_facts.h"
#include "gateway/rpc/fault.h"

namespace stdgate::pool {

class EraEvents {
 public:
  virtual ~EraEvents() = default;
  // A shared child has shown this era, which is news. The child gets its first call afterwards.
  virtual void on_era(Era /*era*/) {}
  // The children are legacy ones, and cannot serve this modern call.
  virtual void on_wrong_era(call::CallPtr /*call*/) {}
  // The children are legacy ones, so this call (Call::alone) needs a child of its own.
  virtual void on_call_alone(call::CallPtr /*call*/, const call::Outgoing& /*message*/) {}
  // A call listens at a child that is not told about it.
  virtual void on_listening(const call::Call& /*call*/, const ChildFacts& /*facts*/) {}
  // The child has ended what the call listens to.
  virtual void on_listening_end(call::CallPtr /*call*/) {}
  // The child of a call that listens has gone for this reason. Another child may take its place.
  virtual void on_listener_lost(call::CallPtr /*call*/, const rpc::FaultReport& /*report*/) {}
};

}  // namespace stdgate::pool
