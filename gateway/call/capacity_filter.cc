#include "gateway/call/capacity_filter.h"

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

}  // namespace stdgate::call
