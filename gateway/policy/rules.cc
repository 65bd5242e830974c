#include "gateway/policy/rules.h"

#include <algorithm>
#include <string_view>

#include "gateway/base/check.h"
#include "gateway/policy/name_pattern.h"

namespace stdgate::policy {

namespace {

bool is_for_everybody(const std::vector<std::string>& roles) {
  return std::ranges::find(roles, kEverybody) != roles.end();
}

}  // namespace

std::vector<std::string> with_including(std::vector<std::string> named,
                                        const std::vector<config::RoleConfig>& roles) {
  const auto is_named = [&named](std::string_view role) {
    return std::ranges::find(named, role) != named.end();
  };
  for (size_t known = 0; known != named.size();) {
    known = named.size();
    for (const config::RoleConfig& role : roles) {
      const bool includes_one = std::ranges::any_of(role.includes, is_named);
      if (includes_one && !is_named(role.name)) named.push_back(role.name);
    }
  }
  return named;
}

Rules::Rules(const config::BackendConfig& backend, const std::vector<config::RoleConfig>& roles)
    : methods_(backend.methods) {
  STDGATE_CHECK(backend.rules.size() <= config::kMaxRules);
  for (const config::RuleConfig& config : backend.rules) {
    rules_.push_back({config, is_for_everybody(config.allow), config.names_nothing(),
                      with_including(config.allow, roles)});
    judges_agent_ = judges_agent_ || !config.from_agent.empty();
  }
}

bool Rules::takes_method(std::string_view method) const {
  return methods_.empty() || matches_any(methods_, method);
}

Ruling Rules::judge(const Principal* principal, const Subject& subject) const {
  if (rules_.empty()) return {Verdict::allowed};
  for (const Rule& rule : rules_) {
    if (!rule.holds_for(principal) || !rule.is_about(subject)) continue;
    // A list needs no scope, even if its elements do: else clients would not know of them.
    if (rule.is_list_of_named(subject)) return {Verdict::allowed};
    if (rule.has_scopes(principal)) return {Verdict::allowed};
    return {Verdict::needs_scope, rule.config.scopes};
  }
  return {Verdict::denied};
}

bool Rules::lets_agent(const Principal* principal, std::string_view method) const {
  if (!judges_agent_) return true;
  const auto decides = std::ranges::find_if(rules_, [&](const Rule& rule) {
    return rule.holds_for(principal) && rule.is_about_agent(method);
  });
  return decides != rules_.end() && decides->has_scopes(principal);
}

RuleSet Rules::rules_of(const Principal* principal) const {
  RuleSet set;
  for (size_t i = 0; i < rules_.size(); ++i) set[i] = rules_[i].holds_for(principal);
  return set;
}

bool Rules::shows(const RuleSet& rules, const Subject& subject) const {
  if (rules_.empty()) return true;
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (rules[i] && rules_[i].is_about(subject)) return true;
  }
  return false;
}

bool Rules::Rule::holds_for(const Principal* principal) const {
  return is_for_everybody ||
         (principal != nullptr && std::ranges::any_of(principal->roles, [this](const auto& role) {
            return std::ranges::find(roles, role) != roles.end();
          }));
}

bool Rules::Rule::is_about(const Subject& subject) const {
  const bool has_element = subject.element != ElementKind::none;
  // An ambiguous name may be an excepted one.
  if (!config.except.empty() &&
      (matches_any(config.except, subject.method) ||
       (has_element && (!subject.is_plain || matches_any(config.except, subject.name))))) {
    return false;
  }
  if (is_about_everything || matches_any(config.methods, subject.method)) return true;
  if (has_element) {
    // Nothing but "*" is about the empty name.
    return matches_any(names(subject.element), subject.is_plain ? subject.name : "");
  }
  return is_list_of_named(subject);
}

bool Rules::Rule::is_about_agent(std::string_view method) const {
  return !matches_any(config.except, method) &&
         (is_about_everything || matches_any(config.from_agent, method));
}

bool Rules::Rule::has_scopes(const Principal* principal) const {
  return std::ranges::all_of(config.scopes, [principal](const std::string& scope) {
    return principal != nullptr && principal->has_scope(scope);
  });
}

bool Rules::Rule::is_list_of_named(const Subject& subject) const {
  return subject.lists != ElementKind::none && !names(subject.lists).empty();
}

const std::vector<std::string>& Rules::Rule::names(ElementKind kind) const {
  switch (kind) {
    case ElementKind::tool:
      return config.tools;
    case ElementKind::resource:
      return config.resources;
    case ElementKind::prompt:
    case ElementKind::none:
      break;
  }
  return config.prompts;
}

}  // namespace stdgate::policy
