// CallRules: whether a message of a client may pass, and what of a list its client may see.
//
// Job: find with the dialect what a message is about, have the policy judge it, cut lists. The one
// place where rules meet messages. Owner: a backend. Nothing of a judgement is kept but what the
// answer to a list is cut by, with its call. Limit: the answer that is being cut.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/call/call.h"
#include "gateway/policy/rules.h"
#include "gateway/pool/dialect.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::backend {

// What becomes of a message.
struct CallRuling {
  policy::Verdict verdict = policy::Verdict::allowed;
  // Denied: the element, decoded, that does not exist for this client; none: the method.
  policy::ElementKind element = policy::ElementKind::none;
  std::string_view name{};
  std::span<const std::string> scopes{};  // needs_scope
  const char* rejection = nullptr;        // denied because readers could see different messages
};

class CallRules {
 public:
  CallRules(const config::BackendConfig& backend, const std::vector<config::RoleConfig>& roles,
            const pool::Dialect& dialect)
      : rules_(std::make_shared<const policy::Rules>(backend, roles)), dialect_(dialect) {}
  CallRules(const CallRules&) = delete;
  CallRules& operator=(const CallRules&) = delete;

  // Lists that are under way are cut by the rules that their calls were judged by. False: nothing
  // has changed for anybody.
  bool replace(const config::BackendConfig& backend, const std::vector<config::RoleConfig>& roles) {
    auto rules = std::make_shared<const policy::Rules>(backend, roles);
    if (*rules == *rules_) return false;
    rules_ = std::move(rules);
    return true;
  }
  // Whether anything is forbidden to anybody; else nothing else is to be asked.
  [[nodiscard]] bool any() const { return rules_->any(); }
  // Whether the client may have a session: no rule is about others, who may do nothing at all.
  [[nodiscard]] bool admits(const policy::Principal* principal) const {
    return rules_->is_about(principal);
  }
  // `message` is a request or a notification, `method` decoded. Views into the ruling are valid
  // until the next one.
  CallRuling judge(const rpc::Envelope& message, std::string_view method,
                   const policy::Principal* principal);
  // Notes in the call of a request what its answer is to be cut by.
  void note_list(call::Call& call, std::string_view method,
                 const policy::Principal* principal) const;
  // The payload of the answer to a list without what the client may not see. What is new is valid
  // until the next cut.
  std::string_view seen(const call::Call& call, const rpc::Envelope& answer);
  // As seen(), in the whole answer, of which `parts` are the text before the id, the id, and the
  // text behind it.
  void cut(const call::Call& call, const rpc::Envelope& answer,
           std::array<std::string_view, 3>& parts);

 private:
  policy::Ruling judge_use(const call::UsedElement& element, const policy::Principal* principal,
                           policy::Subject& subject);
  // In words of the policy.
  policy::Subject subject_of(std::string_view method, policy::ElementKind kind,
                             std::string_view spelled, std::string& scratch) const;

  std::shared_ptr<const policy::Rules> rules_;  // never null
  const pool::Dialect& dialect_;
  std::string name_;      // scratch
  std::string cut_name_;  // scratch
  std::string cut_;       // scratch: a payload
  std::string text_;      // scratch: a part of an answer
};

}  // namespace stdgate::backend
