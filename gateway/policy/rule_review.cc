#include "gateway/policy/rule_review.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "gateway/policy/name_pattern.h"
#include "gateway/policy/role_closure.h"

namespace stdgate::policy {

namespace {

using config::RuleConfig;
using Names = std::vector<std::string>;

constexpr std::string_view kAnything = "*";

bool contains(const Names& texts, std::string_view text) {
  return std::ranges::find(texts, text) != texts.end();
}

bool any_covers(const Names& wide, std::string_view narrow) {
  return std::ranges::any_of(wide, [&](const std::string& one) { return covers(one, narrow); });
}

// The lists of a rule that name what it is about.
struct NameList {
  std::string_view key;
  Names RuleConfig::*names;
};
constexpr std::array<NameList, 5> kNameLists{{{"methods", &RuleConfig::methods},
                                              {"tools", &RuleConfig::tools},
                                              {"resources", &RuleConfig::resources},
                                              {"prompts", &RuleConfig::prompts},
                                              {"from_agent", &RuleConfig::from_agent}}};

// Of what clients say.
bool is_about_everything(const RuleConfig& rule) {
  // Every message has a method.
  return rule.names_nothing() || any_covers(rule.methods, kAnything);
}

bool is_of_agent(const NameList& list) { return list.names == &RuleConfig::from_agent; }

// Whether no URI that rules compare fits the pattern: they compare plain ones only
// (is_plain_uri()). Every URI that could fit begins with the text before the first `*`, up to a
// slash.
bool fits_no_uri(std::string_view pattern) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return !is_plain_uri(pattern);
  const std::string_view fixed = pattern.substr(0, star);
  const std::string_view whole = fixed.substr(0, fixed.rfind('/') + 1);
  return !whole.empty() && !is_plain_uri(whole);
}

// Reads the rules of one backend, in order.
class RuleReview {
 public:
  RuleReview(const config::BackendConfig& backend, const std::vector<config::RoleConfig>& roles)
      : backend_(backend), path_("backends." + backend.name + ".rules[") {
    for (const RuleConfig& rule : backend.rules) {
      holders_.push_back(with_including(rule.allow, roles));
      judges_agent_ = judges_agent_ || !rule.from_agent.empty();
    }
  }

  std::vector<config::ConfigError> run() {
    for (size_t i = 0; i < backend_.rules.size(); ++i) {
      look_at_names(i);
      look_at_earlier_rules(i);
    }
    return std::move(findings_);
  }

 private:
  [[nodiscard]] std::string path_of(size_t rule) const {
    std::string path = path_;
    path.append(std::to_string(rule)).append("]");
    return path;
  }

  void look_at_names(size_t index) {
    const RuleConfig& rule = backend_.rules[index];
    for (const NameList& list : kNameLists) {
      const Names& names = rule.*list.names;
      for (size_t i = 0; i < names.size(); ++i) {
        const std::string problem = wrong_with_name(rule, list, names[i]);
        if (problem.empty()) continue;
        std::string path = path_of(index);
        path.append(".").append(list.key).append("[").append(std::to_string(i)).append("]");
        findings_.push_back({0, 0, std::move(path), "'" + names[i] + "' " + problem});
      }
    }
    if (is_about_everything(rule) && any_covers(rule.except, kAnything)) {
      findings_.push_back({0, 0, path_of(index) + ".except", "'*' excepts all that it is about"});
    }
  }

  // Empty: nothing.
  [[nodiscard]] std::string wrong_with_name(const RuleConfig& rule, const NameList& list,
                                            const std::string& name) const {
    if (any_covers(rule.except, name)) return "is excepted again by the same rule";
    if (list.names == &RuleConfig::methods) {
      const bool is_served =
          backend_.methods.empty() || std::ranges::any_of(backend_.methods, [&](const auto& one) {
            return can_meet(one, name);
          });
      return is_served ? "" : "is none of the backend's methods, and so not served at all";
    }
    if (list.names == &RuleConfig::resources && fits_no_uri(name)) {
      return "fits no resource: a URI with ., .. or empty segments, a backslash, a scheme in "
             "capitals or needless % fits nothing but '*'";
    }
    if (name != kAnything && !is_plain_name(name)) {
      return "fits nothing: a name with control characters fits nothing but '*'";
    }
    return {};
  }

