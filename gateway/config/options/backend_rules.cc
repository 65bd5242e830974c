// What the keys of a backend mean together.
#include "gateway/config/options/backend_rules.h"

#include <algorithm>

#include "gateway/config/modern_clients.h"
#include "gateway/config/options/backend_options.h"
#include "gateway/config/options/pool_rules.h"
#include "gateway/config/options/sandbox_rules.h"
#include "gateway/config/value_parser.h"

namespace stdgate::config {
namespace {

constexpr std::string_view kDefaultCancelMethod = "$/cancelRequest";

// What a backend has where its section does not say otherwise.
struct ProtocolDefaults {
  rpc::Framing framing;
  Isolation isolation;
  std::string_view cancel_method;
  bool revive = false;
  Revision revision = Revision::legacy;
};

ProtocolDefaults defaults_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::jsonrpc:
      return {rpc::Framing::newline, Isolation::shared, kDefaultCancelMethod};
    case Protocol::mcp:
      return {rpc::Framing::newline, Isolation::session, {}, true, Revision::automatic};
    case Protocol::lsp:
      return {rpc::Framing::content_length, Isolation::session, {}};
  }
  return {};
}

void apply_defaults(const Section& section, BackendConfig& out) {
  const ProtocolDefaults defaults = defaults_of(out.protocol);
  if (!section.has("framing")) out.framing = defaults.framing;
  // A process of the modern era is no session: those of older clients can share it.
  const bool is_modern =
      out.protocol == Protocol::mcp && section.has("revision") && out.revision == Revision::modern;
  if (!section.has("isolation")) {
    out.isolation = is_modern ? Isolation::shared : defaults.isolation;
  }
  if (!section.has("cancel_method")) out.cancel_method = defaults.cancel_method;
  if (!section.has("revive")) out.revive = defaults.revive;
  if (!section.has("cache")) out.cache = out.protocol == Protocol::mcp;
  if (!section.has("revision")) out.revision = defaults.revision;
  if (!section.has("share_modern")) out.share_modern = out.protocol == Protocol::mcp;
}

// Without a protocol nothing can be said against a cancel method.
void check_protocol(const Section& section, BackendConfig& out) {
  if (section.failed("protocol")) return;
  if (section.has("cancel_method") && out.protocol != Protocol::jsonrpc) {
    const std::string name = out.protocol == Protocol::mcp ? "MCP" : "LSP";
    section.fail_at_key("cancel_method",
                        "only for protocol jsonrpc; " + name + " has its own cancel notification");
  }
  if (section.has("revive") && out.protocol != Protocol::mcp) {
    section.fail_at_key("revive", "only for protocol mcp; others have no handshake to repeat");
  }
  for (const char* const key : {"bridge", "share_modern", "cache", "revision"}) {
    if (section.has(key) && out.protocol != Protocol::mcp) {
      section.fail_at_key(key, "only for protocol mcp");
    }
  }
  if (out.protocol == Protocol::lsp && out.isolation != Isolation::session) {
    section.fail("isolation",
                 "a language server serves one client; leave isolation out, or use session");
    out.isolation = Isolation::session;  // the pool is judged by what it will have to be
  }
}

// Children of their own for principals: nobody else has a variable that names one.
void check_principals(const Section& section, const BackendConfig& out) {
  if (section.failed("isolation") || section.failed("env")) return;
  if (out.isolation == Isolation::principal) return;
  for (const auto& [name, source] : out.env_sources) {
    if (!source.of_principal) continue;
    section.fail("env", name +
                            " names the principal, which needs isolation: principal; write $$ "
                            "for a dollar sign");
  }
}

// A backend whose calls were given more time than the default of `max_time` keeps that.
void complete_times(const Section& section, BackendConfig& out) {
  if (section.failed("timeout") || section.failed("max_time")) return;
  if (!section.has("max_time")) {
    out.max_time = std::max(out.max_time, out.timeout);
  } else if (out.max_time < out.timeout) {
    section.fail("max_time", "max_time (" + print_duration(out.max_time) +
                                 ") is the time of a call in all; it is less than timeout (" +
                                 print_duration(out.timeout) + ")");
  }
}

// Only MCP has tools, resources and prompts.
void check_rules(const Section& section, const BackendConfig& out) {
  if (section.failed("protocol") || out.protocol == Protocol::mcp) return;
  const bool names_elements = std::ranges::any_of(out.rules, [](const RuleConfig& rule) {
    return !rule.tools.empty() || !rule.resources.empty() || !rule.prompts.empty();
  });
  if (!names_elements) return;
  section.fail_at_key("rules", "tools, resources and prompts are for protocol mcp; name methods");
}

}  // namespace

std::string remark_on_bridge(const BackendConfig& backend) {
  if (backend.revision == Revision::modern) return {};
  const ModernClients clients = modern_clients(backend);
  std::string text(clients.what);
  if (!clients.advice.empty()) text.append("; ").append(clients.advice);
  return text;
}

void complete_backend(const Section& section, const LimitsConfig& limits, BackendConfig& out) {
  apply_defaults(section, out);
  check_protocol(section, out);
  check_principals(section, out);
  check_rules(section, out);
  complete_times(section, out);
  if (const Section* sandbox = section.part("sandbox"); sandbox != nullptr) {
    complete_sandbox(*sandbox, out.sandbox);
  }
  const Section* pool = section.part("pool");
  if (pool == nullptr || !pool->has("queue_bytes")) {
    out.pool.queue_bytes = std::max(out.pool.queue_bytes, limits.message);
  }
  if (pool == nullptr || !pool->has("remember")) out.pool.remember = out.protocol == Protocol::mcp;
  const bool lanes_known = !section.failed("protocol") && !section.failed("isolation");
  if (pool != nullptr) check_pool(*pool, limits, lanes_known, out);
}

}  // namespace stdgate::config
