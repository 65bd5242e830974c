// QuotaFilter: counts the calls of a client, and refuses calls beyond the client's quota.
//
// Owner: the backend. Limits: see ClientQuotas.
#pragma once

#include <memory>

#include "gateway/call/chain.h"
#include "gateway/policy/quotas.h"

namespace stdgate::call {

class QuotaFilter final : public Filter {
 public:
  QuotaFilter(Chain& chain, std::shared_ptr<policy::ClientQuotas> quotas, CallStore& calls,
              const ChainServices& services)
      : chain_(chain),
        quotas_(std::move(quotas)),
        counted_(calls.reserve<Counted>()),
        services_(services) {}

  // Whether any call may be refused, now or later. If not, the chain does not need the filter.
  [[nodiscard]] bool any() const { return quotas_->any(); }

  void on_request(CallPtr& call, const Request& request) override;
  void on_end(const Call& call, End& end) override;

 private:
  struct Counted {
    policy::ClientQuotas::Client* of = nullptr;
  };

  Chain& chain_;
  const std::shared_ptr<policy::ClientQuotas> quotas_;
  const Slot<Counted> counted_;
  const ChainServices services_;
};

}  // namespace stdgate::call
