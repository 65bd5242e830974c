#include "gateway/app/generation.h"

#include <algorithm>
#include <utility>

#include "gateway/app/state_files.h"
#include "gateway/backend/backend.h"
#include "gateway/backend/principal_pools.h"
#include "gateway/backend/upstream.h"
#include "gateway/config/config_changes.h"
#include "gateway/config/config_files.h"
#include "gateway/config/environment_variables.h"
#include "gateway/config/secret.h"
#include "gateway/mcp/memory_filter.h"
#include "gateway/policy/client.h"
#include "gateway/pool/child_link.h"
#include "transports/http/acp_endpoint.h"
#include "transports/http/auth_endpoints.h"
#include "transports/http/landing_page.h"
#include "transports/http/mcp_endpoint.h"
#include "transports/http/router.h"
#include "transports/http/rpc_endpoint.h"
#include "transports/websocket/websocket_endpoint.h"

namespace stdgate::app {

namespace {

// Hides the secrets of children with this environment.
std::function<std::string(std::string_view)> hider_of(const config::Config& config,
                                                      const config::BackendConfig& backend,
                                                      const pool::LaunchSpec& launch) {
  return [secrets = config::SecretTexts(config, backend, launch.environment)](
             std::string_view text) { return secrets.hide(text); };
}

// Makes the filter that answers for the server while it sleeps; none: no such filter. `principal`:
// see memory_key().
backend::MakeSleepingServer sleeping_of(const config::BackendConfig& backend,
                                        const pool::LaunchSpec& launch,
                                        const UpstreamServices& services,
                                        const std::string& principal = {}) {
  if (!backend.pool.remember) return nullptr;
  const auto find = [launch, principal, values = digest_of_values(backend),
                     &memories = services.memories] {
    return memories.of(memory_key(launch, values, principal));
  };
  return [find](const backend::SleepingServer::Parts& parts) {
    return std::make_unique<mcp::MemoryFilter>(find, parts);
  };
}

backend::BackendOptions options_of(const config::Config& config,
                                   const config::BackendConfig& backend, call::LabelNames& names,
                                   const UpstreamServices& services) {
  pool::LaunchSpec launch =
      pool::make_launch_spec(backend, services.environment, services.identity.binary);
  auto hide_secrets = hider_of(config, backend, launch);
  backend::BackendOptions options;
  options.config = backend;
  options.limits = config.limits;
  options.roles = config.roles;
  options.method_names = config.metrics.methods;
  options.known_methods = config.metrics.method_names;
  options.known_tools = config.metrics.tool_names;
  options.names = &names;
  options.launch = std::move(launch);
  options.input_timeout = config.timeouts.input;
  options.hide_secrets = std::move(hide_secrets);
  options.has_principals = config.auth.is_used();
  return options;
}

// Pools of children that are all alike but for what names their principal in their environment.
std::unique_ptr<backend::Upstream> make_pools(const config::Config& config, BackendId id,
                                              const config::BackendConfig& backend,
                                              call::LabelNames& names,
                                              const UpstreamServices& services) {
  backend::BackendOptions options = options_of(config, backend, names, services);
  options.config.isolation = config::Isolation::shared;
  // The state that a server keeps for its client must not be split over processes.
  options.config.serves_one = backend.protocol == config::Protocol::mcp;
  options.has_principals = false;  // none stands beside another one
  // How much a principal has called is known for longer than its pool lasts.
  options.quotas = std::make_shared<policy::ClientQuotas>(backend.calls_per_principal,
                                                          backend.calls, services.core.calls);
  const auto make_one = [id, config, options, services = services](
                            pool::LaunchSpec launch, backend::MakeSleepingServer sleeping) {
    backend::BackendOptions own = options;
    own.make_sleeping = std::move(sleeping);
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
  auto make = [make_one, options, environment,
               services = services](const policy::Principal& principal)
      -> tl::expected<std::unique_ptr<backend::Upstream>, std::string> {
    auto variables = config::variables_of_principal(options.config,
                                                    {principal.name, policy::source_of(principal)},
                                                    environment, config::read_text_file);
    if (!variables) return tl::unexpected(std::move(variables.error()));
    pool::LaunchSpec launch = options.launch;
    for (auto& [name, value] : *variables) launch.environment[name] = std::move(value);
    auto sleeping = sleeping_of(options.config, launch, services, policy::identity_of(&principal));
    return make_one(std::move(launch), std::move(sleeping));
  };
  const auto dialect = make_dialect(backend, services.identity);
  return std::make_unique<backend::PrincipalPools>(
      backend::upstream_facts(id, options.config, config.limits, *dialect,
                              services.core.payer_of(id).held),
      backend.pool.principals, make_one(options.launch, nullptr), std::move(make),
      backend::PrincipalPools::Services{services.core.clock, services.core.timers,
                                        services.core.log, services.core.observer});
}

}  // namespace

std::unique_ptr<backend::Upstream> make_upstream(const config::Config& config,
                                                 const config::BackendConfig& backend, BackendId id,
                                                 call::LabelNames& names,
                                                 const UpstreamServices& services) {
  if (backend.isolation == config::Isolation::principal) {
    return make_pools(config, id, backend, names, services);
  }
  backend::BackendOptions options = options_of(config, backend, names, services);
  options.make_sleeping = sleeping_of(backend, options.launch, services);
  return std::make_unique<backend::Backend>(id, std::move(options),
                                            make_dialect(backend, services.identity),
                                            services.callers, services.core);
}

std::unique_ptr<servers::VirtualServer> make_server(const config::Config& config,
                                                    const config::ServerConfig& server,
                                                    BackendId id, call::LabelNames& names,
                                                    const UpstreamServices& services) {
  return std::make_unique<servers::VirtualServer>(
      id,
      servers::VirtualServerOptions{server, config.limits, config.roles,
                                    config.metrics.method_names, config.metrics.tool_names,
                                    services.identity.version},
      make_dialect(config::as_backend(server), services.identity), names, services.callers,
      services.core);
}

namespace {

std::unique_ptr<auth::Authenticators> make_authenticators(
    const config::AuthConfig& config, const GenerationServices& services,
    std::unique_ptr<auth::Authenticators> predecessor = nullptr) {
  if (!config.is_used()) return nullptr;
  const pool::CoreServices& core = services.upstreams.core;
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

// The text of a 401 to a client that shows no credential.
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
                                       auth::Authenticator* authenticator, auth::Tickets& tickets) {
  return {authenticator,
          config.admin.roles,
          {config.auth.public_url, issuers_of(config.auth), config.auth.scopes,
           how_to_say_who_calls(config.auth)},
          &tickets};
}

}  // namespace

Generation::Generation(const config::Config& config, const GenerationServices& services)
    : config_(config),
      retired_({services.upstreams.core.clock, services.upstreams.core.timers,
                services.upstreams.core.log, backends_, config_.timeouts.drain,
                [this] { route_to_retired(); }}),
      authenticators_(make_authenticators(config.auth, services)),
      tickets_(services.upstreams.core.clock, services.fill_random),
      policy_(origin_rules_of(config), authentication_of(config, authenticators_.get(), tickets_)),
      routes_(policy_) {
  for (const config::BackendConfig& backend : config_.backends) {
    backends_.add(make(backend, services.upstreams));
  }
  for (const config::ServerConfig& server : config_.servers) {
    backends_.add(make(server, services.upstreams));
  }
  attach_members();
  add_routes(services);
}

bool Generation::can_name(const config::Config& config) const {
  const auto is_new = [this](const auto& one) { return !names_.contains(one.name); };
  const auto count = std::ranges::count_if(config.backends, is_new) +
                     std::ranges::count_if(config.servers, is_new);
  return names_.size() + static_cast<size_t>(count) <= kMaxNames;
}

void Generation::introduce_backends(Observer& observer) const {
  for (const auto& [name, named] : names_) observer.on_backend(named.id, name);
}

void Generation::take_over(const config::Config& config, const GenerationServices& services) {
  const config::Config former = std::exchange(config_, config);
  // The policy lets go of the former authenticators first; the new ones take over what they need of
  // them.
  auto former_ones = std::move(authenticators_);
  policy_.replace(origin_rules_of(config_), {});
  authenticators_ = make_authenticators(config_.auth, services, std::move(former_ones));
  // The owner of a ticket may be unknown by now.
  tickets_.forget_all();
  policy_.replace(origin_rules_of(config_),
                  authentication_of(config_, authenticators_.get(), tickets_));
  replace_backends(former, services);
  retired_.note(routes_.clear());
  add_routes(services);
  route_to_retired();
}

void Generation::replace_backends(const config::Config& former,
                                  const GenerationServices& services) {
  std::vector<std::unique_ptr<backend::Upstream>> running = backends_.take_all();
  std::vector<backend::Upstream*> started;
  replace(former.backends, 0, config_.backends, running, started, services);
  replace(former.servers, former.backends.size(), config_.servers, running, started, services);
  for (auto& upstream : running) {
    if (upstream != nullptr) retire(std::move(upstream));
  }
  for (backend::Upstream* const upstream : started) upstream->start();
  attach_members();
}

namespace {

config::BackendConfig rules_holder(const config::BackendConfig& backend) { return backend; }
config::BackendConfig rules_holder(const config::ServerConfig& server) {
  return config::as_backend(server);
}

void take(backend::Upstream& /*upstream*/, const config::BackendConfig& /*wanted*/) {}
void take(backend::Upstream& upstream, const config::ServerConfig& wanted) {
  dynamic_cast<servers::VirtualServer&>(upstream).take(wanted);
}

}  // namespace

// `offset`: the index of the first upstream of `former` among the running ones.
template <class Wanted>
void Generation::replace(const std::vector<Wanted>& former, size_t offset,
                         const std::vector<Wanted>& wanted_ones,
                         std::vector<std::unique_ptr<backend::Upstream>>& running,
                         std::vector<backend::Upstream*>& started,
                         const GenerationServices& services) {
  for (const Wanted& wanted : wanted_ones) {
    const auto was = std::ranges::find(former, wanted.name, &Wanted::name);
    std::unique_ptr<backend::Upstream>* const present =
        was == former.end() ? nullptr
                            : &running[offset + static_cast<size_t>(was - former.begin())];
    // Even a retired upstream applies the present rules.
    if (present != nullptr) (*present)->set_rules(rules_holder(wanted), config_.roles);
    if (present != nullptr && config::serves_as(*was, wanted)) {
      backend::Upstream& kept = **present;
      kept.set_default(wanted.is_default);
      kept.set_required(wanted.is_required);
      kept.set_limits(config_.limits, config_.timeouts);
      take(kept, wanted);
      backends_.add(std::move(*present));
    } else {
      auto made = make(wanted, services.upstreams);
      if (present != nullptr) made->succeed(**present);
      started.push_back(made.get());
      backends_.add(std::move(made));
    }
  }
}

void Generation::attach_members() {
  for (const auto* const some : {&backends_.all(), &backends_.retired()}) {
    for (const auto& upstream : *some) {
      auto* const server = dynamic_cast<servers::VirtualServer*>(upstream.get());
      if (server != nullptr) server->attach(backends_, config_);
    }
  }
}

Generation::Named& Generation::name_of(const std::string& name, const UpstreamServices& services) {
  const auto named = names_.find(name);
  if (named != names_.end()) return named->second;
  const auto id = static_cast<BackendId>(names_.size());
  services.core.observer.on_backend(id, name);
  return names_.try_emplace(name, id, config_.metrics.methods, services.core.observer)
      .first->second;
}

std::unique_ptr<backend::Upstream> Generation::make(const config::BackendConfig& backend,
                                                    const UpstreamServices& services) {
  Named& named = name_of(backend.name, services);
  return make_upstream(config_, backend, named.id, named.names, services);
}

std::unique_ptr<backend::Upstream> Generation::make(const config::ServerConfig& server,
                                                    const UpstreamServices& services) {
  Named& named = name_of(server.name, services);
  return make_server(config_, server, named.id, named.names, services);
}

void Generation::retire(std::unique_ptr<backend::Upstream> upstream) {
  backend::Upstream& retired = *upstream;
  std::unique_ptr<mcp::McpSessions> sessions;
  RetiredBackends::Agents agents;
  if (const auto found = acp_connections_.find(&retired); found != acp_connections_.end()) {
    agents = agents_of(std::move(found->second));
    acp_connections_.erase(found);
  }
  if (const auto found = mcp_sessions_.find(&retired); found != mcp_sessions_.end()) {
    sessions = std::move(found->second);
    mcp_sessions_.erase(found);
  }
  backends_.retire(std::move(upstream));
  retired_.add(retired, std::move(sessions), std::move(agents));
}

void Generation::add_routes(const GenerationServices& services) {
  http::add_rpc_routes(routes_, backends_, config_.limits);
  websocket::add_websocket_routes(routes_, backends_);
  add_mcp_routes(services);
  add_acp_routes(services);
  http::add_landing_page(routes_, backends_, "stdgate " + services.upstreams.identity.version);
  if (!config_.auth.jwt.empty()) http::add_resource_metadata(routes_);
  if (config_.auth.is_used()) http::add_ticket_route(routes_, tickets_);
  routes_.set_admin(config_.admin.address);
  routes_.share_answers();
}

void Generation::add_mcp_routes(const GenerationServices& services) {
  http::for_each_backend_path(
      backends_, [&](const std::string& prefix, backend::Upstream& backend) {
        if (backend.protocol() != config::Protocol::mcp) return;
        http::add_mcp_routes(routes_, prefix, sessions_of(backend, services), config_.limits);
      });
}

void Generation::add_acp_routes(const GenerationServices& services) {
  http::for_each_backend_path(
      backends_, [&](const std::string& prefix, backend::Upstream& backend) {
        if (backend.protocol() != config::Protocol::acp) return;
        acp::AcpConnections& connections = connections_of(backend, services);
        auto socket = std::make_shared<websocket::AcpSocketEndpoint>(connections);
        retired_.note({socket});
        http::add_acp_route(routes_, prefix,
                            std::make_shared<http::AcpEndpoint>(connections, std::move(socket),
                                                                retired_.door_of(backend.name())));
      });
}

RetiredBackends::Agents Generation::agents_of(std::unique_ptr<acp::AcpConnections> connections) {
  auto socket = std::make_shared<websocket::AcpSocketEndpoint>(*connections);
  auto door = std::make_shared<http::AcpEndpoint>(*connections, socket,
                                                  retired_.door_of(connections->backend().name()));
  return {std::move(connections), std::move(door), std::move(socket)};
}

acp::AcpConnections& Generation::connections_of(backend::Upstream& backend,
                                                const GenerationServices& services) {
  auto& connections = acp_connections_[&backend];
  if (connections != nullptr) return *connections;
  const auto is_meant = [&](const auto& one) { return one.name == backend.name(); };
  const auto config = std::ranges::find_if(config_.backends, is_meant);
  const pool::CoreServices& core = services.upstreams.core;
  const acp::AcpServices acp_services{backend,        services.upstreams.callers,
                                      core.timers,    core.clock,
                                      config_.limits, core.storages,
                                      config->linger};
  connections = std::make_unique<acp::AcpConnections>(acp_services, services.session_ids);
  return *connections;
}

// Retired backends stay at their paths for their MCP sessions and connections to agents, unless
// another backend is served there.
void Generation::route_to_retired() {
  http::Router leaving(policy_);
  const auto add = [&](const std::string& prefix, mcp::McpSessions& sessions) {
    const std::string path = prefix + "/mcp";
    if (routes_.find(path) != nullptr || leaving.find(path) != nullptr) return;
    http::add_mcp_routes(leaving, prefix, sessions, config_.limits);
  };
  retired_.for_each_served([&](const backend::Upstream& upstream, mcp::McpSessions& sessions) {
    add("/" + upstream.name(), sessions);
    if (upstream.is_default()) add("", sessions);
  });
  retired_.for_each_door([&](const backend::Upstream& upstream, const auto& door) {
    const auto add_door = [&](const std::string& prefix) {
      const std::string path = prefix + "/acp";
      const bool is_taken = routes_.find(path) != nullptr || leaving.find(path) != nullptr;
      if (!is_taken) http::add_acp_route(leaving, prefix, door);
    };
    add_door("/" + upstream.name());
    if (upstream.is_default()) add_door("");
  });
  policy_.begin_epoch();  // a head that is kept with its judgement names an endpoint
  retired_.note(routes_.replace_leaving(leaving));
}

mcp::McpSessions& Generation::sessions_of(backend::Upstream& backend,
                                          const GenerationServices& services) {
  auto& sessions = mcp_sessions_[&backend];
  if (sessions != nullptr) return *sessions;
  const pool::CoreServices& core = services.upstreams.core;
  const mcp::McpSessionServices session_services{backend,         services.upstreams.callers,
                                                 core.timers,     core.clock,
                                                 config_.limits,  core.storages,
                                                 config_.timeouts};
  sessions = std::make_unique<mcp::McpSessions>(session_services, backend.idle_timeout(),
                                                services.session_ids);
  if (mcp::McpSessions* const former = retired_.sessions_of(backend.name())) {
    sessions->succeed(*former);
  }
  return *sessions;
}

void Generation::drop_caches() {
  if (authenticators_ != nullptr) authenticators_->drop_caches();
  backends_.drop_caches();
}

size_t Generation::drop_replay(const Account* client, const std::function<bool()>& is_enough) {
  size_t count = 0;
  for_each_sessions(
      [&](mcp::McpSessions& sessions) { count += sessions.drop_replay(client, is_enough); });
  for_each_connections([&](acp::AcpConnections& connections) {
    count += connections.drop_replay(client, is_enough);
  });
  return count;
}

size_t Generation::forget_sessions(const Account* client, const std::function<bool()>& is_enough) {
  size_t count = 0;
  for_each_sessions(
      [&](mcp::McpSessions& sessions) { count += sessions.forget_idle(client, is_enough); });
  for_each_connections([&](acp::AcpConnections& connections) {
    count += connections.forget_idle(client, is_enough);
  });
  return count;
}

void Generation::drain_sessions() {
  retired_.leave_to_shutdown();
  for (const auto& [upstream, sessions] : mcp_sessions_) sessions->drain();
  for (const auto& [upstream, connections] : acp_connections_) connections->drain();
}

bool Generation::has_sessions() const {
  const auto is_used = [](const auto& one) { return one.second->size() > 0; };
  return retired_.has_sessions() || std::ranges::any_of(mcp_sessions_, is_used) ||
         std::ranges::any_of(acp_connections_, is_used);
}

void Generation::check_invariants() {
  backends_.check_invariants();
  retired_.check_invariants();
  for (const auto& [upstream, sessions] : mcp_sessions_) sessions->check_invariants();
  for (const auto& [upstream, connections] : acp_connections_) connections->check_invariants();
}

}  // namespace stdgate::app
