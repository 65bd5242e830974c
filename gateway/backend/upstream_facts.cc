#include "gateway/backend/upstream_facts.h"

#include "gateway/pool/child_output.h"

namespace stdgate::backend {

UpstreamFacts upstream_facts(BackendId id, const config::BackendConfig& config,
                             const config::LimitsConfig& limits, const pool::Dialect& dialect,
                             HeldBytes* held) {
  return {.id = id,
          .name = config.name,
          .is_default = config.is_default,
          .is_required = config.is_required,
          .protocol = config.protocol,
          .codes = dialect.codes(),
          .envelope_limits = pool::ChildOutput::envelope_limits(limits, config.envelope),
          .owns_children = config.isolation == config::Isolation::session,
          .max_sessions = config.pool.sessions,
          .timeout = config.timeout,
          .idle_timeout = config.pool.idle_timeout,
          .grace = config.pool.grace,
          .held = held};
}

}  // namespace stdgate::backend
