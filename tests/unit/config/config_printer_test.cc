// The printed configuration is complete, can be read back without a change, and shows no secrets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/config/config_parser.h"

namespace stdgate {
namespace {

using testing::HasSubstr;
using testing::Not;

std::optional<std::string> printed_environment(const std::string& name) {
  if (name == "API_TOKEN") return "hush";
  if (name == "AUTH") return "1";
  if (name == "SIGNED") return "sk-hush";
  if (name == "PLAIN") return "shown";
  return std::nullopt;
}

tl::expected<std::string, std::string> read_sample(const std::string& file, size_t /*limit*/) {
  if (file == "sessions.key") return std::string(64, '1') + "\n" + std::string(64, '2');
  return "FROM_FILE=whisper\nSECOND=whisper\n";
}

config::Config parse(const std::string& yaml) {
  const auto config = config::parse_config(yaml, printed_environment, {}, read_sample);
  if (config) return *config;
  for (const config::ConfigError& error : config.error()) ADD_FAILURE() << error.to_string("yaml");
  return {};
}

config::Config minimal() { return parse("backends: { a: { command: [x] } }"); }

// A configuration with no default values: every member differs from its default.
config::Config full() {
  return parse(R"(
listen:
  - "unix:/run/x y"
  - { address: "127.0.0.1:1", anonymous: true,
      tls: { certificate: [a.crt, b.crt], key: [a.key, b.key], client_ca: ca.crt, crl: ca.crl } }
admin: { address: "127.0.0.1:2", roles: [ops], tls: { certificate: a.crt, key: a.key } }
anonymous: true
auth:
  api_keys:
    - name: ci
      hash: "sha256:0000000000000000000000000000000000000000000000000000000000000000"
      roles: [a, b]
      expires: 2027-06-30
  mtls: { roles: { "spiffe://*": [c] } }
tls: { certificate: c.crt, key: c.key, client_ca: ca.crt, client_certificate: optional }
allowed_origins: ["*"]
allowed_hosts: [a.example]
trusted_proxies: [10.0.0.0/8, unix]
rpc_stream: true
watch: true
replica: gate-1
roles: { writer: { includes: [reader] } }
backends:
  "null":
    command: ["/bin/sh", "-c", "echo $$$${HOME} $$$$ \"'\\ \t\n ü \x01", "", "~", "true", "1"]
    protocol: jsonrpc
    framing: content-length
    envelope: lenient
    isolation: session
    default: true
    cancel_method: "$/cancel"
    env_file: [one.env]
    env: { "y": "#no comment", "A.B": "$$", "null": "null", "~": " x " }
    env_inherit: ["!", "LC_*"]
    cwd: /srv
    user: nobody
    rlimits: { address_space: 1GiB, cpu: 90s, open_files: 1024, processes: 64 }
    sandbox: { filesystem: { read: [/a, "$$b"], write: [c] }, network: { connect: [443], bind: [80],
               unix: true }, required: false }
    timeout: 1500ms
    max_time: 7m
    expose_fault_details: true
    pool: { min: 2, max: 9, warm: 7, sessions: 8, parked: 3, max_in_flight: 4, queue: 5,
            queue_bytes: 33MiB, start_timeout: 1s, fetch_timeout: 2m,
            idle_timeout: 2s, grace: 3s, backoff_min: 4ms, backoff_max: 5ms, breaker_failures: 6 }
  b:
    command: [y]
    sandbox: strict
    isolation: shared
    revive: false
    bridge: false
    share_modern: false
    cache: false
    methods: ["tools/*"]
    rules: [{ allow: ["*"], methods: [m], tools: [t], resources: [r], prompts: [p], except: [e],
              scopes: [s] }]
    calls_per_principal: { rate: 20/s, burst: 40, in_flight: 16, sessions: 4 }
    calls: { rate: 100/s, in_flight: 64 }
    revision: modern
    env_inherit: ["!"]
  c:
    env_inherit: ["LC_*"]
    command: [z]
    sandbox: { filesystem: {}, network: outbound }
    protocol: lsp
    pool: { max: 2, warm: 2 }
limits: { message: 2MiB, headers: 2KiB, batch: 3, depth: 4, connections: 5, buffered: 6MiB, buffered_per_client: 3MiB,
          outbox: 7KiB, connections_per_address: 6, unlimited_addresses: [10.0.0.0/8, "fd00::/8"],
          session_starts: 0, session_burst: 9, handshakes: 8, min_rate: 0, replay: 3KiB,
          replay_events: 12, memory: 1GiB, loop_lag: 2s }
sessions: { key_file: sessions.key, ttl: 90s }
timeouts: { handshake: 6s, header: 1s, body: 2s, request: 2m, idle: 3m, drain: 0s, keep_alive: 1h,
            first_stream: 0s, input: 4m, ping: 4s, pong: 5s }
log: { level: "off", format: json, calls: false, payloads: true, payload_limit: 1KiB,
       redact: [password] }
audit: { file: audit.jsonl, calls: [a, "b/*"], arguments: full, durable: true }
metrics: { buckets: [0.00005, 0.1, 25], methods: 7, method_names: [a/b], tool_names: [t] }
traces: { endpoint: "https://c/otlp", sample: 0.25, service_name: s, ca: ca.pem, queue: 99 }
)");
}

TEST(ConfigPrinter, ReadsBack) {
  EXPECT_EQ(parse(config::print_config(minimal())), minimal());
  EXPECT_EQ(parse(config::print_config(full())), full());
  EXPECT_NE(minimal(), full());
}

// One option of each kind, and its position. The table of options and docs/configuration.md test
// that every option is printed with its default.
TEST(ConfigPrinter, ShowsDefaults) {
  const std::string printed = "\n" + config::print_config(minimal());
  for (const std::string lines : {
           "\nlisten: [\"127.0.0.1:8080\"]\nadmin: \"127.0.0.1:9464\"\nanonymous: false\n",
           "\nallowed_origins: []\n",
           "\nbackends:\n  a:\n    command: [\"x\"]\n    protocol: mcp\n",
           "\n    bridge: auto  # clients of MCP 2026-07-28 have to open a session\n",
           "\n    env_inherit: [\"PATH\", \"HOME\", \"USER\", \"LOGNAME\", \"SHELL\", \"TERM\", ",
           "\"LANG\", \"LC_ALL\", \"TZ\", \"TMPDIR\", \"SSL_CERT_FILE\", \"SSL_CERT_DIR\", ",
           "\"NODE_EXTRA_CA_CERTS\"]\n    sandbox: off\n    timeout: 1m\n",
           "\n    pool:\n      min: 0\n      max: 16\n",
           "\n      queue_bytes: 64MiB\n      max_age: 0s\n",
           "\n      breaker_failures: 5\nlimits:\n  message: 16MiB\n",
           "\nlog:\n  level: info\n",
           "\nmetrics:\n  buckets: [0.00005, 0.0001, 0.00025, ",
       }) {
    EXPECT_THAT(printed, HasSubstr(lines));
  }
  EXPECT_THAT(printed, Not(HasSubstr("\nauth:")));
  EXPECT_THAT(printed, Not(HasSubstr("rlimits")));
}

TEST(ConfigPrinter, ShowsWhatIsInherited) {
  const auto printed_of = [](const std::string& names) {
    const std::string printed = config::print_config(
        parse("backends: { a: { command: [x], env_inherit: [" + names + "] } }"));
    const size_t begin = printed.find("env_inherit");
    return printed.substr(begin, printed.find('\n', begin) - begin);
  };
  const std::string defaults =
      R"("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "TZ", "TMPDIR", )"
      R"("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS")";
  EXPECT_EQ(printed_of(""), "env_inherit: [" + defaults + "]");
  EXPECT_EQ(printed_of("X, PATH"), "env_inherit: [" + defaults + ", \"X\"]");
  EXPECT_EQ(printed_of(R"("!")"), R"(env_inherit: ["!"])");
  EXPECT_EQ(printed_of(R"("!", PATH)"), R"(env_inherit: ["!", "PATH"])");
}

TEST(ConfigPrinter, HidesWhatFilesOfVariablesSay) {
  const std::string printed =
      config::print_config(parse("backends: { a: { command: [x], env_file: one.env } }"));
  EXPECT_THAT(printed, Not(HasSubstr("whisper")));
  EXPECT_THAT(printed, HasSubstr("env_file: [\"one.env\"]  # sets FROM_FILE, SECOND (values are "
                                 "not shown)\n"));
}

TEST(ConfigPrinter, TellsHowManyKeysAFileHas) {
  const std::string printed = config::print_config(
      parse("sessions: { key_file: sessions.key }\nbackends: { a: { command: [x] } }"));
  EXPECT_THAT(printed, HasSubstr("key_file: \"sessions.key\"  # 2 keys\n"));
  EXPECT_THAT(printed, Not(HasSubstr("1111")));
}

TEST(ConfigPrinter, HidesWhatSecretVariablesExpandTo) {
  const std::string printed = config::print_config(parse(R"(
allowed_hosts: ["${API_TOKEN}.example"]
backends:
  a:
    command: [x, "${API_TOKEN}", "pre-${API_TOKEN}-post", "${PLAIN}", "1${AUTH}", "1", "${SIGNED}"]
    env: { A: "${API_TOKEN}", B: "${PLAIN}", C: "${API_TOKEN:-x}" }
    cwd: "/srv/${API_TOKEN}"
)"));
  EXPECT_THAT(printed, Not(HasSubstr("hush")));
  EXPECT_THAT(printed, HasSubstr(R"(["***hidden***.example"])"));
  EXPECT_THAT(printed, HasSubstr(R"(["x", "***hidden***", "pre-***hidden***-post", "shown", )"
                                 R"("***hidden******hidden***", "1", "***hidden***"])"));
  EXPECT_THAT(printed, HasSubstr(R"(A: "***hidden***")"));
  EXPECT_THAT(printed, HasSubstr(R"(B: "shown")"));
  EXPECT_THAT(printed, HasSubstr(R"(C: "***hidden***")"));
  EXPECT_THAT(printed, HasSubstr(R"(cwd: "/srv/***hidden***")"));
}

TEST(ConfigPrinter, EscapesWhatATerminalObeys) {
  const std::string yaml =
      "backends: { a: { command: [\"x\xc2\x9b\xe2\x80\xae\xe2\x80\xa8\xef\xbb\xbf"
      "é\"], "
      "env: { \"N\xe2\x80\xae\": \"\xc2\x85\" } } }";
  const std::string printed = config::print_config(parse(yaml));
  for (const char* hidden :
       {"\xc2\x9b", "\xc2\x85", "\xe2\x80\xae", "\xe2\x80\xa8", "\xef\xbb\xbf"}) {
    EXPECT_THAT(printed, Not(HasSubstr(hidden)));
  }
  EXPECT_THAT(printed, HasSubstr("é"));
  EXPECT_EQ(parse(printed), parse(yaml));
}

TEST(ConfigPrinter, HidesSecrets) {
  const std::string printed = config::print_config(parse(R"(
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
