// PoolEvents: how the calls of a pool end. The pool is consistent before each call of a function,
// since the implementation may call back. Implemented by Backend. What concerns sessions goes to
// SessionEvents, what children say on their own account to the ChildListener.
#pragma once

#include "gateway/pool/call_store.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::pool {

class PoolEvents {
 public:
  virtual ~PoolEvents() = default;
  virtual void on_answer(CallPtr call, const rpc::Envelope& answer) = 0;
  virtual void on_fault(CallPtr call, const rpc::FaultReport& report) = 0;
  // The children are of the legacy era, and cannot serve this call of the modern one.
  virtual void on_wrong_era(CallPtr call) = 0;
};

}  // namespace stdgate::pool
