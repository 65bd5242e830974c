#include "gateway/config/config_changes.h"

#include <algorithm>
#include <string_view>

#include "gateway/schema/openrpc_document.h"

namespace stdgate::config {
namespace {

class Comparison {
 public:
  Comparison(const Config& running, const Config& wanted) : wanted_(wanted) {
    changes_.config = running;
  }

  ConfigChanges run() {
    Config& config = changes_.config;
    take("listen", config.listen, wanted_.listen);
    take("tls", config.tls, wanted_.tls);
    take("anonymous", config.anonymous, wanted_.anonymous);
    take("auth", config.auth, wanted_.auth);
    take("roles", config.roles, wanted_.roles);
    take("admin.roles", config.admin.roles, wanted_.admin.roles);
    take("allowed_origins", config.allowed_origins, wanted_.allowed_origins);
    take("allowed_hosts", config.allowed_hosts, wanted_.allowed_hosts);
    take("trusted_proxies", config.trusted_proxies, wanted_.trusted_proxies);
    take("rpc_stream", config.rpc_stream, wanted_.rpc_stream);
    take("watch", config.watch, wanted_.watch);
    take("limits", config.limits, wanted_.limits);
    take("timeouts", config.timeouts, wanted_.timeouts);
    take_log();
    take_backends();
    take_servers();
    config.secrets = wanted_.secrets;
    leave("admin", config.admin, wanted_.admin);
    leave("replica", config.replica, wanted_.replica);
    leave("state_dir", config.state_dir, wanted_.state_dir);
    leave("sessions", config.sessions, wanted_.sessions);
    leave("audit", config.audit, wanted_.audit);
    leave("metrics", config.metrics, wanted_.metrics);
    leave("traces", config.traces, wanted_.traces);
    leave("calls", config.calls, wanted_.calls);
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

  // A log has one format throughout.
  void take_log() {
    LogConfig wanted = wanted_.log;
    wanted.format = changes_.config.log.format;
    take("log", changes_.config.log, wanted);
    leave("log.format", changes_.config.log.format, wanted_.log.format);
  }
  void take_backends() {
    std::vector<BackendConfig>& running = changes_.config.backends;
    for (const BackendConfig& wanted : wanted_.backends) {
      const auto found = std::ranges::find(running, wanted.name, &BackendConfig::name);
      const std::string key = "backends." + wanted.name;
      if (found == running.end() || !serves_as(*found, wanted)) {
        changes_.taken.push_back(key);
        continue;
      }
      take(key + ".rules", found->rules, wanted.rules);
      take(key + ".methods", found->methods, wanted.methods);
      take(key + ".default", found->is_default, wanted.is_default);
      take(key + ".required", found->is_required, wanted.is_required);
    }
    for (const BackendConfig& backend : running) {
      const auto& all = wanted_.backends;
      const bool stays = std::ranges::find(all, backend.name, &BackendConfig::name) != all.end();
      if (!stays) changes_.taken.push_back("backends." + backend.name);
    }
    running = wanted_.backends;
  }

  void take_servers() {
    std::vector<ServerConfig>& running = changes_.config.servers;
    const auto note = [this](const ServerConfig& server) {
      changes_.taken.push_back("servers." + server.name);
    };
    for (const ServerConfig& wanted : wanted_.servers) {
      const auto found = std::ranges::find(running, wanted.name, &ServerConfig::name);
      if (found == running.end() || *found != wanted) note(wanted);
    }
    for (const ServerConfig& server : running) {
      const auto& all = wanted_.servers;
      if (std::ranges::find(all, server.name, &ServerConfig::name) == all.end()) note(server);
    }
    running = wanted_.servers;
  }

  const Config& wanted_;
  ConfigChanges changes_;
};

}  // namespace

bool operator==(const SchemaDocument& one, const SchemaDocument& other) {
  return (one.document ? one.document->text() : "") ==
         (other.document ? other.document->text() : "");
}

ConfigChanges changes_between(const Config& running, const Config& wanted) {
  return Comparison(running, wanted).run();
}

std::string changes_text(const ConfigChanges& changes) {
  std::string text;
  const auto append = [&text](std::string_view title, const std::vector<std::string>& keys) {
    text.append(title);
    for (const std::string& key : keys) text.append("\n  ").append(key);
    if (keys.empty()) text += " nothing";
    text += '\n';
  };
  append("a reload takes over:", changes.taken);
  append("a restart is needed for:", changes.restart);
  return text;
}

bool serves_as(const ServerConfig& running, const ServerConfig& wanted) {
  ServerConfig told = running;
  told.members = wanted.members;
  told.expose = wanted.expose;
  told.instructions = wanted.instructions;
  told.rules = wanted.rules;
  told.methods = wanted.methods;
  told.is_default = wanted.is_default;
  told.is_required = wanted.is_required;
  return told == wanted;
}

bool serves_as(const BackendConfig& running, const BackendConfig& wanted) {
  BackendConfig told = running;
  told.rules = wanted.rules;
  told.methods = wanted.methods;
  told.is_default = wanted.is_default;
  told.is_required = wanted.is_required;
  return told == wanted;
}

}  // namespace stdgate::config
