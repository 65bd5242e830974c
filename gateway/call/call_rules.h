// CallRules: judges whether a client's message may pass, and which elements of a list the client
// may see.
//
// Job: find the element that a message uses, by the dialect; have the policy judge it; cut lists.
// The one place where rules meet messages. Owner: a backend. A call keeps how its list is to be
// cut. The views of an OpenRPC document are kept for the next call. Limits: the answer that is
// being cut; kMaxViews and kMaxViewBytes of a document, which the backend pays for.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gateway/base/account.h"
#include "gateway/call/protocol.h"
#include "gateway/policy/rules.h"
#include "gateway/rpc/envelope.h"

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

// The rules by which the answer to a list is cut.
struct ListCut {
  const ListShape* list = nullptr;
  std::shared_ptr<const policy::Rules> judged_by;  // the rules that judged the call
  policy::RuleSet rules;                           // the ones that hold for its caller
};

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

}  // namespace stdgate::call
