// The filters that refuse calls beyond a limit: what the gateway can take, and what clients may
// use.
#pragma once

#include <memory>
#include <optional>

#include "gateway/base/account.h"
#include "gateway/call/chain.h"
#include "gateway/policy/overload.h"
#include "gateway/policy/quotas.h"

namespace stdgate::call {

// CapacityFilter: refuses calls when memory is short: in the process, in the account of the client,
// or in the account of the backend.
//
// Judges and counts; keeps nothing. Owner: the backend.
class CapacityFilter final : public Filter {
 public:
  // Bytes of a request that listens, which are kept until it ends.
  static constexpr size_t kMaxListening = 64 << 10;

  // `overload`: null: never overloaded. `own`: the account of the backend; null: none.
  CapacityFilter(Chain& chain, const policy::Overload* overload, const Account* own,
                 Observer& observer, BackendId backend)
      : chain_(chain), overload_(overload), own_(own), observer_(observer), backend_(backend) {}

  void on_request(CallPtr& call, const Request& request) override {
    if (request.intent.listens || is_short(request.context.account)) judge(call, request);
  }

  // Why this client cannot have a session; nothing: it can.
  [[nodiscard]] std::optional<rpc::FaultReport> obstacle_of_session(const Account* client) const;
  // Whether the client (null: no account is charged) or this backend holds too much memory already.
  [[nodiscard]] std::optional<rpc::FaultReport> find_lack(const Account* client) const;

 private:
  void judge(CallPtr& call, const Request& request);
  [[nodiscard]] bool is_short(const Account* client) const {
    return (overload_ != nullptr && overload_->refuses_calls()) || lacks_memory(client);
  }
  [[nodiscard]] bool lacks_memory(const Account* client) const {
    return (client != nullptr && client->lack() != MemoryLack::none) ||
           (own_ != nullptr && own_->is_beyond_bound());
  }

  Chain& chain_;
  const policy::Overload* const overload_;
  const Account* const own_;
  Observer& observer_;
  const BackendId backend_;
};

// QuotaFilter: counts the calls of a client, and refuses calls beyond the client's quota.
//
// Owner: the backend. Limits: see ClientQuotas.
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
