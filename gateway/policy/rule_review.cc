#include "gateway/policy/rule_review.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/config/value_names.h"
#include "gateway/policy/rules.h"

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

// Whether the rule is about everything that clients say.
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

  // Whether `earlier` covers, by this name, every message that `rule` covers.
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

using Names = std::vector<std::string>;
using NameSet = std::set<std::string, std::less<>>;

std::string item_path(std::string_view list, size_t index) {
  std::string path(list);
  path.append("[").append(std::to_string(index)).append("]");
  return path;
}

std::string suggestion(std::string_view role, const NameSet& others) {
  const auto nearest = config::nearest_word(role, {others.begin(), others.end()});
  return nearest ? "; did you mean '" + std::string(*nearest) + "'?" : std::string();
}

class RoleReview {
 public:
  explicit RoleReview(const config::Config& config) : config_(config) {
    for_each_given([this](const std::string&, const Names& roles) {
      given_.insert(roles.begin(), roles.end());
    });
    for_each_rule([this](const std::string&, const Names& roles) {
      named_.insert(roles.begin(), roles.end());
    });
    named_.erase(std::string(kEverybody));
    admin_.insert(config.admin.roles.begin(), config.admin.roles.end());
    gives_any_ = std::ranges::any_of(
        config.auth.jwt, [](const config::JwtConfig& jwt) { return !jwt.roles.empty(); });
  }

  std::vector<config::ConfigError> run() {
    if (!gives_any_) look_for_holders();
    for_each_given([this](const std::string& path, const Names& roles) {
      for (size_t i = 0; i < roles.size(); ++i) look_for_use(item_path(path, i), roles[i]);
    });
    for (const config::RoleConfig& role : config_.roles) {
      for (size_t i = 0; i < role.includes.size(); ++i) {
        look_for_use(item_path("roles." + role.name + ".includes", i), role.includes[i]);
      }
    }
    return std::move(findings_);
  }

 private:
  template <class Look>
  void for_each_given(Look&& look) const {
    const config::AuthConfig& auth = config_.auth;
    for (size_t i = 0; i < auth.api_keys.size(); ++i) {
      look(item_path("auth.api_keys", i) + ".roles", auth.api_keys[i].roles);
    }
    for (const auto& [pattern, roles] : auth.mtls.roles) look("auth.mtls.roles." + pattern, roles);
    for (size_t i = 0; i < auth.signatures.size(); ++i) {
      look(item_path("auth.signatures", i) + ".roles", auth.signatures[i].roles);
    }
  }

  template <class Look>
  void for_each_rule(Look&& look) const {
    for (const config::BackendConfig& backend : config_.backends) {
      const std::string path = "backends." + backend.name + ".rules";
      for (size_t i = 0; i < backend.rules.size(); ++i) {
        look(item_path(path, i) + ".allow", backend.rules[i].allow);
      }
    }
  }

  void look_for_holders() {
    for_each_rule([this](const std::string& path, const Names& roles) {
      for (size_t i = 0; i < roles.size(); ++i) {
        if (roles[i] == kEverybody) continue;
        const Names holders = with_including({roles[i]}, config_.roles);
        look_for_holder(item_path(path, i), roles[i], holders);
      }
    });
    for (size_t i = 0; i < config_.admin.roles.size(); ++i) {
      const std::string& role = config_.admin.roles[i];
      look_for_holder(item_path("admin.roles", i), role, {role});  // as it is: includes or not
    }
    for (const config::RoleConfig& role : config_.roles) {
      const Names holders = with_including({role.name}, config_.roles);
      look_for_holder("roles." + role.name, role.name, holders);
    }
  }

  void look_for_holder(std::string path, const std::string& role, const Names& holders) {
    const bool is_given = std::ranges::any_of(
        holders, [this](const std::string& holder) { return given_.contains(holder); });
    if (is_given) return;
    const char* const why = given_.empty() ? ": no credential of auth has roles" : "";
    find(std::move(path), "nobody has the role '" + role + "'" + why + suggestion(role, given_));
  }

  // A role is of use if something names it, or one that it includes.
  void look_for_use(std::string path, const std::string& role) {
    const bool is_of_use =
        admin_.contains(role) || std::ranges::any_of(named_, [&](const std::string& named) {
          const Names holders = with_including({named}, config_.roles);
          return std::ranges::find(holders, role) != holders.end();
        });
    if (is_of_use) return;
    NameSet all = named_;
    all.insert(admin_.begin(), admin_.end());
    for (const config::RoleConfig& other : config_.roles) all.insert(other.name);
    all.erase(role);
    find(std::move(path), "no rule is about the role '" + role + "'" + suggestion(role, all));
  }

  void find(std::string path, std::string message) {
    findings_.push_back({0, 0, std::move(path), std::move(message)});
  }

  const config::Config& config_;
  NameSet given_;           // by credentials
  NameSet named_;           // by rules
  NameSet admin_;           // by the admin listener
  bool gives_any_ = false;  // tokens do
  std::vector<config::ConfigError> findings_;
};

// Whether clients without an identity may use all of it.
bool is_open(const config::BackendConfig& backend) {
  return backend.rules.empty() ||
         std::ranges::any_of(backend.rules, [](const config::RuleConfig& rule) {
           return std::ranges::find(rule.allow, kEverybody) != rule.allow.end() &&
                  rule.names_nothing() && rule.except.empty() && rule.scopes.empty();
         });
}

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

std::vector<config::ConfigError> review_roles(const config::Config& config) {
  return RoleReview(config).run();
}

std::vector<config::ConfigError> review_listeners(const config::Config& config) {
  std::string open;
  for (const config::BackendConfig& backend : config.backends) {
    if (is_open(backend)) open.append(open.empty() ? "" : ", ").append(backend.name);
  }
  std::vector<config::ConfigError> findings;
  if (open.empty() || !config.auth.is_used()) return findings;
  for (size_t i = 0; i < config.listen.size(); ++i) {
    const config::ListenerConfig& listener = config.listen[i];
    if (!config.is_anonymous(listener)) continue;
    std::string message = "whoever reaches '" + listener.address;
    message.append("' may use all of ").append(open).append(" without a credential");
    message.append("; rules say what is for everybody (\"*\")");
    findings.push_back({0, 0,
                        config.anonymous ? "anonymous" : item_path("listen", i) + ".anonymous",
                        std::move(message)});
  }
  return findings;
}

}  // namespace stdgate::policy
