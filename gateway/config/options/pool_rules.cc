// Rules across the keys of a pool.
#include "gateway/config/options/pool_rules.h"

#include <algorithm>

#include "gateway/config/value_names.h"
#include "gateway/config/value_parser.h"

namespace stdgate::config {
namespace {

std::string named(const char* key, uint32_t value) {
  return std::string(key) + " (" + std::to_string(value) + ")";
}

// Keys for a lane that the backend does not have: a language server has no children that clients
// share, and with shared children a session has none of its own.
void check_lanes(const Section& section, const BackendConfig& backend) {
  const PoolConfig& pool = backend.pool;
  if (backend.protocol == Protocol::lsp && pool.min > 0) {
    section.fail("min", named("min", pool.min) +
                            " is for children that clients share, and a language server serves "
                            "one client; use warm");
  }
  if (backend.isolation != Isolation::session && pool.warm > 0) {
    section.fail("warm", named("warm", pool.warm) +
                             " is for sessions with a child of their own; with isolation " +
                             std::string(name_of(backend.isolation)) + " use min");
  }
}

// With isolation session, `min` children are kept for /rpc. Warm children leave it at least one
// place too, as they are idle but do not give way.
void check_session_share(const Section& section, const BackendConfig& backend) {
  const PoolConfig& pool = backend.pool;
  const std::string max = named("max", pool.max);
  const std::string warm = named("warm", pool.warm);
  if (backend.protocol == Protocol::lsp) {
    if (pool.warm > pool.max) section.fail("warm", warm + " is greater than " + max);
    return;
  }
  if (pool.min == pool.max && pool.max > 1) {
    return section.fail("min", named("min", pool.min) + " keeps all of " + max +
                                   " for /rpc and leaves sessions none; lower min, raise max, or "
                                   "use isolation shared");
  }
  const uint32_t kept = std::max(backend.kept_for_calls(), uint32_t{1});
  if (pool.warm <= pool.max - kept) return;
  section.fail("warm", warm + " is greater than " + std::to_string(pool.max - kept) +
                           ", what is left of " + max + " beside " + std::to_string(kept) +
                           " kept for /rpc");
}

// A min or warm that could not be read is 0, which breaks no rule.
void check_children(const Section& section, bool lanes_known, const BackendConfig& backend) {
  const PoolConfig& pool = backend.pool;
  if (lanes_known) check_lanes(section, backend);
  if (section.failed("max")) return;
  if (pool.min > pool.max) {
    section.fail("min", named("min", pool.min) + " is greater than " + named("max", pool.max));
  } else if (lanes_known && backend.isolation == Isolation::session) {
    check_session_share(section, backend);
  }
}

}  // namespace

void check_pool(const Section& section, const LimitsConfig& limits, bool lanes_known,
                const BackendConfig& backend) {
  const PoolConfig& pool = backend.pool;
  check_children(section, lanes_known, backend);
  if (pool.remember && lanes_known && backend.protocol != Protocol::mcp) {
    section.fail_at_key("remember", "only for protocol mcp; others have no lists to remember");
  }
  if (!section.failed("queue_bytes") && pool.queue_bytes < limits.message) {
    section.fail("queue_bytes",
                 "must hold the largest message; limits.message is " + print_size(limits.message));
  }
  if (!section.failed("backoff_min") && !section.failed("backoff_max") &&
      pool.backoff_min > pool.backoff_max) {
    section.fail("backoff_min", "backoff_min (" + print_duration(pool.backoff_min) +
                                    ") is greater than backoff_max (" +
                                    print_duration(pool.backoff_max) + ")");
  }
}

}  // namespace stdgate::config
