// CapacityFilter: refuses calls for want of memory, judged by the process, by the account of the
// client, and by the account of the backend.
//
// Judges and counts; keeps nothing. Owner: the backend.
#pragma once

#include <optional>

#include "gateway/base/account.h"
#include "gateway/call/chain.h"
#include "gateway/policy/overload.h"

namespace stdgate::call {

class CapacityFilter final : public Filter {
 public:
  // Bytes of a request that listens, which is kept until it ends.
  static constexpr size_t kMaxListening = 64 << 10;

  // `overload`: null: never. `own`: the account of the backend; null: it has none.
  CapacityFilter(Chain& chain, const policy::Overload* overload, const Account* own,
                 Observer& observer, BackendId backend)
      : chain_(chain), overload_(overload), own_(own), observer_(observer), backend_(backend) {}

  void on_request(CallPtr& call, const Request& request) override {
    if (request.intent.listens || is_short(request.context.account)) judge(call, request);
  }

  // Why such a client can have no session; nothing: it can.
  [[nodiscard]] std::optional<rpc::FaultReport> obstacle_of_session(const Account* client) const;
  // Whether too much is kept already, for the client (null: no account is charged) or at this
  // backend.
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

}  // namespace stdgate::call
