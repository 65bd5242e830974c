// Rules: what a principal may do with one backend, as configured (config::RuleConfig).
//
// Pure: a principal and what a message is about go in, a ruling comes out. The first rule that is
// about both decides; where there are rules, what none of them is about is denied. Compiled once,
// at start: each rule knows all roles that it holds for, those too that include the named ones.
// Owner: the CallRules of a backend. Limits: kMaxRules and those of the configuration. Allocates
// nothing when it judges.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/config/config.h"
#include "gateway/config/config_ranges.h"
#include "gateway/policy/principal.h"

namespace stdgate::policy {

// What a protocol has elements of, that rules name.
enum class ElementKind : uint8_t { none, tool, resource, prompt };

// What a message is about.
struct Subject {
  std::string_view method;  // decoded
  ElementKind element = ElementKind::none;
  std::string_view name{};  // of the element, decoded; of a resource its URI
  bool is_plain = true;     // false: readers may take the name for another one, or there is none
  ElementKind lists = ElementKind::none;  // the kind of which it asks for a list
};

enum class Verdict : uint8_t { allowed, denied, needs_scope };

struct Ruling {
  Verdict verdict = Verdict::denied;
  std::span<const std::string> scopes{};  // needs_scope: all that the operation needs
};

// A bit for each rule.
using RuleSet = std::bitset<config::kMaxRules>;

class Rules {
 public:
  Rules(const config::BackendConfig& backend, const std::vector<config::RoleConfig>& roles);

  // Whether anything is forbidden to anybody.
  [[nodiscard]] bool any() const { return !methods_.empty() || !rules_.empty(); }
  // Whether `method` is one of the backend's allowlist, or it has none.
  [[nodiscard]] bool takes_method(std::string_view method) const;
  // Whether anything may be allowed to him; where there are no rules, all is.
  [[nodiscard]] bool is_about(const Principal* principal) const {
    return rules_.empty() || rules_of(principal).any();
  }
  // null: an anonymous client, which has no roles.
  [[nodiscard]] Ruling judge(const Principal* principal, const Subject& subject) const;

  // For lists, whose elements are judged later: the rules that hold for a principal, and whether
  // one of them is about `subject`. What needs a scope is shown.
  [[nodiscard]] RuleSet rules_of(const Principal* principal) const;
  [[nodiscard]] bool shows(const RuleSet& rules, const Subject& subject) const;

  // Whether they let everybody do the same.
  friend bool operator==(const Rules&, const Rules&) = default;

 private:
  struct Rule {
    friend bool operator==(const Rule&, const Rule&) = default;

    config::RuleConfig config;
    bool is_for_everybody = false;
    bool is_about_everything = false;
    std::vector<std::string> roles;  // that it holds for

    [[nodiscard]] bool holds_for(const Principal* principal) const;
    [[nodiscard]] bool is_about(const Subject& subject) const;
    // Whether it asks for a list of elements some of which the rule names.
    [[nodiscard]] bool is_list_of_named(const Subject& subject) const;
    [[nodiscard]] const std::vector<std::string>& names(ElementKind kind) const;
  };

  const std::vector<std::string> methods_;
  std::vector<Rule> rules_;
};

}  // namespace stdgate::policy
