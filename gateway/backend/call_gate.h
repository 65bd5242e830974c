// CallGate: what keeps a request of a client from going on: the limits of calls, and the rules.
//
// Judges and counts; answers nothing itself. What is denied is answered as if it did not exist.
// Owner: the backend.
#pragma once

#include <optional>
#include <string_view>

#include "gateway/backend/call_rules.h"
#include "gateway/call/call_context.h"
#include "gateway/policy/client_quotas.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::backend {

// With what a request is answered that may not go on.
struct GateRefusal {
  std::optional<rpc::FaultReport> fault;
  call::Absence absence;  // without a fault
};

class CallGate {
 public:
  CallGate(const pool::PoolServices& services, CallRules& rules, policy::ClientQuotas& quotas)
      : services_(services), rules_(rules), quotas_(quotas) {}

  // Nothing: the call may go on, and counts for its client until its end.
  std::optional<GateRefusal> judge(const rpc::Envelope& request, std::string_view method,
                                   const call::CallContext& context, call::Call& call) {
    std::optional<GateRefusal> refusal;
    if (quotas_.any()) refusal = judge_quota(context, call);
    if (!refusal && rules_.any()) refusal = judge_rules(request, method, context.principal, call);
    return refusal;
  }

 private:
  std::optional<GateRefusal> judge_quota(const call::CallContext& context, call::Call& call);
  std::optional<GateRefusal> judge_rules(const rpc::Envelope& request, std::string_view method,
                                         const policy::Principal* principal, call::Call& call);

  const pool::PoolServices& services_;
  CallRules& rules_;
  policy::ClientQuotas& quotas_;
};

}  // namespace stdgate::backend
