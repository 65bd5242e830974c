#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "gateway/config/backend_facts.h"
#include "gateway/config/options/backend_options.h"
#include "gateway/config/options/option_rules.h"
#include "gateway/config/value_names.h"
#include "gateway/config/value_parser.h"
#include "gateway/schema/openrpc_document.h"

namespace stdgate::config {

// Rules across the keys of a pool.
namespace {

std::string one_of(Protocol protocol) {
  return protocol == Protocol::acp ? "an agent" : "a language server";
}

std::string named(const char* key, uint32_t value) {
  return std::string(key) + " (" + std::to_string(value) + ")";
}

// Keys for a lane that the backend does not have: a language server has no children that clients
// share, and with shared children a session has none of its own.
void check_lanes(const Section& section, const BackendConfig& backend) {
  const PoolConfig& pool = backend.pool;
  if (backend.serves_sessions_alone() && pool.min > 0) {
    section.fail("min", named("min", pool.min) + " is for children that clients share, and " +
                            one_of(backend.protocol) + " serves one client; use warm");
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
  if (backend.serves_sessions_alone()) {
    if (pool.warm > pool.max) section.fail("warm", warm + " is greater than " + max);
    return;
  }
  if (pool.min == pool.max && pool.max > 1) {
    return section.fail("min", named("min", pool.min) + " keeps all of " + max +
                                   " for /rpc and leaves no child for sessions; lower min, raise "
                                   "max, or use isolation shared");
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

// `lanes_known`: protocol and isolation could be read, so the pool can be checked against them.
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

}  // namespace

std::optional<Port> Port::parse(std::string_view text) {
  Port port;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, port.number);
  if (error != std::errc() || rest != end || port.number == 0) return std::nullopt;
  return port;
}

namespace {

NetworkConfig network(NetworkAccess access) {
  NetworkConfig config;
  config.access = access;
  return config;
}

SandboxConfig strict() {
  SandboxConfig config;
  config.used = true;
  config.filesystem.used = true;
  config.filesystem.default_read = false;
  config.network.access = NetworkAccess::none;
  return config;
}

}  // namespace

std::span<const Named<NetworkConfig>> words_of(const NetworkConfig& /*type*/) {
  static const std::array kWords{
      Named<NetworkConfig>{"any", network(NetworkAccess::any)},
      Named<NetworkConfig>{"none", network(NetworkAccess::none)},
      Named<NetworkConfig>{"outbound", network(NetworkAccess::outbound)}};
  return kWords;
}

std::span<const Named<SandboxConfig>> words_of(const SandboxConfig& /*type*/) {
  static const std::array kWords{Named<SandboxConfig>{"off", SandboxConfig()},
                                 Named<SandboxConfig>{"strict", strict()}};
  return kWords;
}

void begin_section(NetworkConfig& out) { out.access = NetworkAccess::ports; }

void begin_section(SandboxConfig& out) { out.used = true; }

namespace {

void complete_sandbox(const Section& sandbox, SandboxConfig& out) {
  const Section* const filesystem = sandbox.part("filesystem");
  if (filesystem == nullptr) return;
  out.filesystem.used = true;
  if (filesystem->failed("read") || filesystem->failed("default_read")) return;
  if (!filesystem->has("default_read")) {
    out.filesystem.default_read = !filesystem->has("read");
  } else if (out.filesystem.default_read && !out.filesystem.read.empty()) {
    filesystem->fail_at_key(
        "read",
        "has no effect, as default_read lets the child read all files; leave one of them out");
  }
}

constexpr Duration kLinger = std::chrono::minutes(30);
constexpr Duration kPromptTime = std::chrono::minutes(10);  // without a word of a model
constexpr std::string_view kDefaultCancelMethod = "$/cancelRequest";

// Defaults of a backend that depend on its other keys.
void apply_defaults(const Section& section, BackendConfig& out) {
  const ProtocolRow& defaults = row_of(out.protocol);
  const bool is_mcp = out.protocol == Protocol::mcp;
  if (!section.has("framing")) out.framing = defaults.framing;
  // A process of the modern era is no session, so sessions of older clients can share it.
  const bool is_modern = is_mcp && section.has("revision") && out.revision == Revision::modern;
  if (!section.has("isolation")) {
    out.isolation = is_modern ? Isolation::shared : defaults.isolation;
  }
  if (!section.has("cancel_method")) {
    out.cancel_method = out.protocol == Protocol::jsonrpc ? kDefaultCancelMethod : "";
  }
  if (!section.has("revive")) out.revive = is_mcp;
  if (!section.has("cache")) out.cache = is_mcp;
  if (!section.has("revision")) out.revision = is_mcp ? Revision::automatic : Revision::legacy;
  if (!section.has("linger") && out.protocol == Protocol::acp) out.linger = kLinger;
  if (!section.has("timeout") && out.protocol == Protocol::acp) out.timeout = kPromptTime;
  if (!section.has("share_modern")) out.share_modern = is_mcp;
}

// Without a protocol nothing can be said against a cancel method.
void check_protocol(const Section& section, BackendConfig& out) {
  if (section.failed("protocol")) return;
  if (section.has("cancel_method") && out.protocol != Protocol::jsonrpc) {
    section.fail_at_key("cancel_method", "only for protocol jsonrpc; " +
                                             std::string(row_of(out.protocol).title) +
                                             " has its own cancel notification");
  }
  if (section.has("revive") && out.protocol != Protocol::mcp) {
    section.fail_at_key("revive", "only for protocol mcp; others have no handshake to repeat");
  }
  for (const char* const key : {"bridge", "share_modern", "cache", "revision"}) {
    if (section.has(key) && out.protocol != Protocol::mcp) {
      section.fail_at_key(key, "only for protocol mcp");
    }
  }
  if (section.has("linger") && out.protocol != Protocol::acp) {
    section.fail_at_key("linger", "only for protocol acp");
  }
  if (out.serves_sessions_alone() && out.isolation != Isolation::session) {
    section.fail("isolation",
                 one_of(out.protocol) + " serves one client; leave isolation out, or use session");
    out.isolation = Isolation::session;  // the pool is judged by what it will have to be
  }
}

// Only children that belong to one principal have variables that name it.
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
    section.fail("max_time",
                 "max_time (" + print_duration(out.max_time) +
                     ") is the time of a whole call, and cannot be less than timeout (" +
                     print_duration(out.timeout) + ")");
  }
}

// Only MCP has tools, resources and prompts, and only ACP has agents.
void check_rules(const Section& section, const BackendConfig& out) {
  if (section.failed("protocol")) return;
  const bool names_agents = std::ranges::any_of(
      out.rules, [](const RuleConfig& rule) { return !rule.from_agent.empty(); });
  if (names_agents && out.protocol != Protocol::acp) {
    section.fail_at_key("rules", "from_agent is for protocol acp");
  }
  if (out.protocol == Protocol::mcp) return;
  const bool names_elements = std::ranges::any_of(out.rules, [](const RuleConfig& rule) {
    return !rule.tools.empty() || !rule.resources.empty() || !rule.prompts.empty();
  });
  if (!names_elements) return;
  section.fail_at_key("rules", "tools, resources and prompts are for protocol mcp; name methods");
}

constexpr size_t kMaxLockFile = size_t{8} << 20;

// Tools have their schemas from their server, methods of other protocols from a file.
void complete_schema(const Section& section, BackendConfig& out) {
  const bool has_methods = out.protocol == Protocol::jsonrpc || out.protocol == Protocol::lsp;
  const bool is_known = !section.failed("protocol") && !section.failed("schema");
  if (is_known && !out.schema.empty() && !has_methods) {
    return section.fail_at_key("schema",
                               out.protocol == Protocol::mcp
                                   ? "only for protocols jsonrpc and lsp; a server of mcp "
                                     "lists the schemas of its tools, which check uses"
                                   : "only for protocols jsonrpc and lsp");
  }
  if (is_known && out.check.any() && out.schema.empty() && out.protocol != Protocol::mcp) {
    section.fail_at_key("check", has_methods ? "needs schema, the file of an OpenRPC document"
                                             : "only for protocols mcp, jsonrpc and lsp");
  }
  const Value* const named = section.peek("schema");
  if (out.schema.empty() || named == nullptr || !named->file_reader()) return;
  const auto text = named->read_file(out.schema, schema::OpenRpcDocument::kMaxText);
  if (!text) return;
  auto document = schema::OpenRpcDocument::read(*text);
  if (document) {
    out.document.document = std::make_shared<const schema::OpenRpcDocument>(*std::move(document));
    return;
  }
  for (const schema::Misfit& fault : document.error()) {
    const std::string place = fault.place.empty() ? "the document" : fault.place;
    section.fail("schema",
                 out.schema + " is no OpenRPC document: " + place + ": expected " + fault.expected);
  }
}

// The lock file need not be there yet: then nothing is pinned.
void complete_pins(const Section& section, BackendConfig& out) {
  if (out.pins == Pins::off) return;
  if (!section.failed("protocol") && out.protocol != Protocol::mcp) {
    section.fail_at_key("pins", "only for protocol mcp; others have no tools");
  }
  if (out.lock.empty()) out.lock = "stdgate.lock";
  out.lock_text = section.read_file_if_any("lock", out.lock, kMaxLockFile).value_or("");
}

}  // namespace

std::string remark_on_bridge(const BackendConfig& backend) {
  if (backend.revision == Revision::modern) return {};
  return std::string(modern_clients(backend).what);
}

void complete_backend(const Section& section, const LimitsConfig& limits, BackendConfig& out) {
  apply_defaults(section, out);
  check_protocol(section, out);
  check_principals(section, out);
  check_rules(section, out);
  complete_times(section, out);
  complete_schema(section, out);
  complete_pins(section, out);
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
