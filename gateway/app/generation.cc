#include "gateway/app/generation.h"

#include <utility>

#include "gateway/backend/backend.h"
#include "gateway/backend/principal_pools.h"
#include "gateway/backend/upstream_facts.h"
#include "gateway/config/principal_variables.h"
#include "gateway/config/secret_texts.h"
#include "gateway/config/text_file.h"
#include "gateway/pool/launch_spec.h"
#include "transports/http/backend_paths.h"
#include "transports/http/landing_page.h"
#include "transports/http/mcp_endpoint.h"
#include "transports/http/resource_metadata.h"
#include "transports/http/rpc_endpoint.h"
#include "transports/websocket/websocket_endpoint.h"

namespace stdgate::app {

namespace {

std::unique_ptr<auth::Authenticators> make_authenticators(
    const config::AuthConfig& config, const GenerationServices& services,
    std::unique_ptr<auth::Authenticators> predecessor = nullptr) {
  if (!config.is_used()) return nullptr;
  const pool::CoreServices& core = services.core;
  return std::make_unique<auth::Authenticators>(
      config, auth::Clocks{core.clock, *core.wall_clock},
      auth::KeyServices{services.fetcher, core.clock, core.timers, core.log, core.observer},
      std::move(predecessor));
}

std::vector<std::string> issuers_of(const config::AuthConfig& config) {
  std::vector<std::string> issuers;
  issuers.reserve(config.jwt.size());
  for (const config::JwtConfig& jwt : config.jwt) issuers.push_back(jwt.issuer);
  return issuers;
}

// For the 401 of whoever shows nothing.
std::string how_to_say_who_calls(const config::AuthConfig& auth) {
  std::string text = "say who calls: ";
  const size_t begin = text.size();
  const auto add = [&](std::string_view way) {
    text.append(text.size() == begin ? "" : ", or ").append(way);
  };
  const bool has_keys = !auth.api_keys.empty() || !auth.keys.empty();
  if (has_keys) add("Authorization: Bearer KEY");
  if (has_keys) add("X-API-Key: KEY");
  if (!auth.jwt.empty()) add("Authorization: Bearer TOKEN");
  if (!auth.signatures.empty()) add("a signature (RFC 9421)");
  if (auth.mtls.used) add("a certificate of a client");
  return text;
}

http::OriginRules origin_rules_of(const config::Config& config) {
  return {config.allowed_origins, config.allowed_hosts, config.rpc_stream};
}

http::Authentication authentication_of(const config::Config& config,
                                       auth::Authenticator* authenticator) {
  return {authenticator,
          config.admin.roles,
          {config.auth.public_url, issuers_of(config.auth), config.auth.scopes,
           how_to_say_who_calls(config.auth)}};
}

// What hides the secrets of children with this environment.
std::function<std::string(std::string_view)> hider_of(const config::Config& config,
                                                      const config::BackendConfig& backend,
                                                      const pool::LaunchSpec& launch) {
  return [secrets = config::SecretTexts(config, backend, launch.environment)](
             std::string_view text) { return secrets.hide(text); };
}

backend::BackendOptions options_of(const config::Config& config,
                                   const config::BackendConfig& backend,
                                   const GenerationServices& services) {
  pool::LaunchSpec launch =
      pool::make_launch_spec(backend, services.environment, services.identity.binary);
  auto hide_secrets = hider_of(config, backend, launch);
  return {backend,
          config.limits,
          std::move(launch),
          config.metrics.methods,
          config.metrics.method_names,
          config.metrics.tool_names,
          config.roles,
          nullptr,
          config.timeouts.input,
          std::move(hide_secrets)};
}

// Pools of children that are all alike but for what names their principal in their environment.
std::unique_ptr<backend::Upstream> make_pools(const config::Config& config, BackendId id,
                                              const config::BackendConfig& backend,
                                              const GenerationServices& services) {
  const auto names =
      std::make_shared<backend::BackendNames>(id, config.metrics.methods, services.core.observer);
  backend::BackendOptions options = options_of(config, backend, services);
  options.config.isolation = config::Isolation::shared;
  options.names = names.get();
  // How much a principal has called is known for longer than its pool lasts.
  options.quotas = std::make_shared<policy::ClientQuotas>(backend.calls_per_principal,
                                                          backend.calls, services.core.calls);
  // `names` is kept by the function, which outlives the pools that it makes.
  const auto make_one = [id, config, options, services = services, names](pool::LaunchSpec launch) {
    backend::BackendOptions own = options;
    own.hide_secrets = hider_of(config, own.config, launch);
    own.launch = std::move(launch);
    return std::make_unique<backend::Backend>(id, std::move(own),
                                              make_dialect(own.config, services.identity),
                                              services.callers, services.core);
  };
  const config::Environment environment = [&variables =
                                               services.environment](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  auto make = [make_one, options, environment](const policy::Principal& principal)
      -> tl::expected<std::unique_ptr<backend::Upstream>, std::string> {
    auto variables = config::variables_of_principal(options.config,
                                                    {principal.name, policy::source_of(principal)},
                                                    environment, config::read_text_file);
    if (!variables) return tl::unexpected(std::move(variables.error()));
    pool::LaunchSpec launch = options.launch;
    for (auto& [name, value] : *variables) launch.environment[name] = std::move(value);
    return make_one(std::move(launch));
  };
  const auto dialect = make_dialect(backend, services.identity);
  return std::make_unique<backend::PrincipalPools>(
      backend::upstream_facts(id, options.config, config.limits, *dialect), backend.pool.principals,
      make_one(options.launch), std::move(make),
      backend::PrincipalPools::Services{services.core.clock, services.core.timers,
                                        services.core.log, services.core.observer});
}

}  // namespace

Generation::Generation(const config::Config& config, const GenerationServices& services)
    : config_(config),
      authenticators_(make_authenticators(config.auth, services)),
      policy_(origin_rules_of(config), authentication_of(config, authenticators_.get())),
      routes_(policy_) {
  add_backends(services);
  http::add_rpc_routes(routes_, backends_, config_.limits);
  websocket::add_websocket_routes(routes_, backends_);
  add_mcp_sessions(services);
  http::add_landing_page(routes_, backends_, "stdgate " + services.identity.version);
  if (!config.auth.jwt.empty()) http::add_resource_metadata(routes_);
  routes_.share_answers();
}

void Generation::take_over(const config::Config& config, const GenerationServices& services) {
  config_ = config;
  // The policy lets go of the former authenticators first, of which the new ones take what they
  // need.
  auto former = std::move(authenticators_);
  policy_.replace(origin_rules_of(config_), {});
  authenticators_ = make_authenticators(config_.auth, services, std::move(former));
  policy_.replace(origin_rules_of(config_), authentication_of(config_, authenticators_.get()));
  for (const config::BackendConfig& backend : config_.backends) {
    if (backend::Upstream* const upstream = backends_.find(backend.name)) {
      upstream->set_rules(backend, config_.roles);
    }
  }
}

void Generation::add_backends(const GenerationServices& services) {
  BackendId id = 0;
  for (const config::BackendConfig& backend : config_.backends) {
    services.core.observer.on_backend(id, backend.name);
    if (backend.isolation == config::Isolation::principal) {
      backends_.add(make_pools(config_, id, backend, services));
    } else {
      backends_.add(std::make_unique<backend::Backend>(id, options_of(config_, backend, services),
                                                       make_dialect(backend, services.identity),
                                                       services.callers, services.core));
    }
    ++id;
  }
}

void Generation::add_mcp_sessions(const GenerationServices& services) {
  http::for_each_backend_path(
      backends_, [&](const std::string& prefix, backend::Upstream& backend) {
        if (backend.protocol() != config::Protocol::mcp) return;
        auto& sessions = mcp_sessions_[backend.id()];
        if (sessions == nullptr) {
          const mcp::McpSessionServices session_services{backend,
                                                         services.callers,
                                                         services.core.timers,
                                                         services.core.clock,
                                                         config_.limits,
                                                         services.core.storages,
                                                         config_.timeouts.keep_alive,
                                                         config_.timeouts.first_stream};
          sessions = std::make_unique<mcp::McpSessions>(session_services, backend.idle_timeout(),
                                                        services.session_ids);
        }
        http::add_mcp_routes(routes_, prefix, *sessions, config_.limits);
      });
}

void Generation::drain_sessions() {
  for (const auto& [id, sessions] : mcp_sessions_) sessions->drain();
}

void Generation::check_invariants() {
  backends_.check_invariants();
  for (const auto& [id, sessions] : mcp_sessions_) sessions->check_invariants();
}

}  // namespace stdgate::app
