// Rules for calls: what they say of a message, the filter that holds calls to them, and lists that
// can be cut.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gateway/base/account.h"
#include "gateway/call/chain.h"
#include "gateway/call/filter.h"
#include "gateway/call/protocol.h"
#include "gateway/policy/rules.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/fault.h"

namespace stdgate::call {

// The ruling about a message.
struct CallRuling {
  policy::Verdict verdict = policy::Verdict::allowed;
  // If denied: the element (name decoded) that does not exist for this client; none: the method.
  policy::ElementKind element = policy::ElementKind::none;
  std::string_view name{};
  std::span<const std::string> scopes{};  // for the verdict needs_scope
  const char* rejection = nullptr;        // why readers could disagree about a denied message
};

// The rules for cutting the answer to a list.
struct ListCut {
  const ListShape* list = nullptr;
  std::shared_ptr<const policy::Rules> judged_by;  // the rules that judged the call
  policy::RuleSet rules;                           // the ones that hold for its caller
};

// CallRules: judges whether a client's message may pass, and which elements of a list the client
// may see.
//
// Job: find the element that a message uses, by the dialect; have the policy judge it; cut lists.
// The one place where rules meet messages. Owner: RuleFilter, or a tool. A call keeps how its list
// is to be cut. The views of an OpenRPC document are kept for the next call. Limits: the answer
// that is being cut; kMaxViews and kMaxViewBytes of a document, which the backend pays for.
class CallRules {
 public:
  static constexpr size_t kMaxViews = 8;
  static constexpr size_t kMaxViewBytes = size_t{8} << 20;

  CallRules(const config::BackendConfig& backend, const std::vector<config::RoleConfig>& roles,
            const Protocol& protocol, const Payer& payer = {})
      : rules_(std::make_shared<const policy::Rules>(backend, roles)),
        protocol_(protocol),
        document_(backend.document.document),
        held_(payer, Holding::caches) {}
  CallRules(const CallRules&) = delete;
  CallRules& operator=(const CallRules&) = delete;

  // Replaces the rules. Lists under way are still cut by the rules that judged their calls. False:
  // the change affects no client.
  bool replace(const config::BackendConfig& backend, const std::vector<config::RoleConfig>& roles);
  // Drops the kept views of the document, which are made again when they are needed.
  void drop_views() {
    views_.clear();
    view_bytes_ = 0;
    held_.set(0);
  }
  // Whether any client may be denied anything. If not, the other functions need not be called.
  [[nodiscard]] bool any() const { return rules_->any(); }
  // Whether the client may have a session. A client that no rule names may do nothing, so it has
  // none.
  [[nodiscard]] bool admits(const policy::Principal* principal) const {
    return rules_->is_about(principal);
  }
  // Whether the agent of this client may ask or tell it this.
  [[nodiscard]] bool lets_agent(const policy::Principal* principal, std::string_view method) const {
    return protocol_.is_lifecycle(method) || rules_->lets_agent(principal, method);
  }
  // `message`: a request or a notification; `method` is decoded. Views in the ruling are valid
  // until the next call.
  CallRuling judge(const rpc::Envelope& message, std::string_view method,
                   const policy::Principal* principal);
  // The cut for the answer to a request for this list.
  [[nodiscard]] ListCut cut_of(const ListShape& list, const policy::Principal* principal) const {
    return {&list, rules_, rules_->rules_of(principal)};
  }
  // The payload without the elements that the client may not see. If the result differs from
  // `payload`, it is valid until the next call.
  std::string_view seen(const ListCut& cut, std::string_view payload);

 private:
  policy::Ruling judge_use(const UsedElement& element, const policy::Principal* principal,
                           policy::Subject& subject);
  // Like seen(), but for a document that describes the methods (OpenRPC).
  std::string_view seen_methods(const ListCut& cut, std::string_view payload);
  // Keeps what of the document is shown by these rules, if there is room.
  std::string_view keep_view(const policy::RuleSet& rules, std::string view);
  // The subject of a judgement, in the words of the policy.
  policy::Subject subject_of(std::string_view method, policy::ElementKind kind,
                             std::string_view spelled, std::string& scratch) const;

  std::shared_ptr<const policy::Rules> rules_;  // never null
  const Protocol& protocol_;
  // The document that the gateway itself answers rpc.discover with; null: it does not answer.
  const std::shared_ptr<const schema::OpenRpcDocument> document_;
  std::unordered_map<policy::RuleSet, std::string> views_;  // of the document, by rules
  size_t view_bytes_ = 0;                                   // of these texts
  Share held_;                                              // their memory
  std::string name_;                                        // scratch
  std::string cut_name_;                                    // scratch
  std::string cut_;                                         // scratch: a payload
};

// RuleFilter: lets messages pass if the rules allow them, and removes elements that the client may
// not see from lists.
//
// A denied message is answered as if its method or element did not exist. Owner: the backend.
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

  // Whether a child's message with this method may reach the client. Counts the messages that may
  // not.
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

// --- Whether an answer to a request for a list shows all readers the same list
//
// A list that cannot be cut must not be shown whole: a list that is no array of its name in an
// object passes every cut. So each filter that cuts a list, or judges by one, asks this first.

// Whether the result is an object with one array `member`, and no key resembles that of another
// member or one of the envelope. Some servers write null for an empty array. An error has no list;
// its envelope is looked at all the same.
bool has_clear_list(const Answer& answer, std::string_view member);

// The fault of an answer without a clear list.
rpc::FaultReport unclear_list();

}  // namespace stdgate::call
