#include "gateway/policy/access_review.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/config/nearest_word.h"
#include "gateway/policy/role_closure.h"

namespace stdgate::policy {

namespace {

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
