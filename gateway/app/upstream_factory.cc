#include "gateway/app/upstream_factory.h"

#include <utility>

#include "gateway/app/memory_key.h"
#include "gateway/backend/backend.h"
#include "gateway/backend/principal_pools.h"
#include "gateway/backend/upstream_facts.h"
#include "gateway/config/principal_variables.h"
#include "gateway/config/secret_texts.h"
#include "gateway/config/text_file.h"
#include "gateway/mcp/memory_filter.h"
#include "gateway/pool/launch_spec.h"

namespace stdgate::app {

namespace {

// What hides the secrets of children with this environment.
std::function<std::string(std::string_view)> hider_of(const config::Config& config,
                                                      const config::BackendConfig& backend,
                                                      const pool::LaunchSpec& launch) {
  return [secrets = config::SecretTexts(config, backend, launch.environment)](
             std::string_view text) { return secrets.hide(text); };
}

// What answers for the server while it sleeps; none: nothing does. `principal`: see MemoryFilter.
pool::MakeRecall recall_of(std::shared_ptr<mcp::ServerMemory> memory, std::string principal) {
  if (memory == nullptr) return nullptr;
  return [memory = std::move(memory),
          principal = std::move(principal)](const pool::RecallServices& services) {
    return std::make_unique<mcp::MemoryFilter>(memory, principal, services);
  };
}

// Null: nothing is to be remembered.
std::shared_ptr<mcp::ServerMemory> memory_of(const config::BackendConfig& backend,
                                             const pool::LaunchSpec& launch,
                                             const UpstreamServices& services) {
  return backend.pool.remember ? services.memories.of(memory_key(launch)) : nullptr;
}

backend::BackendOptions options_of(const config::Config& config,
                                   const config::BackendConfig& backend, call::BackendNames& names,
                                   const UpstreamServices& services) {
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
          &names,
          config.timeouts.input,
          std::move(hide_secrets),
          nullptr,
          nullptr,
          config.auth.is_used()};
}

// Pools of children that are all alike but for what names their principal in their environment.
std::unique_ptr<backend::Upstream> make_pools(const config::Config& config, BackendId id,
                                              const config::BackendConfig& backend,
                                              call::BackendNames& names,
                                              const UpstreamServices& services) {
  backend::BackendOptions options = options_of(config, backend, names, services);
  options.config.isolation = config::Isolation::shared;
  // What a server keeps for its client is not to be split over processes.
  options.config.serves_one = backend.protocol == config::Protocol::mcp;
  options.has_principals = false;  // none stands beside another one
  // How much a principal has called is known for longer than its pool lasts.
  options.quotas = std::make_shared<policy::ClientQuotas>(backend.calls_per_principal,
                                                          backend.calls, services.core.calls);
  const auto memory = memory_of(backend, options.launch, services);
  const auto make_one = [id, config, options, services = services](pool::LaunchSpec launch,
                                                                   pool::MakeRecall recall) {
    backend::BackendOptions own = options;
    own.make_recall = std::move(recall);
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
  auto make = [make_one, options, environment, memory](const policy::Principal& principal)
      -> tl::expected<std::unique_ptr<backend::Upstream>, std::string> {
    auto variables = config::variables_of_principal(options.config,
                                                    {principal.name, policy::source_of(principal)},
                                                    environment, config::read_text_file);
    if (!variables) return tl::unexpected(std::move(variables.error()));
    pool::LaunchSpec launch = options.launch;
    for (auto& [name, value] : *variables) launch.environment[name] = std::move(value);
    return make_one(std::move(launch), recall_of(memory, backend::identity_of(&principal)));
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
                                                 call::BackendNames& names,
                                                 const UpstreamServices& services) {
  if (backend.isolation == config::Isolation::principal) {
    return make_pools(config, id, backend, names, services);
  }
  backend::BackendOptions options = options_of(config, backend, names, services);
  options.make_recall = recall_of(memory_of(backend, options.launch, services), {});
  return std::make_unique<backend::Backend>(id, std::move(options),
                                            make_dialect(backend, services.identity),
                                            services.callers, services.core);
}

}  // namespace stdgate::app
