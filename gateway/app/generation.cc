#include "gateway/app/generation.h"

#include <utility>

#include "gateway/backend/backend.h"
#include "gateway/pool/launch_spec.h"
#include "transports/http/backend_paths.h"
#include "transports/http/landing_page.h"
#include "transports/http/mcp_endpoint.h"
#include "transports/http/resource_metadata.h"
#include "transports/http/rpc_endpoint.h"
#include "transports/websocket/websocket_endpoint.h"

namespace stdgate::app {

namespace {

std::unique_ptr<auth::Authenticators> make_authenticators(const config::AuthConfig& config,
                                                          const pool::CoreServices& core) {
  if (!config.is_used()) return nullptr;
  return std::make_unique<auth::Authenticators>(config, auth::Clocks{core.clock, *core.wall_clock});
}

std::vector<std::string> issuers_of(const config::AuthConfig& config) {
  std::vector<std::string> issuers;
  for (const config::JwtConfig& jwt : config.jwt) issuers.push_back(jwt.issuer);
  return issuers;
}

}  // namespace

Generation::Generation(const config::Config& config, const GenerationServices& services)
    : config_(config),
      authenticators_(make_authenticators(config.auth, services.core)),
      policy_({config.allowed_origins, config.allowed_hosts, config.rpc_stream},
              {authenticators_.get(), config.admin.roles, config.auth.public_url}),
      routes_(policy_) {
  add_backends(services);
  http::add_rpc_routes(routes_, backends_, config_.limits);
  websocket::add_websocket_routes(routes_, backends_);
  add_mcp_sessions(services);
  http::add_landing_page(routes_, backends_, "stdgate " + services.identity.version);
  if (!config.auth.jwt.empty()) http::add_resource_metadata(routes_, issuers_of(config.auth));
  routes_.share_answers();
}

void Generation::add_backends(const GenerationServices& services) {
  BackendId id = 0;
  for (const config::BackendConfig& backend : config_.backends) {
    backend::BackendOptions options{
        backend,
        config_.limits,
        pool::make_launch_spec(backend, services.environment, services.identity.binary),
        config_.metrics.methods,
        config_.metrics.method_names,
        config_.metrics.tool_names,
        config_.roles};
    services.core.observer.on_backend(id, backend.name);
    backends_.add(std::make_unique<backend::Backend>(id, std::move(options),
                                                     make_dialect(backend, services.identity),
                                                     services.callers, services.core));
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
