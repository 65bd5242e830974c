// BridgeFilter: the filter next to the pool, for protocols of two eras (see Era).
//
// It shows each request, answer, fault and end to those who bridge the eras: RoundTrips and
// InputRounds, which turn questions of children into the other era's, and KeyWatches. They may take
// the call. Owner: the bridge.
#pragma once

#include "gateway/call/chain.h"
#include "gateway/mcp/bridge/input_rounds.h"
#include "gateway/mcp/bridge/key_watches.h"
#include "gateway/mcp/bridge/modern_calls.h"
#include "gateway/mcp/bridge/round_trips.h"

namespace stdgate::mcp {

class BridgeFilter final : public call::Filter {
 public:
  // They outlive the filter.
  struct Parts {
    const pool::Pool& pool;
    call::Chain& chain;
    ModernCalls& modern;
    RoundTrips& trips;
    InputRounds& rounds;
    KeyWatches& watches;
  };

  explicit BridgeFilter(const Parts& parts) : parts_(parts) {}

  void on_request(call::CallPtr& call, const call::Request& request) override;
  void on_answer(call::CallPtr& call, call::Answer& answer) override;
  void on_fault(call::CallPtr& call, const rpc::FaultReport& report) override {
    // A call that stands in for a parked one ends here, and is left over.
    if (call->alone && parts_.trips.take_fault(call, report)) call = nullptr;
  }
  void on_end(const call::Call& call, call::End& end) override;

 private:
  const Parts parts_;
};

}  // namespace stdgate::mcp
