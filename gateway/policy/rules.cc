#include "gateway/policy/rules.h"

#include <algorithm>
#include <string_view>

#include "gateway/base/check.h"

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

namespace {

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

int hex_value(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

bool is_letter_or_digit(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Whether a character is spelled with % that needs no such spelling, or that separates segments.
bool has_needless_percent(std::string_view uri) {
  constexpr std::string_view kOthers = "-._~/\\%";
  for (size_t at = uri.find('%'); at != std::string_view::npos; at = uri.find('%', at + 1)) {
    if (at + 2 >= uri.size() || !is_hex(uri[at + 1]) || !is_hex(uri[at + 2])) return true;
    const int code = 16 * hex_value(uri[at + 1]) + hex_value(uri[at + 2]);
    if (code < 0x20 || is_letter_or_digit(code) ||
        kOthers.find(static_cast<char>(code)) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

// `path` stands behind the scheme and the authority. Some readers take the text behind ? or # for
// path too: odd segments count there as well, and segments that end at ? or #.
bool has_odd_segment(std::string_view path) {
  const size_t path_size = std::min(path.find_first_of("?#"), path.size());
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find_first_of("/?#", begin), path.size());
    const std::string_view segment = path.substr(begin, end - begin);
    if (segment == "." || segment == "..") return true;
    if (segment.empty() && end < path_size && path[end] == '/') return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view name) {
  size_t p = 0;
  size_t n = 0;
  size_t star = std::string_view::npos;  // the last one passed
  size_t resumed = 0;                    // where what follows it was looked for last
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resumed = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resumed;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool matches_any(const std::vector<std::string>& patterns, std::string_view name) {
  return std::ranges::any_of(patterns,
                             [name](const std::string& one) { return matches(one, name); });
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxPlainName &&
         std::ranges::none_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

bool is_plain_uri(std::string_view uri) {
  if (!is_plain_name(uri) || uri.find('\\') != std::string_view::npos) return false;
  const size_t colon = uri.find(':');
  const std::string_view scheme = uri.substr(0, colon == std::string_view::npos ? 0 : colon);
  if (std::ranges::any_of(scheme, [](char c) { return c >= 'A' && c <= 'Z'; })) return false;
  std::string_view path = uri.substr(colon == std::string_view::npos ? 0 : colon + 1);
  if (path.starts_with("//")) {
    path.remove_prefix(2);
    path.remove_prefix(std::min(path.find('/'), path.size()));
  }
  if (path.starts_with('/')) path.remove_prefix(1);
  return !has_needless_percent(uri) && !has_odd_segment(path);
}

}  // namespace stdgate::policy