  void look_at_earlier_rules(size_t index) {
    const RuleConfig& rule = backend_.rules[index];
    std::set<size_t> deciding;
    for (const std::string& role : rule.allow) {
      const bool is_about_all = is_about_everything(rule);
      if (is_about_all && !is_covered(index, role, nullptr, kAnything, deciding)) return;
      for (const NameList& list : kNameLists) {
        if (is_about_all && !is_of_agent(list)) continue;
        for (const std::string& name : rule.*list.names) {
          if (!is_covered(index, role, &list, name, deciding)) return;
        }
      }
    }
    std::string earlier;
    for (const size_t one : deciding) {
      earlier.append(earlier.empty() ? "rules[" : ", rules[");
      earlier.append(std::to_string(one)).append("]");
    }
    findings_.push_back({0, 0, path_of(index),
                         "never decides: " + earlier + (deciding.size() == 1 ? " is" : " are") +
                             " about all of it, and the first rule that fits decides"});
  }

  // Whether `earlier` is about all that `rule` is about by this name.
  [[nodiscard]] bool decides(const RuleConfig& earlier, const RuleConfig& rule,
                             const NameList* list, std::string_view name) const {
    if (list != nullptr && any_covers(earlier.*list->names, name)) return true;
    if (list != nullptr && is_of_agent(*list)) return earlier.names_nothing();
    // A rule that names nothing is about what agents say too, where that is judged.
    const bool is_about_agent = !judges_agent_ || !rule.names_nothing() ||
                                earlier.names_nothing() ||
                                any_covers(earlier.from_agent, kAnything);
    return is_about_everything(earlier) && is_about_agent;
  }

  // Whether one of the rules before `index` decides about `name` for clients with `role`. `list`
  // null: about everything.
  bool is_covered(size_t index, const std::string& role, const NameList* list,
                  std::string_view name, std::set<size_t>& deciding) const {
    const RuleConfig& rule = backend_.rules[index];
    for (size_t i = 0; i < index; ++i) {
      const RuleConfig& earlier = backend_.rules[i];
      const bool holds = contains(holders_[i], kAnything) || contains(holders_[i], role);
      // This rule must except everything that the earlier one excepts.
      const bool leaves_nothing_else = std::ranges::all_of(
          earlier.except,
          [&rule](const std::string& pattern) { return any_covers(rule.except, pattern); });
      if (!holds || !leaves_nothing_else) continue;
      if (decides(earlier, rule, list, name)) {
        deciding.insert(i);
        return true;
      }
    }
    return false;
  }

  const config::BackendConfig& backend_;
  const std::string path_;
  std::vector<Names> holders_;  // of each rule: the roles that it holds for
  bool judges_agent_ = false;   // a rule has `from_agent`
  std::vector<config::ConfigError> findings_;
};

}  // namespace

// A `*` of `narrow`, taken for a character, is one that only a `*` of `wide` fits; and that fits
// whatever else may stand there.
bool covers(std::string_view wide, std::string_view narrow) { return matches(wide, narrow); }

bool can_meet(std::string_view one, std::string_view other) {
  // Row by row: whether the first i characters of `one` can meet the first j of `other`.
  std::vector<bool> row(other.size() + 1);
  row[0] = true;
  for (size_t j = 0; j < other.size(); ++j) row[j + 1] = row[j] && other[j] == '*';
  for (const char c : one) {
    std::vector<bool> next(other.size() + 1);
    next[0] = row[0] && c == '*';
    for (size_t j = 0; j < other.size(); ++j) {
      if (c == '*') {
        next[j + 1] = next[j] || row[j + 1];
      } else if (other[j] == '*') {
        next[j + 1] = row[j + 1] || next[j];
      } else {
        next[j + 1] = row[j] && c == other[j];
      }
    }
    row = std::move(next);
  }
  return row[other.size()];
}

std::vector<config::ConfigError> review_rules(const config::BackendConfig& backend,
                                              const std::vector<config::RoleConfig>& roles) {
  return RuleReview(backend, roles).run();
}

}  // namespace stdgate::policy
