#include "tests/sim/sim_options.h"

#include <algorithm>
#include <string>

#include "tests/sim/sim_protocols.h"

namespace stdgate::sim {

namespace {

void draw_eras_of_clients(SimWorld& world, backend::BackendOptions& options) {
  config::BackendConfig& config = options.config;
  config.share_modern = world.chance(0.5);
  config.revive = world.chance(0.7);
  config.bridge =
      world.chance(0.6) ? config::Bridge::on : static_cast<config::Bridge>(world.pick(0, 2));
  config.serves_one = config.isolation == config::Isolation::shared && world.chance(0.4);
  config.cache = world.chance(0.7);
  config.revision = world.chance(0.6) ? config::Revision::automatic
                                      : static_cast<config::Revision>(world.pick(1, 2));
  config.pool.sticky = config.pool.queue % 5 != 0;
  config.pool.parked = static_cast<uint32_t>(world.pick(1, 4));
  options.has_principals = !config.serves_one;
  config.pool.remember = config.pool.queue % 3 != 0;
  if (config.pool.remember) options.make_sleeping = make_sleeping();
}

}  // namespace

backend::BackendOptions draw_options(SimWorld& world) {
  backend::BackendOptions options;
  config::BackendConfig& config = options.config;
  config.name = "sim";
  config.command = {"sim"};
  config.is_default = true;
  config.timeout = std::chrono::seconds(world.pick(1, 20));
  config.max_time = config.timeout * world.pick(1, 4);
  options.input_timeout = std::chrono::seconds(world.pick(1, 10));
  config.protocol = draw_protocol(world);
  const bool is_lsp = config.protocol == config::Protocol::lsp;
  config.isolation =
      is_lsp || world.chance(0.5) ? config::Isolation::session : config::Isolation::shared;
  config.framing =
      world.chance(is_lsp ? 0.8 : 0.2) ? rpc::Framing::content_length : rpc::Framing::newline;
  config::PoolConfig& pool = config.pool;
  pool.max = static_cast<uint32_t>(world.pick(1, 5));
  pool.min = is_lsp ? 0 : static_cast<uint32_t>(world.pick(0, pool.max));
  if (config.isolation == config::Isolation::session) {
    if (!is_lsp) pool.min = std::min(pool.min, pool.max - 1);
    const uint32_t most_warm = pool.max - std::max(config.kept_for_calls(), 1U);
    pool.warm = static_cast<uint32_t>(world.pick(0, most_warm));
  }
  pool.sessions = static_cast<uint32_t>(world.pick(1, 6));
  options.config.cancel_method = "$/cancelRequest";
  pool.max_in_flight = static_cast<uint32_t>(world.pick(1, 8));
  pool.queue = static_cast<uint32_t>(world.pick(0, 30));
  pool.queue_bytes = world.chance(0.2) ? 500 : 1 << 20;
  pool.start_timeout = std::chrono::seconds(1);
  pool.idle_timeout = std::chrono::seconds(world.pick(1, 10));
  pool.min_hold = std::chrono::milliseconds(world.chance(0.3) ? 0 : world.pick(1, 3000));
  pool.breaker_failures = static_cast<uint32_t>(world.pick(1, 5));
  if (world.chance(0.5)) {
    pool.backoff_min = std::chrono::milliseconds(world.pick(1, 1000));
    pool.backoff_max = pool.backoff_min * world.pick(1, 10);
  }
  if (world.chance(0.3)) pool.max_age = std::chrono::seconds(world.pick(2, 30));
  if (world.chance(0.3)) pool.max_calls = static_cast<uint32_t>(world.pick(1, 40));
  options.limits.message = 64 << 10;
  if (config.protocol == config::Protocol::mcp) draw_eras_of_clients(world, options);
  return options;
}

bool can_serve_alone(const config::BackendConfig& config) {
  const bool is_strict = config.isolation == config::Isolation::session;
  const uint32_t kept = is_strict ? config.kept_for_calls() : std::max(config.pool.min, 1U);
  return config.bridges() && (config.serves_one || config.pool.max > kept);
}

}  // namespace stdgate::sim
