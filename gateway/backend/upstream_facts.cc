#include "gateway/backend/upstream_facts.h"

namespace stdgate::backend {

rpc::EnvelopeLimits client_envelope_limits(const config::LimitsConfig& limits) {
  rpc::EnvelopeLimits envelope;
  envelope.depth = limits.depth;
  envelope.batch = limits.batch;
  return envelope;
}

UpstreamFacts upstream_facts(BackendId id, const config::BackendConfig& config,
                             const config::LimitsConfig& limits, const pool::Dialect& dialect,
                             HeldBytes* held) {
  return {.id = id,
          .name = config.name,
          .is_default = config.is_default,
          .is_required = config.is_required,
          .protocol = config.protocol,
          .codes = dialect.codes(),
          .envelope_limits = client_envelope_limits(limits),
          .owns_children = config.isolation == config::Isolation::session,
          .max_sessions = config.pool.sessions,
          .timeout = config.timeout,
          .idle_timeout = config.pool.idle_timeout,
          .grace = config.pool.grace,
          .held = held};
}

}  // namespace stdgate::backend
