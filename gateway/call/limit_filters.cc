#include "gateway/call/limit_filters.h"

#include <string>
#include <string_view>
#include <utility>

namespace stdgate::call {

void CapacityFilter::judge(CallPtr& call, const Request& request) {
  if (request.intent.listens && request.message.text.size() > kMaxListening) {
    return chain_.on_fault(std::move(call),
                           rpc::faults::too_large("what is to be listened for is too long"));
  }
  if (overload_ != nullptr && overload_->refuses_calls()) {
    return chain_.on_fault(std::move(call), rpc::faults::short_of_memory());
  }
  if (const auto lack = find_lack(request.context.account)) chain_.on_fault(std::move(call), *lack);
}

std::optional<rpc::FaultReport> CapacityFilter::obstacle_of_session(const Account* client) const {
  if (overload_ != nullptr && overload_->refuses_sessions()) {
    return rpc::faults::no_new_sessions();
  }
  return find_lack(client);
}

std::optional<rpc::FaultReport> CapacityFilter::find_lack(const Account* client) const {
  if (!lacks_memory(client)) return std::nullopt;
  observer_.on_rejected(backend_, Rejection::memory);
  return rpc::faults::holds_too_much(client == nullptr ? MemoryLack::none : client->lack());
}

namespace {

struct CountedRefusal {
  Rejection reason;
  rpc::FaultReport report;
};

std::string too_many_of(policy::QuotaRefusal::Whose whose, std::string_view more) {
  using Whose = policy::QuotaRefusal::Whose;
  std::string text = "too many calls";
  if (whose == Whose::client) text += " of this client";
  if (whose == Whose::backend) text += " of this backend";
  return text.append(more);
}

CountedRefusal counted_refusal(const policy::QuotaRefusal& refusal) {
  using Reason = policy::QuotaRefusal::Reason;
  switch (refusal.reason) {
    case Reason::rate:
      return {Rejection::rate,
              rpc::faults::rate_limited(too_many_of(refusal.whose, ""), refusal.wait)};
    case Reason::in_flight:
      return {Rejection::in_flight,
              rpc::faults::rate_limited(too_many_of(refusal.whose, " at a time"), rpc::kRetryHint)};
    case Reason::clients:
      break;
  }
  return {Rejection::clients, rpc::faults::too_many_clients()};
}

}  // namespace

void QuotaFilter::on_request(CallPtr& call, const Request& request) {
  const CallContext& context = request.context;
  if (context.is_own) return;
  const policy::ClientRef client{context.principal,
                                 context.client == nullptr ? ClientAddress() : *context.client};
  const auto begun = quotas_->begin_call(client, services_.clock.now());
  if (begun) {
    counted_.of(call->slots).of = *begun;
    return;
  }
  const CountedRefusal refusal = counted_refusal(begun.error());
  services_.observer.on_rejected(services_.backend, refusal.reason);
  chain_.on_fault(std::move(call), refusal.report);
}

void QuotaFilter::on_end(const Call& call, End& /*end*/) {
  const Counted* const counted = counted_.find(call.slots);
  if (counted != nullptr) quotas_->end_call(*counted->of);
}

}  // namespace stdgate::call
