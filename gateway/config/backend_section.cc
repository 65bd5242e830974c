// The `backends` section.
#include "gateway/config/backend_section.h"

#include <algorithm>
#include <array>

#include "gateway/config/backend_name.h"
#include "gateway/config/value_parser.h"

namespace stdgate {
namespace {

constexpr std::string_view kDefaultCancelMethod = "$/cancelRequest";

// What a stdio server usually needs to start, and nothing that holds a secret.
constexpr std::array<std::string_view, 10> kDefaultEnvInherit{
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "TZ", "TMPDIR"};

// "npx -y server" -> ["npx", "-y", "server"]
std::string list_form(const std::string& command) {
  std::string list;
  size_t at = 0;
  while ((at = command.find_first_not_of(" \t\n", at)) != std::string::npos) {
    const size_t end = std::min(command.find_first_of(" \t\n", at), command.size());
    list += (list.empty() ? "\"" : ", \"") + command.substr(at, end - at) + "\"";
    at = end;
  }
  return "[" + list + "]";
}

void read_command(Section& section, std::vector<std::string>& out) {
  const auto value = section.find("command");
  if (!value) return section.fail("command", "missing; a backend needs a command to start");
  if (value->is_scalar()) {
    if (const auto text = value->text()) {
      value->fail("expected a list, found a text; no shell splits it. Write: " + list_form(*text));
    }
    return;
  }
  auto command = value->texts();
  if (!command) return;
  if (command->empty() || command->front().empty()) {
    return value->fail("must start with the program to run");
  }
  out = *std::move(command);
}

void read_env(Section& section, std::map<std::string, std::string>& out) {
  const auto value = section.find("env");
  const auto entries = value ? value->entries() : std::nullopt;
  if (!entries) return;
  for (const Value& entry : *entries) {
    auto text = entry.text();
    if (entry.name().empty() ||
        entry.name().find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
      entry.fail_at_key("not a name that an environment variable can have");
    } else if (text) {
      out.emplace(entry.name(), *std::move(text));
    }
  }
}

void read_env_inherit(Section& section, std::vector<std::string>& out) {
  out.assign(kDefaultEnvInherit.begin(), kDefaultEnvInherit.end());
  const auto value = section.find("env_inherit");
  const auto items = value ? value->list() : std::nullopt;
  if (!items) return;
  out.clear();
  for (const Value& item : *items) {
    auto name = item.text();
    if (!name) continue;
    const size_t star = name->find('*');
    if (name->empty() || name->find('=') != std::string::npos ||
        (star != std::string::npos && star + 1 != name->size())) {
      item.fail("expected a variable's name, or a prefix that ends in '*'; found " + item.found());
    } else {
      out.push_back(*std::move(name));
    }
  }
}

// What a backend has where its section does not say otherwise.
struct ProtocolDefaults {
  Framing framing;
  Isolation isolation;
  std::string_view cancel_method;
};

ProtocolDefaults defaults_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::jsonrpc:
      return {Framing::newline, Isolation::shared, kDefaultCancelMethod};
    case Protocol::mcp:
      return {Framing::newline, Isolation::session, {}};
    case Protocol::lsp:
      return {Framing::content_length, Isolation::session, {}};
  }
  return {};
}

void read_cancel_method(Section& section, Protocol protocol, std::string& out) {
  if (protocol == Protocol::jsonrpc) {
    section.take("cancel_method", out, &Value::text);
  } else if (const auto value = section.find("cancel_method")) {
    const std::string name = protocol == Protocol::mcp ? "MCP" : "LSP";
    value->fail_at_key("only for protocol jsonrpc; " + name + " has its own cancel notification");
  }
}

// Whether protocol and isolation are known, so that the pool can be held against them.
bool read_protocol(Section& section, BackendConfig& out) {
  const bool known = section.take_word("protocol", out.protocol, kProtocols);
  const ProtocolDefaults defaults = defaults_of(out.protocol);
  out.framing = defaults.framing;
  out.isolation = defaults.isolation;
  out.cancel_method = defaults.cancel_method;
  section.take_word("framing", out.framing, kFramings);
  const bool isolation_known = section.take_word("isolation", out.isolation, kIsolations);
  // Without a protocol nothing can be said against a cancel method.
  read_cancel_method(section, known ? out.protocol : Protocol::jsonrpc, out.cancel_method);
  if (known && out.protocol == Protocol::lsp && out.isolation == Isolation::shared) {
    section.fail("isolation",
                 "a language server serves one client; leave isolation out, or use session");
    out.isolation = Isolation::session;  // the pool is judged by what it will have to be
  }
  return known && isolation_known;
}

