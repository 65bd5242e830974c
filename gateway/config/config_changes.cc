#include "gateway/config/config_changes.h"

#include <algorithm>

#include "gateway/config/options/gateway_rules.h"

namespace stdgate::config {
namespace {

class Comparison {
 public:
  Comparison(const Config& running, const Config& wanted) : wanted_(wanted) {
    changes_.config = running;
  }

  ConfigChanges run() {
    Config& config = changes_.config;
    take_auth();
    take("roles", config.roles, wanted_.roles);
    take("admin.roles", config.admin.roles, wanted_.admin.roles);
    take("allowed_origins", config.allowed_origins, wanted_.allowed_origins);
    take("allowed_hosts", config.allowed_hosts, wanted_.allowed_hosts);
    take("rpc_stream", config.rpc_stream, wanted_.rpc_stream);
    config.secrets = wanted_.secrets;
    leave("listen", config.listen, wanted_.listen);
    leave("admin", config.admin, wanted_.admin);
    leave("tls", config.tls, wanted_.tls);
    leave("anonymous", config.anonymous, wanted_.anonymous);
    leave("trusted_proxies", config.trusted_proxies, wanted_.trusted_proxies);
    leave("replica", config.replica, wanted_.replica);
    leave("sessions", config.sessions, wanted_.sessions);
    leave("limits", config.limits, wanted_.limits);
    leave("timeouts", config.timeouts, wanted_.timeouts);
    leave("log", config.log, wanted_.log);
    leave("audit", config.audit, wanted_.audit);
    leave("metrics", config.metrics, wanted_.metrics);
    leave("traces", config.traces, wanted_.traces);
    leave("calls", config.calls, wanted_.calls);
    compare_backends();
    return std::move(changes_);
  }

 private:
  template <class Value>
  void take(std::string key, Value& running, const Value& wanted) {
    if (running == wanted) return;
    running = wanted;
    changes_.taken.push_back(std::move(key));
  }
  template <class Value>
  void leave(std::string key, const Value& running, const Value& wanted) {
    if (running != wanted) changes_.restart.push_back(std::move(key));
  }

  // Whether clients are asked at all, and whether tokens are announced, has been settled when the
  // listeners were opened and the paths were made. And who calls must not become ambiguous for the
  // children that run.
  void take_auth() {
    const AuthConfig running = changes_.config.auth;
    AuthConfig wanted = wanted_.auth;
    if (running.jwt.empty() != wanted.jwt.empty()) wanted.jwt = running.jwt;
    const auto is_ambiguous = [&wanted](const BackendConfig& backend) {
      return !ambiguous_variable(wanted, backend).empty();
    };
    if (running.is_used() == wanted.is_used() &&
        std::ranges::none_of(changes_.config.backends, is_ambiguous)) {
      take("auth", changes_.config.auth, wanted);
    }
    leave("auth", changes_.config.auth, wanted_.auth);
  }

  void compare_backends() {
    for (BackendConfig& running : changes_.config.backends) {
      const std::string key = "backends." + running.name;
      const auto found = std::ranges::find(wanted_.backends, running.name, &BackendConfig::name);
      if (found == wanted_.backends.end()) {
        changes_.restart.push_back(key);
        continue;
      }
      take(key + ".rules", running.rules, found->rules);
      take(key + ".methods", running.methods, found->methods);
      leave(key, running, *found);
    }
    for (const BackendConfig& wanted : wanted_.backends) {
      const auto& all = changes_.config.backends;
      const bool is_new = std::ranges::find(all, wanted.name, &BackendConfig::name) == all.end();
      if (is_new) changes_.restart.push_back("backends." + wanted.name);
    }
  }

  const Config& wanted_;
  ConfigChanges changes_;
};

}  // namespace

ConfigChanges changes_between(const Config& running, const Config& wanted) {
  return Comparison(running, wanted).run();
}

}  // namespace stdgate::config
