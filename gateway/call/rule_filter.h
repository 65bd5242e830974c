// RuleFilter: lets messages pass if the rules allow them, and removes elements that the client may
// not see from lists.
//
// A denied message is answered as if its method or element did not exist. Owner: the backend.
#pragma once

#include <vector>

#include "gateway/call/call_rules.h"
#include "gateway/call/chain.h"

namespace stdgate::call {

class RuleFilter final : public Filter {
 public:
  // `payer`: of what is kept for no client.
  RuleFilter(Chain& chain, const std::vector<config::RoleConfig>& roles, CallStore& calls,
             const ChainServices& services, const Payer& payer = {})
      : chain_(chain),
        rules_(services.config, roles, services.protocol, payer),
        cuts_(calls.reserve<ListCut>()),
        services_(services) {}

  // See CallRules::replace().
  bool replace(const config::BackendConfig& backend, const std::vector<config::RoleConfig>& roles) {
    return rules_.replace(backend, roles);
  }
  [[nodiscard]] bool any() const { return rules_.any(); }
  [[nodiscard]] bool serves(const policy::Principal* principal) const {
    return rules_.admits(principal);
  }

  // Whether a child's message with this method may reach the client. Counts those that may not.
  [[nodiscard]] bool lets_agent(const policy::Principal* principal, std::string_view method) const {
    const bool lets = !rules_.any() || rules_.lets_agent(principal, method);
    if (!lets) services_.observer.on_rejected(services_.backend, Rejection::denied);
    return lets;
  }

  void on_request(CallPtr& call, const Request& request) override {
    if (rules_.any() && !request.context.is_own) judge(call, request);
  }
  Passage on_notification(const Notification& notification) override;
  void drop_kept() override { rules_.drop_views(); }
  void on_answer(CallPtr& call, Answer& answer) override {
    const ListCut* const cut = cuts_.find(call->slots);
    if (cut == nullptr || answer.message.kind != rpc::MessageKind::result) return;
    show(call, answer, *cut);
  }

 private:
  void show(CallPtr& call, Answer& answer, const ListCut& cut);
  void judge(CallPtr& call, const Request& request);

  Chain& chain_;
  CallRules rules_;
  const Slot<ListCut> cuts_;
  const ChainServices services_;
};

}  // namespace stdgate::call