void read_rlimits(Section& backend, ResourceLimits& out) {
  const auto value = backend.find("rlimits");
  if (!value) return;
  Section section(*value);
  section.take("address_space", out.address_space_bytes, &Value::size, kAddressSpace);
  std::optional<Duration> cpu;
  section.take("cpu", cpu, &Value::duration, kCpuTime);
  if (cpu) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*cpu);
    if (seconds != *cpu) section.fail("cpu", "must be whole seconds");
    out.cpu_seconds = static_cast<uint64_t>(seconds.count());
  }
  section.take("open_files", out.open_files, &Value::count, kOpenFiles);
  section.take("processes", out.processes, &Value::count, kProcesses);
  section.finish();
}

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
  if (backend.isolation == Isolation::shared && pool.warm > 0) {
    section.fail("warm", named("warm", pool.warm) +
                             " is for sessions with a child of their own; with isolation shared "
                             "use min");
  }
}

// With isolation session, `min` children are kept for /rpc, and one even when min is 0, so that
// sessions never take the last place. A pool of one has none to keep warm.
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

// Read without `&&`, so that one error does not hide the other. A min or warm that could not be
// read is 0, which breaks no rule.
void read_children(Section& section, bool lanes_known, BackendConfig& out) {
  PoolConfig& pool = out.pool;
  section.take("min", pool.min, &Value::count, kPoolMin);
  const bool max_read = section.take("max", pool.max, &Value::count, kPoolMax);
  section.take("warm", pool.warm, &Value::count, kWarm);
  section.take("sessions", pool.sessions, &Value::count, kSessions);
  section.take("max_in_flight", pool.max_in_flight, &Value::count, kMaxInFlight);
  if (lanes_known) check_lanes(section, out);
  if (!max_read) return;
  if (pool.min > pool.max) {
    section.fail("min", named("min", pool.min) + " is greater than " + named("max", pool.max));
  } else if (lanes_known && out.isolation == Isolation::session) {
    check_session_share(section, out);
  }
}

void read_pool(Section& backend, const LimitsConfig& limits, bool lanes_known, BackendConfig& out) {
  PoolConfig& pool = out.pool;
  pool.queue_bytes = std::max(pool.queue_bytes, limits.message);
  const auto value = backend.find("pool");
  if (!value) return;
  Section section(*value);
  read_children(section, lanes_known, out);
  section.take("queue", pool.queue, &Value::count, kQueue);
  if (section.take("queue_bytes", pool.queue_bytes, &Value::size, kQueueBytes) &&
      pool.queue_bytes < limits.message) {
    section.fail("queue_bytes",
                 "must hold the largest message; limits.message is " + print_size(limits.message));
  }
  section.take("start_timeout", pool.start_timeout, &Value::duration, kStartTimeout);
  section.take("idle_timeout", pool.idle_timeout, &Value::duration, kIdleTimeout);
  section.take("grace", pool.grace, &Value::duration, kGrace);
  const bool least_read = section.take("backoff_min", pool.backoff_min, &Value::duration, kBackoff);
  const bool most_read = section.take("backoff_max", pool.backoff_max, &Value::duration, kBackoff);
  if (least_read && most_read && pool.backoff_min > pool.backoff_max) {
    section.fail("backoff_min", "backoff_min (" + print_duration(pool.backoff_min) +
                                    ") is greater than backoff_max (" +
                                    print_duration(pool.backoff_max) + ")");
  }
  section.take("breaker_failures", pool.breaker_failures, &Value::count, kBreakerFailures);
  section.finish();
}

void read_backend(Section& section, const LimitsConfig& limits, BackendConfig& out) {
  read_command(section, out.command);
  const bool lanes_known = read_protocol(section, out);
  section.take("default", out.is_default, &Value::flag);
  read_env(section, out.env);
  read_env_inherit(section, out.env_inherit);
  section.take("cwd", out.cwd, &Value::text);
  section.take("user", out.user, &Value::text);
  read_rlimits(section, out.rlimits);
  section.take("timeout", out.timeout, &Value::duration, kCallTimeout);
  section.take("expose_fault_details", out.expose_fault_details, &Value::flag);
  read_pool(section, limits, lanes_known, out);
}

}  // namespace

std::vector<BackendConfig> read_backends(const Value& value, const LimitsConfig& limits) {
  std::vector<BackendConfig> backends;
  const auto entries = value.entries();
  if (!entries) return backends;
  if (entries->empty()) value.fail_at_key("expected at least one backend");
  if (entries->size() > kMaxBackends) {
    value.fail_at_key("at most " + std::to_string(kMaxBackends) + " backends");
    return backends;
  }
  std::string default_name;
  for (const Value& entry : *entries) {
    const auto name = check_backend_name(entry.name());
    if (!name) entry.fail_at_key(name.error());
    BackendConfig& backend = backends.emplace_back();
    backend.name = entry.name();
    Section section(entry);
    backend.is_default = entries->size() == 1;
    read_backend(section, limits, backend);
    section.finish();
    if (!backend.is_default) continue;
    if (!default_name.empty()) {
      section.fail("default", "only one backend can be the default; '" + default_name + "' is");
    }
    default_name = backend.name;
  }
  return backends;
}

}  // namespace stdgate
