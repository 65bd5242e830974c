#include "gateway/backend/call_gate.h"

#include <utility>

#include "gateway/backend/name_table.h"
#include "gateway/backend/quota_refusal.h"

namespace stdgate::backend {

std::optional<GateRefusal> CallGate::judge_quota(const call::CallContext& context,
                                                 call::Call& call) {
  const policy::ClientRef client{context.principal,
                                 context.client == nullptr ? ClientAddress() : *context.client};
  const auto begun = quotas_.begin_call(client, services_.core.clock.now());
  if (begun) {
    call.client = *begun;
    return std::nullopt;
  }
  CountedRefusal refusal = counted_refusal(begun.error());
  services_.core.observer.on_rejected(services_.backend, refusal.reason);
  return GateRefusal{std::move(refusal.report), {}};
}

std::optional<GateRefusal> CallGate::judge_rules(const rpc::Envelope& request,
                                                 std::string_view method,
                                                 const policy::Principal* principal,
                                                 call::Call& call) {
  const CallRuling ruling = rules_.judge(request, method, principal);
  if (ruling.rejection != nullptr) {
    return GateRefusal{rpc::faults::because(rpc::Fault::invalid_request, ruling.rejection), {}};
  }
  switch (ruling.verdict) {
    case policy::Verdict::allowed:
      rules_.note_list(call, method, principal);
      return std::nullopt;
    case policy::Verdict::needs_scope:
      services_.core.observer.on_rejected(services_.backend, Rejection::insufficient_scope);
      return GateRefusal{rpc::faults::insufficient_scope(ruling.scopes), {}};
    case policy::Verdict::denied:
      break;
  }
  services_.core.observer.on_rejected(services_.backend, Rejection::denied);
  const std::string_view name = ruling.name.substr(0, NameTable::kMaxName);
  const Era era = call.client_era.value_or(Era::legacy);
  return GateRefusal{{}, services_.dialect.absence(method, ruling.element, name, era)};
}

}  // namespace stdgate::backend
