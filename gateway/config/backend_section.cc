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

void read_protocol(Section& section, BackendConfig& out) {
  bool known = false;
  const auto protocol = section.find("protocol");
  if (protocol && protocol->is_scalar() && protocol->found() == "'lsp'") {
    protocol->fail("lsp is not supported yet");
  } else {
    known = section.take_word("protocol", out.protocol, kProtocols);
  }
  section.take_word("framing", out.framing, kFramings);
  const auto cancel_method = section.find("cancel_method");
  if (known && out.protocol == Protocol::mcp) {
    if (cancel_method) {
      cancel_method->fail_at_key("only for protocol jsonrpc; MCP has its own cancel notification");
    }
    return;
  }
  out.cancel_method = kDefaultCancelMethod;
  section.take("cancel_method", out.cancel_method, &Value::text);
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

// Bounds are read without `&&`, so that one error does not hide the other.
void read_pool(Section& backend, const LimitsConfig& limits, PoolConfig& out) {
  out.queue_bytes = std::max(out.queue_bytes, limits.message);
  const auto value = backend.find("pool");
  if (!value) return;
  Section section(*value);
  section.refuse_unsupported("warm");
  const bool min_read = section.take("min", out.min, &Value::count, kPoolMin);
  const bool max_read = section.take("max", out.max, &Value::count, kPoolMax);
  if (min_read && max_read && out.min > out.max) {
    section.fail("min", "min (" + std::to_string(out.min) + ") is greater than max (" +
                            std::to_string(out.max) + ")");
  }
  section.take("max_in_flight", out.max_in_flight, &Value::count, kMaxInFlight);
  section.take("queue", out.queue, &Value::count, kQueue);
  if (section.take("queue_bytes", out.queue_bytes, &Value::size, kQueueBytes) &&
      out.queue_bytes < limits.message) {
    section.fail("queue_bytes",
                 "must hold the largest message; limits.message is " + print_size(limits.message));
  }
  section.take("start_timeout", out.start_timeout, &Value::duration, kStartTimeout);
  section.take("idle_timeout", out.idle_timeout, &Value::duration, kIdleTimeout);
  section.take("grace", out.grace, &Value::duration, kGrace);
  const bool least_read = section.take("backoff_min", out.backoff_min, &Value::duration, kBackoff);
  const bool most_read = section.take("backoff_max", out.backoff_max, &Value::duration, kBackoff);
  if (least_read && most_read && out.backoff_min > out.backoff_max) {
    section.fail("backoff_min", "backoff_min (" + print_duration(out.backoff_min) +
                                    ") is greater than backoff_max (" +
                                    print_duration(out.backoff_max) + ")");
  }
  section.take("breaker_failures", out.breaker_failures, &Value::count, kBreakerFailures);
  section.finish();
}

void read_backend(Section& section, const LimitsConfig& limits, BackendConfig& out) {
  section.refuse_unsupported("isolation");
  section.refuse_unsupported("warm");
  section.refuse_unsupported("lsp");
  read_command(section, out.command);
  read_protocol(section, out);
  section.take("default", out.is_default, &Value::flag);
  read_env(section, out.env);
  read_env_inherit(section, out.env_inherit);
  section.take("cwd", out.cwd, &Value::text);
  section.take("user", out.user, &Value::text);
  read_rlimits(section, out.rlimits);
  section.take("timeout", out.timeout, &Value::duration, kCallTimeout);
  section.take("expose_fault_details", out.expose_fault_details, &Value::flag);
  read_pool(section, limits, out.pool);
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
