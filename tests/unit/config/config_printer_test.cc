// The printed configuration: complete, read back to the same, without secrets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/config/config_parser.h"

namespace stdgate {
namespace {

using testing::HasSubstr;
using testing::Not;

std::optional<std::string> empty_environment(const std::string&) { return std::nullopt; }

Config parse(const std::string& yaml) {
  const auto config = parse_config(yaml, empty_environment);
  if (config) return *config;
  for (const ConfigError& error : config.error()) ADD_FAILURE() << error.to_string("yaml");
  return {};
}

Config minimal() { return parse("backends: { a: { command: [x] } }"); }

// Every member with a value that is not its default.
Config full() {
  return parse(R"(
listen: ["127.0.0.1:1", "unix:/run/x y"]
admin: "off"
allowed_origins: ["*"]
allowed_hosts: [a.example]
backends:
  "null":
    command: ["/bin/sh", "-c", "echo $$$${HOME} $$$$ \"'\\ \t\n ü \x01", "", "~", "true", "1"]
    protocol: jsonrpc
    framing: content-length
    isolation: session
    default: true
    cancel_method: "$/cancel"
    env: { "y": "#no comment", "A.B": "$$", "null": "null", "~": " x " }
    env_inherit: ["LC_*"]
    cwd: /srv
    user: nobody
    rlimits: { address_space: 1GiB, cpu: 90s, open_files: 1024, processes: 64 }
    timeout: 1500ms
    expose_fault_details: true
    pool: { min: 2, max: 9, warm: 7, sessions: 8, max_in_flight: 4, queue: 5,
            queue_bytes: 33MiB, start_timeout: 1s,
            idle_timeout: 2s, grace: 3s, backoff_min: 4ms, backoff_max: 5ms, breaker_failures: 6 }
  b:
    command: [y]
    isolation: shared
    env_inherit: []
  c:
    command: [z]
    protocol: lsp
    pool: { max: 2, warm: 2 }
limits: { message: 2MiB, headers: 2KiB, batch: 3, depth: 4, connections: 5, buffered: 6MiB,
          outbox: 7KiB, replay: 3KiB, replay_events: 12 }
timeouts: { header: 1s, body: 2s, idle: 3m, drain: 0s, keep_alive: 1h, ping: 4s, pong: 5s }
log: { level: "off", format: json, calls: false, payloads: true, payload_limit: 1KiB,
       redact: [password] }
metrics: { buckets: [0.00005, 0.1, 25], methods: 7 }
)");
}

TEST(ConfigPrinter, ReadsBack) {
  EXPECT_EQ(parse(print_config(minimal())), minimal());
  EXPECT_EQ(parse(print_config(full())), full());
  EXPECT_NE(minimal(), full());
}

TEST(ConfigPrinter, ShowsDefaults) {
  EXPECT_EQ(print_config(minimal()), R"(listen: ["127.0.0.1:8080"]
admin: "127.0.0.1:9464"
allowed_origins: []
allowed_hosts: []
backends:
  a:
    command: ["x"]
    protocol: mcp
    framing: newline
    isolation: session
    default: true
    env_inherit: ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "TZ", "TMPDIR"]
    timeout: 1m
    expose_fault_details: false
    pool:
      min: 0
      max: 16
      warm: 0
      sessions: 1000
      max_in_flight: 256
      queue: 2048
      queue_bytes: 64MiB
      start_timeout: 30s
      idle_timeout: 5m
      grace: 2s
      backoff_min: 100ms
      backoff_max: 30s
      breaker_failures: 5
limits:
  message: 16MiB
  headers: 16KiB
  batch: 1000
  depth: 128
  connections: 10000
  buffered: 512MiB
  outbox: 4MiB
  replay: 1MiB
  replay_events: 1000
timeouts:
  header: 10s
  body: 30s
  idle: 75s
  drain: 20s
  keep_alive: 15s
  ping: 30s
  pong: 20s
log:
  level: info
  format: text
  calls: true
  payloads: false
  payload_limit: 2KiB
  redact: []
metrics:
  buckets: [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60]
  methods: 500
)");
}

TEST(ConfigPrinter, HidesSecrets) {
  const std::string printed = print_config(parse(R"(
backends:
  a:
    command: [x, "--db=postgres://ada:love@db/x"]
    env: { API_KEY: hush, DB: "mysql://ada:love@db", LEVEL: debug }
)"));
  EXPECT_THAT(printed, Not(HasSubstr("love")));
  EXPECT_THAT(printed, Not(HasSubstr("hush")));
  EXPECT_THAT(printed, HasSubstr("\"--db=postgres://ada:***hidden***@db/x\""));
  EXPECT_THAT(printed, HasSubstr("API_KEY: \"***hidden***\""));
  EXPECT_THAT(printed, HasSubstr("DB: \"mysql://ada:***hidden***@db\""));
  EXPECT_THAT(printed, HasSubstr("LEVEL: \"debug\""));
}

}  // namespace
}  // namespace stdgate
