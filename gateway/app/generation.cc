#include "gateway/app/generation.h"

#include <utility>

#include "gateway/backend/backend.h"
#include "gateway/pool/launch_spec.h"
#include "transports/http/backend_paths.h"
#include "transports/http/landing_page.h"
#include "transports/http/mcp_endpoint.h"
#include "transports/http/rpc_endpoint.h"
#include "transports/websocket/websocket_endpoint.h"

namespace stdgate::app {

Generation::Generation(const config::Config& config, const GenerationServices& services)
    : config_(config),
      policy_({config.allowed_origins, config.allowed_hosts, config.rpc_stream}),
      routes_(policy_) {
  add_backends(services);
  http::add_rpc_routes(routes_, backends_, config_.limits);
  websocket::add_websocket_routes(routes_, backends_);
  add_mcp_sessions(services);
  http::add_landing_page(routes_, backends_, "stdgate " + services.identity.version);
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
        config_.metrics.tool_names};
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
