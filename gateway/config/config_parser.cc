// Reading gateway.yaml: one function per section. The only place where yaml-cpp may throw: nothing
// leaves parse_config() but values.
#include "gateway/config/config_parser.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "gateway/base/address.h"
#include "gateway/config/backend_section.h"
#include "gateway/config/section_reader.h"
#include "gateway/config/value_parser.h"
#include "gateway/config/variable_expansion.h"

namespace stdgate {
namespace {

constexpr std::string_view kDefaultListen = "127.0.0.1:8080";
constexpr std::string_view kDefaultAdmin = "127.0.0.1:9464";
constexpr std::string_view kNoAdmin = "off";

// From the gateway's own time to a tool that runs for a minute.
constexpr std::array kDefaultBuckets{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                     0.01,    0.025,  0.05,    0.1,    0.25,  0.5,    1.0,
                                     2.5,     5.0,    10.0,    15.0,   30.0,  60.0};

// Records an error when `value` is no address or one of `used`.
void check_address(const Value& value, const std::string& text, std::set<std::string>& used) {
  const auto address = Address::parse(text);
  if (!address) {
    value.fail(address.error());
  } else if (!address->has_any_port() && !used.insert(address->to_string()).second) {
    value.fail("'" + text + "' is listened on already");
  }
}

void read_listeners(Section& root, Config& out) {
  std::set<std::string> used;
  out.listen = {std::string(kDefaultListen)};
  if (const auto listen = root.find("listen")) {
    auto items = listen->is_scalar() ? std::vector<Value>{*listen} : listen->list();
    if (items && (items->empty() || items->size() > kMaxListeners)) {
      listen->fail("expected 1 to " + std::to_string(kMaxListeners) + " addresses");
    }
    out.listen.clear();
    for (const Value& item : items.value_or(std::vector<Value>{})) {
      auto text = item.text();
      if (!text) continue;
      check_address(item, *text, used);
      out.listen.push_back(*std::move(text));
    }
  } else {
    used.insert(std::string(kDefaultListen));
  }

  out.admin = kDefaultAdmin;
  const auto admin = root.find("admin");
  if (!root.take("admin", out.admin, &Value::text)) return;
  if (out.admin == kNoAdmin) {
    out.admin.clear();
  } else if (admin) {
    check_address(*admin, out.admin, used);
  } else if (used.contains(out.admin)) {
    root.fail("admin", "its default, '" + out.admin +
                           "', is listened on already; give it an address, or \"off\"");
  }
}

// "https://app.example.com", as a browser sends it (RFC 6454 section 6.2), or "*".
void read_allowed_origins(Section& root, std::vector<std::string>& out) {
  const auto value = root.find("allowed_origins");
  const auto items = value ? value->list() : std::nullopt;
  for (const Value& item : items.value_or(std::vector<Value>{})) {
    auto origin = item.text();
    if (!origin) continue;
    const size_t scheme = origin->find("://");
    const bool complete = scheme != std::string::npos && scheme > 0 && scheme + 3 < origin->size();
    if (*origin != "*" && (!complete || origin->find('/', scheme + 3) != std::string::npos)) {
      item.fail("expected \"*\" or an origin without a path, like https://app.example.com; found " +
                item.found());
    }
    out.push_back(*std::move(origin));
  }
}

void read_allowed_hosts(Section& root, std::vector<std::string>& out) {
  const auto value = root.find("allowed_hosts");
  const auto items = value ? value->list() : std::nullopt;
  for (const Value& item : items.value_or(std::vector<Value>{})) {
    auto host = item.text();
    if (!host) continue;
    if (host->empty() || host->find_first_of("/ \t") != std::string::npos) {
      item.fail("expected a host name, like gateway.example.com; found " + item.found());
    }
    out.push_back(*std::move(host));
  }
}

void read_limits(Section& root, LimitsConfig& out) {
  const auto value = root.find("limits");
  if (!value) return;
  Section section(*value);
  const bool message_read = section.take("message", out.message, &Value::size, kMessage);
  section.take("headers", out.headers, &Value::size, kHeaders);
  section.take("batch", out.batch, &Value::count, kBatch);
  section.take("depth", out.depth, &Value::count, kDepth);
  section.take("connections", out.connections, &Value::count, kConnections);
  out.buffered = std::max(out.buffered, out.message);
  if (section.take("buffered", out.buffered, &Value::size, kBuffered) && message_read &&
      out.buffered < out.message) {
    section.fail("buffered",
                 "must hold the largest message; limits.message is " + print_size(out.message));
  }
  section.take("outbox", out.outbox, &Value::size, kOutbox);
  section.take("replay", out.replay, &Value::size, kReplay);
  section.take("replay_events", out.replay_events, &Value::count, kReplayEvents);
  section.finish();
}

void read_timeouts(Section& root, TimeoutsConfig& out) {
  const auto value = root.find("timeouts");
  if (!value) return;
  Section section(*value);
  section.take("header", out.header, &Value::duration, kConnectionTimeout);
  section.take("body", out.body, &Value::duration, kConnectionTimeout);
  section.take("idle", out.idle, &Value::duration, kConnectionTimeout);
  section.take("drain", out.drain, &Value::duration, kDrain);
  section.take("keep_alive", out.keep_alive, &Value::duration, kConnectionTimeout);
  section.take("ping", out.ping, &Value::duration, kConnectionTimeout);
  section.take("pong", out.pong, &Value::duration, kConnectionTimeout);
  section.finish();
}

void read_log(Section& root, LogConfig& out) {
  const auto value = root.find("log");
  if (!value) return;
  Section section(*value);
  section.take_word("level", out.level, kLogLevels);
  section.take_word("format", out.format, kLogFormats);
  section.take("calls", out.calls, &Value::flag);
  section.take("payloads", out.payloads, &Value::flag);
  section.take("payload_limit", out.payload_limit, &Value::size, kPayloadLimit);
  section.take("redact", out.redact, &Value::texts);
  section.finish();
}

void read_buckets(const Value& value, std::vector<double>& out) {
  const auto items = value.list();
  if (!items) return;
  if (items->empty() || items->size() > kMaxBuckets) {
    return value.fail("expected 1 to " + std::to_string(kMaxBuckets) + " numbers of seconds");
  }
  out.clear();
  double last = 0;
  for (const Value& item : *items) {
    const auto seconds = item.decimal();
    if (!seconds) continue;
    if (*seconds <= last || *seconds > kMaxBucketSeconds) {
      item.fail("expected seconds above " + print_decimal(last) + ", at most " +
                print_decimal(kMaxBucketSeconds) + ", found " + item.found());
    } else {
      last = *seconds;
      out.push_back(last);
    }
  }
}

void read_metrics(Section& root, MetricsConfig& out) {
  out.buckets.assign(kDefaultBuckets.begin(), kDefaultBuckets.end());
  const auto value = root.find("metrics");
  if (!value) return;
  Section section(*value);
  if (const auto buckets = section.find("buckets")) read_buckets(*buckets, out.buckets);
  section.take("methods", out.methods, &Value::count, kMethods);
  section.finish();
}

Config read_root(const Value& value) {
  Config config;
  Section root(value);
  read_listeners(root, config);
  read_allowed_origins(root, config.allowed_origins);
  read_allowed_hosts(root, config.allowed_hosts);
  read_limits(root, config.limits);
  if (const auto backends = root.find("backends")) {
    config.backends = read_backends(*backends, config.limits);
  } else {
    root.fail("backends", "missing; name at least one backend and its command");
  }
  read_timeouts(root, config.timeouts);
  read_log(root, config.log);
  read_metrics(root, config.metrics);
  root.finish();
  return config;
}

// Leaves a tree alone that has something else than a map on the way: reading it reports that.
void apply_setting(YAML::Node node, const Setting& setting) {
  for (size_t i = 0; i < setting.path.size(); ++i) {
    if (!node.IsMap() && !node.IsNull() && node.IsDefined()) return;
    node.reset(node[setting.path[i]]);
  }
  if (const auto* text = std::get_if<std::string>(&setting.value)) {
    node = YAML::Node(escape_variables(*text));
    return;
  }
  YAML::Node items(YAML::NodeType::Sequence);
  for (const std::string& item : std::get<std::vector<std::string>>(setting.value)) {
    items.push_back(escape_variables(item));
  }
  node = items;
}

void sort_by_place(std::vector<ConfigError>& errors) {
  std::stable_sort(errors.begin(), errors.end(), [](const ConfigError& a, const ConfigError& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
}

tl::expected<Config, std::vector<ConfigError>> read_document(const std::string& yaml,
                                                             const Environment& environment,
                                                             const std::vector<Setting>& settings) {
  const std::vector<YAML::Node> documents = YAML::LoadAll(yaml);
  Reading reading{environment, {}};
  YAML::Node node = documents.empty() ? YAML::Node(YAML::NodeType::Null) : documents.front();
  for (const Setting& setting : settings) apply_setting(node, setting);
  const Value root(node, node.Mark(), std::string(), std::string(), reading);
  if (documents.size() > 1) {
    Value(documents[1], documents[1].Mark(), {}, {}, reading)
        .fail("a second document begins here; a configuration is one document");
  }
  Config config = read_root(root);
  if (reading.errors.empty()) return config;
  sort_by_place(reading.errors);
  return tl::unexpected(std::move(reading.errors));
}

}  // namespace

std::string ConfigError::to_string(std::string_view file) const {
  std::string text(file);
  if (line > 0) text += ":" + std::to_string(line) + ":" + std::to_string(column);
  if (!text.empty()) text += ": ";
  if (!path.empty()) text += path + ": ";
  return text + message;
}

tl::expected<Config, std::vector<ConfigError>> parse_config(const std::string& yaml,
                                                            const Environment& environment,
                                                            const std::vector<Setting>& settings) {
  try {
    return read_document(yaml, environment, settings);
  } catch (const YAML::Exception& error) {
    ConfigError syntax{error.mark.line + 1, error.mark.column + 1, "", "YAML: " + error.msg};
    return tl::unexpected(std::vector<ConfigError>{std::move(syntax)});
  }
}

}  // namespace stdgate
