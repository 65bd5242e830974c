// The resolved configuration as YAML, for people and for parse_config().
#include <yaml-cpp/yaml.h>

#include "gateway/config/config_parser.h"
#include "gateway/config/secret.h"
#include "gateway/config/value_names.h"
#include "gateway/config/value_parser.h"
#include "gateway/config/variable_expansion.h"

namespace stdgate {
namespace {

template <class T, size_t N>
std::string word_of(T value, const std::array<Named<T>, N>& words) {
  for (const Named<T>& word : words) {
    if (word.value == value) return std::string(word.name);
  }
  return {};
}

// Writes keys with values in the current map. Texts are always quoted, so that none can be taken
// for something else.
class MapPrinter {
 public:
  explicit MapPrinter(YAML::Emitter& out) : out_(out) {}

  void text(const std::string& key, const std::string& value) {
    out_ << YAML::Key << key << YAML::Value << YAML::DoubleQuoted << escape_variables(value);
  }
  void texts(const std::string& key, const std::vector<std::string>& values) {
    out_ << YAML::Key << key << YAML::Value << YAML::Flow << YAML::BeginSeq;
    for (const std::string& value : values) out_ << YAML::DoubleQuoted << escape_variables(value);
    out_ << YAML::EndSeq;
  }
  void numbers(const std::string& key, const std::vector<double>& values) {
    out_ << YAML::Key << key << YAML::Value << YAML::Flow << YAML::BeginSeq;
    for (const double value : values) out_ << print_decimal(value);
    out_ << YAML::EndSeq;
  }
  // Numbers with or without unit, and words of a table.
  void plain(const std::string& key, const std::string& value) {
    out_ << YAML::Key << key << YAML::Value << value;
  }
  void count(const std::string& key, uint64_t value) { plain(key, std::to_string(value)); }
  void size(const std::string& key, uint64_t value) { plain(key, print_size(value)); }
  void duration(const std::string& key, Duration value) { plain(key, print_duration(value)); }
  void flag(const std::string& key, bool value) {
    out_ << YAML::Key << key << YAML::Value << value;
  }

  void begin(const std::string& key) { out_ << YAML::Key << key << YAML::Value << YAML::BeginMap; }
  void end() { out_ << YAML::EndMap; }

 private:
  YAML::Emitter& out_;
};

void print_env(MapPrinter& map, const std::map<std::string, std::string>& env) {
  map.begin("env");
  for (const auto& [name, value] : env) map.text(name, hide_secret_variable(name, value));
  map.end();
}

void print_rlimits(MapPrinter& map, const ResourceLimits& limits) {
  map.begin("rlimits");
  if (limits.address_space_bytes) map.size("address_space", *limits.address_space_bytes);
  if (limits.cpu_seconds) {
    map.duration("cpu", std::chrono::seconds(static_cast<int64_t>(*limits.cpu_seconds)));
  }
  if (limits.open_files) map.count("open_files", *limits.open_files);
  if (limits.processes) map.count("processes", *limits.processes);
  map.end();
}

void print_pool(MapPrinter& map, const PoolConfig& pool) {
  map.begin("pool");
  map.count("min", pool.min);
  map.count("max", pool.max);
  map.count("warm", pool.warm);
  map.count("sessions", pool.sessions);
  map.count("max_in_flight", pool.max_in_flight);
  map.count("queue", pool.queue);
  map.size("queue_bytes", pool.queue_bytes);
  map.duration("start_timeout", pool.start_timeout);
  map.duration("idle_timeout", pool.idle_timeout);
  map.duration("grace", pool.grace);
  map.duration("backoff_min", pool.backoff_min);
  map.duration("backoff_max", pool.backoff_max);
  map.count("breaker_failures", pool.breaker_failures);
  map.end();
}

void print_backend(MapPrinter& map, const BackendConfig& backend) {
  map.begin(backend.name);
  std::vector<std::string> command;
  for (const std::string& argument : backend.command) command.push_back(hide_passwords(argument));
  map.texts("command", command);
  map.plain("protocol", word_of(backend.protocol, kProtocols));
  map.plain("framing", word_of(backend.framing, kFramings));
  map.plain("isolation", word_of(backend.isolation, kIsolations));
  map.flag("default", backend.is_default);
  if (!backend.env.empty()) print_env(map, backend.env);
  map.texts("env_inherit", backend.env_inherit);
  if (!backend.cwd.empty()) map.text("cwd", backend.cwd);
  if (!backend.user.empty()) map.text("user", backend.user);
  if (backend.rlimits != ResourceLimits{}) print_rlimits(map, backend.rlimits);
  map.duration("timeout", backend.timeout);
  if (backend.protocol == Protocol::jsonrpc) map.text("cancel_method", backend.cancel_method);
  map.flag("expose_fault_details", backend.expose_fault_details);
  print_pool(map, backend.pool);
  map.end();
}

void print_limits(MapPrinter& map, const LimitsConfig& limits) {
  map.begin("limits");
  map.size("message", limits.message);
  map.size("headers", limits.headers);
  map.count("batch", limits.batch);
  map.count("depth", limits.depth);
  map.count("connections", limits.connections);
  map.size("buffered", limits.buffered);
  map.size("outbox", limits.outbox);
  map.size("replay", limits.replay);
  map.count("replay_events", limits.replay_events);
  map.end();
}

void print_timeouts(MapPrinter& map, const TimeoutsConfig& timeouts) {
  map.begin("timeouts");
  map.duration("header", timeouts.header);
  map.duration("body", timeouts.body);
  map.duration("idle", timeouts.idle);
  map.duration("drain", timeouts.drain);
  map.duration("keep_alive", timeouts.keep_alive);
  map.duration("ping", timeouts.ping);
  map.duration("pong", timeouts.pong);
  map.end();
}

void print_log(MapPrinter& map, const LogConfig& log) {
  map.begin("log");
  map.plain("level", word_of(log.level, kLogLevels));
  map.plain("format", word_of(log.format, kLogFormats));
  map.flag("calls", log.calls);
  map.flag("payloads", log.payloads);
  map.size("payload_limit", log.payload_limit);
  map.texts("redact", log.redact);
  map.end();
}

void print_metrics(MapPrinter& map, const MetricsConfig& metrics) {
  map.begin("metrics");
  map.numbers("buckets", metrics.buckets);
  map.count("methods", metrics.methods);
  map.end();
}

}  // namespace

std::string print_config(const Config& config) {
  YAML::Emitter out;
  MapPrinter map(out);
  out << YAML::BeginMap;
  map.texts("listen", config.listen);
  map.text("admin", config.admin.empty() ? "off" : config.admin);
  map.texts("allowed_origins", config.allowed_origins);
  map.texts("allowed_hosts", config.allowed_hosts);
  map.begin("backends");
  for (const BackendConfig& backend : config.backends) print_backend(map, backend);
  map.end();
  print_limits(map, config.limits);
  print_timeouts(map, config.timeouts);
  print_log(map, config.log);
  print_metrics(map, config.metrics);
  out << YAML::EndMap << YAML::Newline;
  return out.c_str();
}

}  // namespace stdgate
