// Valid and invalid configuration files. Errors are compared as a whole: place, path and message.
#include "gateway/config/config_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/config/config_ranges.h"
#include "gateway/config/value_names.h"

namespace stdgate {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

std::optional<std::string> sample_environment(const std::string& name) {
  if (name == "PORT") return "9000";
  if (name == "INJECTION") return "x\nadmin: \"off\"";
  if (name == "EMPTY") return "";
  if (name == "API_TOKEN") return "hush-hush";
  return std::nullopt;
}

// The errors as lines, or "" for a valid file.
std::string errors_of(const std::string& yaml, const std::vector<config::Setting>& settings = {}) {
  const auto config = config::parse_config(yaml, sample_environment, settings);
  if (config) return "";
  std::string lines;
  for (const config::ConfigError& error : config.error()) lines += error.to_string("f") + "\n";
  return lines;
}

config::Config config_of(const std::string& yaml,
                         const std::vector<config::Setting>& settings = {}) {
  EXPECT_EQ(errors_of(yaml, settings), "") << yaml;
  return config::parse_config(yaml, sample_environment, settings).value_or(config::Config{});
}

// A file with one backend and the given `lines`. Each line ends with a newline; the first is line
// 4.
std::string with_backend(const std::string& lines) {
  return "backends:\n  a:\n    command: [x]\n" + lines;
}
// A valid file with the given `lines` at the top level. The first is line 2.
std::string with_root(const std::string& lines) {
  return "backends: { a: { command: [x] } }\n" + lines;
}

TEST(ConfigParser, FillsInDefaults) {
  const config::Config config = config_of("backends: { a: { command: [x] } }");
  EXPECT_THAT(config.listen, ElementsAre(config::ListenerConfig{"127.0.0.1:8080"}));
  EXPECT_EQ(config.admin.address, "127.0.0.1:9464");
  EXPECT_THAT(config.allowed_origins, IsEmpty());
  EXPECT_THAT(config.allowed_hosts, IsEmpty());
  EXPECT_FALSE(config.rpc_stream);
  EXPECT_FALSE(config.watch);
  EXPECT_EQ(config.limits, config::LimitsConfig{});
  EXPECT_EQ(config.timeouts, config::TimeoutsConfig{});
  EXPECT_EQ(config.log, config::LogConfig{});
  EXPECT_EQ(config.metrics.methods, 500u);
  ASSERT_FALSE(config.metrics.buckets.empty());
  EXPECT_EQ(config.metrics.buckets.front(), 0.00005);
  EXPECT_EQ(config.metrics.buckets.back(), 60);
  ASSERT_EQ(config.backends.size(), 1u);
  config::BackendConfig expected;
  expected.name = "a";
  expected.command = {"x"};
  expected.isolation = config::Isolation::session;
  expected.revive = true;
  expected.cache = true;
  expected.pool.remember = true;
  expected.revision = config::Revision::automatic;
  expected.is_default = true;
  expected.is_required = true;
  expected.env_inherit = {"PATH",
                          "HOME",
                          "USER",
                          "LOGNAME",
                          "SHELL",
                          "TERM",
                          "LANG",
                          "LC_ALL",
                          "TZ",
                          "TMPDIR",
                          "SSL_CERT_FILE",
                          "SSL_CERT_DIR",
                          "NODE_EXTRA_CA_CERTS"};
  EXPECT_EQ(config.backends[0], expected);
}

TEST(ConfigParser, SaysInPlainWordsWhatIsNoYaml) {
  const std::string tab = "a tab cannot indent in YAML; use spaces\n";
  const std::string belongs =
      "this line belongs to nothing above it: entries of one map, and items of one list, begin in "
      "the "
      "same column\n";
  const std::string value =
      "a ':' that no value can follow here; check the indentation and the line above, and quote a "
      "text that holds \": \"\n";
  const std::pair<std::string, std::string> cases[] = {
      {"backends:\n\ta:\n\t\tcommand: [x]\n", "f:2:1: " + tab},
      {"backends:\n  a:\n\tcommand: [x]\n", "f:3:1: " + tab},
      {with_backend("    \ttimeout: 1s\n"), "f:4:5: " + tab},
      {"backends:\n  a:\n    command:\n\t- x\n", "f:4:1: " + tab},
      {with_backend("   timeout: 1s\n"), "f:4:4: " + belongs},
      {with_backend("     timeout: 1s\n"), "f:4:6: " + belongs},
      {"backends:\n  a:\n    command:\n      - x\n     - y\n", "f:5:6: " + belongs},
      {with_backend("    timeout: \"1s\n"), "f:4:14: the quote that opens here is not closed\n"},
      {with_backend("    timeout: '1''s\n"), "f:4:14: the quote that opens here is not closed\n"},
      {"\xef\xbb\xbf" + with_backend("    cwd: é\n    user: '1s\n"),
       "f:5:11: the quote that opens here is not closed\n"},
      {with_backend("    timeout: \"1s"),
       "f:4:14: the quote (\") that opens here is not closed on its line\n"},
      {with_backend("    cwd: \"/x\n    env: { A: \"b\" }\n"),
       "f:4:10: the quote (\") that opens here is not closed on its line\n"},
      {"backends:\n  a:\n    command: [x\n    timeout: 1s\n",
       "f:3:14: the '[' that opens here is not closed\n"},
      {"backends:\n  a: { command: [\"]\", x]\n", "f:2:6: the '{' that opens here is not closed\n"},
      {"backends: { a: { command: [x], env: { A: ${NOPE} } } }\n",
       "f:1:43: within { } and [ ] a ${NAME} needs quotes, as in { A: \"${NAME}\" }, as its "
       "bracket "
       "ends the map otherwise\n"},
      {with_backend("    env: {\n      A: ${NOPE},\n      B: b }\n"),
       "f:5:11: within { } and [ ] a ${NAME} needs quotes, as in { A: \"${NAME}\" }, as its "
       "bracket "
       "ends the map otherwise\n"},
      {"backends: { a: { command: [\"${X}\", x, }\n",
       "f:1:39: this bracket closes none that is open\n"},
      // The YAML parser alone would loop for ever on these texts.
      {", a: 1\n", "f:1:1: a text cannot begin with this character; put it in quotes\n"},
      {"{}\n, a\n", "f:2:1: a text cannot begin with this character; put it in quotes\n"},
      {"backends: { a: { command: [x }\n", "f:1:30: this bracket closes none that is open\n"},
      {"a: b: c\n", "f:1:5: " + value},
      {"backends:\n  a:\n    command [x]\n    timeout: 1s\n", "f:4:12: " + value},
      {with_backend("    cwd: @x\n"),
       "f:4:10: a text cannot begin with this character; put it in quotes\n"},
      {with_backend("    cwd: `x`\n"),
       "f:4:10: a text cannot begin with this character; put it in quotes\n"},
      {with_backend("    cwd: *\n"), "f:4:11: a text that begins with '*' needs quotes\n"},
      {with_backend("    cwd: &\n"), "f:4:11: a text that begins with '&' needs quotes\n"},
      {with_backend("    cwd: \"C:\\qux\"\n"),
       "f:4:15: a backslash between double quotes begins an escape; write \\\\ for a backslash, or "
       "use single quotes\n"},
      {"%YAML 2.0\n---\na: 1\n", "f:1:1: YAML: YAML major version too large\n"},
  };
  for (const auto& [yaml, message] : cases) EXPECT_EQ(errors_of(yaml), message) << yaml;
}

TEST(ConfigParser, SaysWhatIsWrongWithTheBytesOfAFile) {
  const std::string empty =
      "f: the file is empty; name at least one backend, as in: backends: { demo: { command: "
      "[stdgate, demo-server], protocol: jsonrpc } }\n";
  const std::pair<std::string, std::string> cases[] = {
      {"", empty},
      {"\n# nothing\n", empty},
      {"\xef\xbb\xbf", empty},
      {std::string("\xff\xfe"
                   "a\0",
                   4),
       "f:1:1: the file is UTF-16; save it as UTF-8\n"},
      {std::string("\xfe\xff\0a", 4), "f:1:1: the file is UTF-16; save it as UTF-8\n"},
      {with_root("# é\n#\xe9\n"), "f:3:2: the file is not UTF-8 (byte 0xe9); save it as UTF-8\n"},
      {with_root("# \xc3"), "f:2:3: the file is not UTF-8 (byte 0xc3); save it as UTF-8\n"},
      {with_root("# \x1b[m\n"),
       "f:2:3: a control character (0x1b); is this a text file? In double quotes an escape like "
       "\\x1b stands for one\n"},
      {std::string("\0", 1),
       "f:1:1: a control character (0x00); is this a text file? In double quotes an escape like "
       "\\x1b stands for one\n"},
  };
  for (const auto& [yaml, message] : cases) EXPECT_EQ(errors_of(yaml), message);
}

TEST(ConfigParser, TakesWhatOnlyLooksWrong) {
  for (const std::string& yaml :
       {"\xef\xbb\xbf" + with_backend(""), with_backend("\t\n"), with_backend("# don't [ { \"\n"),
        with_backend("    cwd: it's [not \"a quote\n"), with_backend("    cwd: \"a\n      b\"\n"),
        with_backend("    cwd: 'it''s'\n"), with_backend("    cwd: \"\\\"\"\n"),
        std::string("backends: { a: { command: [x,\n\ty] } }\n"),
        std::string("backends:\r\n  a:\r\n    command: [x]\r\n"),
        with_backend("    cwd: |\n      \"x\n")}) {
    EXPECT_EQ(errors_of(yaml), "") << yaml;
  }
}

TEST(ConfigParser, EnvInheritAddsToTheDefaultListOrReplacesIt) {
  const auto inherited = [](const std::string& names) {
    return config_of(with_backend("    env_inherit: [" + names + "]\n")).backends.at(0).env_inherit;
  };
  std::vector<std::string> defaults =
      config_of("backends: { a: { command: [x] } }").backends.at(0).env_inherit;
  EXPECT_EQ(inherited(""), defaults);
  EXPECT_EQ(inherited("PATH, HOME"), defaults);
  EXPECT_THAT(inherited(R"("!")"), IsEmpty());
  EXPECT_THAT(inherited(R"("!", X, PATH, X)"), ElementsAre("X", "PATH"));
  defaults.insert(defaults.end(), {"X", "LC_*"});
  EXPECT_EQ(inherited("X, PATH, LC_*, X"), defaults);
}

TEST(ConfigParser, ReadsFilesOfVariables) {
  const config::FileReader read = [](const std::string& file,
                                     size_t limit) -> tl::expected<std::string, std::string> {
    EXPECT_EQ(limit, config::kMaxEnvFile);
    return file + "=1\nBOTH=" + file + "\n";
  };
  const auto config_with = [&](const std::string& files) {
    const auto config =
        config::parse_config(with_backend("    env_file: " + files + "\n    env: { A: own }\n"),
                             sample_environment, {}, read);
    return config.value_or(config::Config{}).backends.at(0);
  };
  EXPECT_THAT(config_with("a").env_files, ElementsAre("a"));
  const config::BackendConfig two = config_with("[a, \"b${PORT}\"]");
  EXPECT_THAT(two.env_files, ElementsAre("a", "b9000"));
  EXPECT_EQ(two.env_from_files,
            (std::map<std::string, std::string>{{"BOTH", "b9000"}, {"a", "1"}, {"b9000", "1"}}));
  EXPECT_EQ(two.env, (std::map<std::string, std::string>{{"A", "own"}}));
}

TEST(ConfigParser, ReadsFilesOfKeys) {
  const config::FileReader read = [](const std::string& file,
                                     size_t limit) -> tl::expected<std::string, std::string> {
    EXPECT_EQ(limit, config::kMaxKeyFile);
    if (file == "none") return tl::unexpected(std::string("cannot read none: it says"));
    return file == "good" ? std::string(64, '1') + "\n" + std::string(64, '2')
                          : "# first\n" + file + "\n";
  };
  const auto parse = [&](const std::string& sessions) {
    return config::parse_config("backends: { a: { command: [x] } }\nsessions: " + sessions + "\n",
                                sample_environment, {}, read);
  };
  const config::SessionsConfig good = parse("{ key_file: good, ttl: 90s }")->sessions;
  EXPECT_EQ(good.key_file, "good");
  EXPECT_EQ(good.keys.size(), 2U);
  EXPECT_EQ(good.ttl, std::chrono::seconds(90));
  const std::string at = "f:2:23: sessions.key_file: ";
  const std::pair<std::string, std::string> cases[] = {
      {"none", at + "cannot read none: it says"},
      {"\"\"", at + "expected the path of a file"},
      {"secret", at + "secret:2: expected a key of 32 bytes, as 64 hex digits or 44 characters of "
                      "base64; openssl rand -hex 32 makes one"},
  };
  for (const auto& [file, message] : cases) {
    const auto config = parse("{ key_file: " + file + " }");
    ASSERT_FALSE(config) << file;
    EXPECT_EQ(config.error().at(0).to_string("f"), message);
  }
}

TEST(ConfigParser, ReplicaIsALabelOfAHostName) {
  const auto error_with = [](const std::string& name) {
    return errors_of("backends: { a: { command: [x] } }\nreplica: \"" + name + "\"\n");
  };
  for (const std::string& good :
       {std::string(), std::string("a"), std::string("gate-0"), std::string("0"),
        std::string("Gate-AZ-19"), std::string(63, 'x')}) {
    EXPECT_EQ(error_with(good), "") << good;
  }
  for (const std::string& bad :
       {std::string("a.example"), std::string("-a"), std::string("a-"), std::string("a_b"),
        std::string("a b"), std::string("é"), std::string(64, 'x')}) {
    EXPECT_EQ(error_with(bad),
              "f:2:10: replica: expected 1 to 63 letters, digits and hyphens, no hyphen first or "
              "last, as in gate-0; found '" +
                  bad + "'\n");
  }
}

TEST(ConfigParser, ReadsEveryKey) {
  const config::Config config = config_of(R"(
listen: ["127.0.0.1:${PORT}", "[::1]:80", unix:/run/x]
admin: off
allowed_origins: ["*", "https://a.example"]
allowed_hosts: [a.example, "b.example:8080", "*"]
rpc_stream: true
watch: true
backends:
  first-1:
    command: [sleep, 5, true, 1.50, "", "a b"]
    protocol: jsonrpc
    framing: content-length
    isolation: session
    default: true
    cancel_method: ""
    env: { DEBUG: 1, NAME: "${NONE:-x}", EMPTY: "" }
    env_inherit: ["!", PATH, LC_*, "*", PATH]
    cwd: /srv
    user: nobody
    rlimits: { address_space: 1GiB, cpu: 2m, open_files: 1024, processes: 64 }
    timeout: 10s
    max_time: 20m
    expose_fault_details: true
    pool: { min: 2, max: 9, warm: 7, sessions: 8, max_in_flight: 4, queue: 5,
            queue_bytes: 32MiB, start_timeout: 1s,
            idle_timeout: 2s, grace: 3s, backoff_min: 4ms, backoff_max: 5ms, breaker_failures: 6 }
  second:
    command: [y]
limits: { message: 2MiB, headers: 2KiB, batch: 3, depth: 4, connections: 5, buffered: 6MiB, buffered_per_client: 3MiB,
          outbox: 7KiB, replay: 3KiB, replay_events: 12, connections_per_address: 13,
          unlimited_addresses: [192.0.2.0/24], session_starts: 14, session_burst: 15, min_rate: 16,
          memory: 17MiB, loop_lag: 18s }
timeouts: { header: 1s, body: 2s, idle: 3m, drain: 0s, keep_alive: 1h, ping: 4s, pong: 5s,
            request: 2h }
log: { level: debug, format: json, calls: false, payloads: true, payload_limit: 1KiB,
       redact: [password, token] }
metrics: { buckets: [0.001, 1, 2.5e1], methods: 7, method_names: [a/b], tool_names: [t] }
)");
  using L = config::ListenerConfig;
  EXPECT_THAT(config.listen, ElementsAre(L{"127.0.0.1:9000"}, L{"[::1]:80"}, L{"unix:/run/x"}));
  EXPECT_EQ(config.admin.address, "");
  EXPECT_THAT(config.allowed_origins, ElementsAre("*", "https://a.example"));
  EXPECT_THAT(config.allowed_hosts, ElementsAre("a.example", "b.example:8080", "*"));
  EXPECT_TRUE(config.rpc_stream);
  EXPECT_TRUE(config.watch);
  ASSERT_EQ(config.backends.size(), 2u);
  config::BackendConfig first;
  first.share_modern = false;
  first.name = "first-1";
  first.command = {"sleep", "5", "true", "1.50", "", "a b"};
  first.protocol = config::Protocol::jsonrpc;
  first.framing = rpc::Framing::content_length;
  first.isolation = config::Isolation::session;
  first.is_default = true;
  first.env = {{"DEBUG", "1"}, {"NAME", "x"}, {"EMPTY", ""}};
  first.env_inherit = {"PATH", "LC_*", "*"};
  first.cwd = "/srv";
  first.user = "nobody";
  first.rlimits = {size_t{1} << 30, 120, 1024, 64};
  first.timeout = seconds(10);
  first.max_time = minutes(20);
  first.expose_fault_details = true;
  first.pool = {.min = 2,
                .max = 9,
                .warm = 7,
                .sessions = 8,
                .max_in_flight = 4,
                .queue = 5,
                .queue_bytes = size_t{32} << 20,
                .start_timeout = seconds(1),
                .idle_timeout = seconds(2),
                .grace = seconds(3),
                .backoff_min = milliseconds(4),
                .backoff_max = milliseconds(5),
                .breaker_failures = 6};
  EXPECT_EQ(config.backends[0], first);
  EXPECT_EQ(config.backends[1].name, "second");
  EXPECT_FALSE(config.backends[1].is_default);
  EXPECT_EQ(config.limits,
            (config::LimitsConfig{.message = 2 << 20,
                                  .headers = 2 << 10,
                                  .batch = 3,
                                  .depth = 4,
                                  .connections = 5,
                                  .buffered = 6 << 20,
                                  .buffered_per_client = 3 << 20,
                                  .outbox = 7 << 10,
                                  .replay = 3 << 10,
                                  .replay_events = 12,
                                  .connections_per_address = 13,
                                  .unlimited_addresses = {*AddressBlock::parse("192.0.2.0/24")},
                                  .session_starts = 14,
                                  .session_burst = 15,
                                  .min_rate = 16,
                                  .memory = 17 << 20,
                                  .loop_lag = seconds(18)}));
  EXPECT_EQ(config.timeouts, (config::TimeoutsConfig{.header = seconds(1),
                                                     .body = seconds(2),
                                                     .idle = minutes(3),
                                                     .drain = seconds(0),
                                                     .keep_alive = hours(1),
                                                     .ping = seconds(4),
                                                     .pong = seconds(5),
                                                     .request = hours(2)}));
  EXPECT_EQ(config.log, (config::LogConfig{.level = LogLevel::debug,
                                           .format = config::LogFormat::json,
                                           .calls = false,
                                           .payloads = true,
                                           .payload_limit = 1024,
                                           .redact = {"password", "token"}}));
  EXPECT_EQ(
      config.metrics,
      (config::MetricsConfig{
          .buckets = {0.001, 1, 25}, .methods = 7, .method_names = {"a/b"}, .tool_names = {"t"}}));
}

TEST(ConfigParser, AcceptsWhatIsReasonable) {
  const std::string cases[] = {
      with_root("listen: \":0\"\nanonymous: true\n"),
      with_root("listen: [\"127.0.0.1:0\", \"127.0.0.1:0\"]\nadmin: \"127.0.0.1:0\"\n"),
      with_root("limits:\ntimeouts:\nlog:\nmetrics:\n"),
      with_backend("    pool:\n    env:\n    rlimits:\n    sandbox:\n"),
      with_backend("    protocol: mcp\n    framing: content-length\n"),
      with_backend("    protocol: lsp\n    framing: newline\n    isolation: session\n"),
      with_backend("    default: false\n"),
      with_backend("    pool: { max: \"16\" }\n"),
      "---\nbackends: { a: { command: [x] } }\n...\n",
      "\uFEFFbackends: { a: { command: [x] } }\r\n",
      "{\"backends\": {\"a\": {\"command\": [\"x\"]}}}",
  };
  for (const std::string& yaml : cases) EXPECT_EQ(errors_of(yaml), "") << yaml;
  const std::string shared =
      "backends:\n  a: &a { command: [x], default: false }\n  b: *a\n  c: { command: [x] }\n";
  EXPECT_EQ(config_of(shared).backends[1].command, config_of(shared).backends[0].command);
}

TEST(ConfigParser, OneBackendIsTheDefaultUnlessItSaysNo) {
  EXPECT_TRUE(config_of(with_backend("")).backends[0].is_default);
  EXPECT_FALSE(config_of(with_backend("    default: false\n")).backends[0].is_default);
  const config::Config two = config_of("backends: { a: { command: [x] }, b: { command: [x] } }");
  EXPECT_FALSE(two.backends[0].is_default);
  EXPECT_FALSE(two.backends[1].is_default);
}

TEST(ConfigParser, AnOnlyBackendIsRequiredUnlessItSaysNo) {
  EXPECT_TRUE(config_of(with_backend("")).backends[0].is_required);
  EXPECT_FALSE(config_of(with_backend("    required: false\n")).backends[0].is_required);
  const config::Config two =
      config_of("backends: { a: { command: [x], required: true }, b: { command: [x] } }");
  EXPECT_TRUE(two.backends[0].is_required);
  EXPECT_FALSE(two.backends[1].is_required);
}

TEST(ConfigParser, ModernServersAreShared) {
  const auto isolation = [](const std::string& lines) {
    return config_of(with_backend(lines)).backends[0].isolation;
  };
  EXPECT_EQ(isolation("    revision: modern\n"), config::Isolation::shared);
  EXPECT_EQ(isolation("    revision: modern\n    isolation: session\n"),
            config::Isolation::session);
  EXPECT_EQ(isolation("    revision: legacy\n"), config::Isolation::session);
  EXPECT_EQ(isolation("    revision: auto\n"), config::Isolation::session);
}

TEST(ConfigParser, DefaultsFollowTheProtocol) {
  struct Case {
    const char* lines;
    config::Protocol protocol;
    rpc::Framing framing;
    config::Isolation isolation;
    const char* cancel_method;
  };
  const Case cases[] = {
      {"", config::Protocol::mcp, rpc::Framing::newline, config::Isolation::session, ""},
      {"    protocol: mcp\n", config::Protocol::mcp, rpc::Framing::newline,
       config::Isolation::session, ""},
      {"    protocol: jsonrpc\n", config::Protocol::jsonrpc, rpc::Framing::newline,
       config::Isolation::shared, "$/cancelRequest"},
      {"    protocol: lsp\n", config::Protocol::lsp, rpc::Framing::content_length,
       config::Isolation::session, ""},
      {"    protocol: acp\n", config::Protocol::acp, rpc::Framing::newline,
       config::Isolation::session, ""},
      // Each default can be overridden.
      {"    isolation: shared\n    framing: content-length\n", config::Protocol::mcp,
       rpc::Framing::content_length, config::Isolation::shared, ""},
      {"    protocol: jsonrpc\n    isolation: session\n", config::Protocol::jsonrpc,
       rpc::Framing::newline, config::Isolation::session, "$/cancelRequest"},
      {"    protocol: lsp\n    framing: newline\n", config::Protocol::lsp, rpc::Framing::newline,
       config::Isolation::session, ""},
  };
  for (const Case& c : cases) {
    const config::BackendConfig backend = config_of(with_backend(c.lines)).backends.at(0);
    EXPECT_EQ(backend.protocol, c.protocol) << c.lines;
    EXPECT_EQ(backend.framing, c.framing) << c.lines;
    EXPECT_EQ(backend.isolation, c.isolation) << c.lines;
    EXPECT_EQ(backend.cancel_method, c.cancel_method) << c.lines;
    config::PoolConfig pool;
    pool.remember = c.protocol == config::Protocol::mcp;
    EXPECT_EQ(backend.pool, pool) << c.lines;
  }
}

TEST(ConfigParser, TheCancelMethodOfJsonRpcCanBeChosen) {
  EXPECT_EQ(config_of(with_backend("    protocol: jsonrpc\n    cancel_method: stop\n"))
                .backends[0]
                .cancel_method,
            "stop");
}

TEST(ConfigParser, QueuesFollowTheLargestMessage) {
  const config::Config config = config_of(with_root("limits: { message: 1GiB }\n"));
  EXPECT_EQ(config.backends[0].pool.queue_bytes, size_t{1} << 30);
}

TEST(ConfigParser, AVariableCannotInjectStructure) {
  const config::Config config = config_of(with_backend("    cwd: ${INJECTION}\n"));
  EXPECT_EQ(config.backends[0].cwd, "x\nadmin: \"off\"");
  EXPECT_EQ(config.admin.address, "127.0.0.1:9464");
}

struct BadFile {
  std::string yaml;
  std::string errors;
};

void check(const BadFile& bad) { EXPECT_EQ(errors_of(bad.yaml), bad.errors) << bad.yaml; }

TEST(ConfigParser, ErrorsHideWhatSecretVariablesBring) {
  const std::string errors = errors_of(
      "backends: { a: { command: [x], env_file: \"/nowhere/${API_TOKEN}\", "
      "cwd: \"${PORT}\", timeout: \"${API_TOKEN}\" } }\n");
  EXPECT_THAT(errors, testing::Not(testing::HasSubstr("hush-hush")));
  EXPECT_THAT(errors, testing::HasSubstr("/nowhere/***hidden***"));
}

TEST(ConfigParser, RefusesBadStructure) {
  const std::string missing = "backends: missing; name at least one backend and its command\n";
  const BadFile cases[] = {
      {"{}", "f:1:1: " + missing},
      {"[x]", "f:1:1: expected a map, found a list\nf:1:1: " + missing},
      {"hello", "f:1:1: expected a map, found 'hello'\nf:1:1: " + missing},
      {"backends:\n", "f:1:1: backends: expected at least one backend\n"},
      {"backends: {}\n", "f:1:1: backends: expected at least one backend\n"},
      {"backends: [x]\n", "f:1:11: backends: expected a map, found a list\n"},
      {"backends:\n  a:\n",
       "f:2:3: backends.a.command: missing; a backend needs a command to start\n"},
      {"backends:\n  a: x\n",
       "f:2:3: backends.a.command: missing; a backend needs a command to start\n"
       "f:2:6: backends.a: expected a map, found 'x'\n"},
      {with_root("---\na: b\n"),
       "f:3:1: a second document begins here; a configuration is one document\n"},
      {with_root("lisen: x\n"), "f:2:1: lisen: unknown key; did you mean 'listen'?\n"},
      {with_root("xyz: x\n"),
       "f:2:1: xyz: unknown key; known here: listen, admin, anonymous, allowed_origins, "
       "allowed_hosts, trusted_proxies, rpc_stream, watch, replica, state_dir, auth, roles, "
       "limits, tls, "
       "backends, servers, sessions, timeouts, log, audit, metrics, calls, traces\n"},
      {with_root("audit: { calls: [a] }\n"),
       "f:2:1: audit.file: missing; name the file of the audit\n"},
      {with_root("audit: { file: a, arguments: none }\n"),
       "f:2:30: audit.arguments: expected one of digest, redacted, full; found 'none'\n"},
      {with_root("trusted_proxies: [localhost]\n"),
       "f:2:19: trusted_proxies[0]: expected unix, an address or a block of them, like "
       "10.1.0.0/16; found 'localhost'\n"},
      {with_root("admin: off\nadmin: off\n"),
       "f:3:1: admin: the key occurs twice; it stands in line 2 already\n"},
      {with_root("[a]: b\n"), "f:2:1: a key must be a text\n"},
      {"backends:\n  a: { command: [x] }\n  a: { command: [y] }\n",
       "f:3:3: backends.a: the key occurs twice; it stands in line 2 already\n"},
      {"backends: { a: { command: [x }\n", "f:1:30: this bracket closes none that is open\n"},
      {"a: *b\n", "f:1:4: a text that begins with '*' needs quotes\n"},
      {with_backend("    env: { DEBUG: }\n"),
       "f:4:12: backends.a.env.DEBUG: expected a string, found nothing; write \"\" for an empty "
       "text\n"},
  };
  for (const BadFile& bad : cases) check(bad);
}

TEST(ConfigParser, RefusesBadBackends) {
  const std::string bad_name =
      "a backend's name has 1 to 64 characters out of a-z, 0-9, '_' and '-'\n";
  const std::string no_variable_name = "not a name that an environment variable can have\n";
  const BadFile cases[] = {
      {"backends: { A: { command: [x] } }", "f:1:13: backends.A: " + bad_name},
      {"backends: { a.b: { command: [x] } }", "f:1:13: backends.a.b: " + bad_name},
      {"backends: { \"\": { command: [x] } }", "f:1:13: backends.: " + bad_name},
      {"backends: { " + std::string(64, 'a') + ": { command: [x] } }", ""},
      {"backends: { ? " + std::string(65, 'a') + " : { command: [x] } }",
       "f:1:15: backends." + std::string(65, 'a') + ": " + bad_name},
      {"backends: { mcp: { command: [x] } }",
       "f:1:13: backends.mcp: 'mcp' is a path of the gateway itself; choose another name\n"},
      {"backends: { a: { command: [] } }",
       "f:1:27: backends.a.command: must start with the program to run\n"},
      {"backends: { a: { command: [\"\", x] } }",
       "f:1:27: backends.a.command: must start with the program to run\n"},
      {"backends: { a: { command: npx -y  server } }",
       "f:1:27: backends.a.command: expected a list, found a text; no shell splits it. Write: "
       "[\"npx\", \"-y\", \"server\"]\n"},
      // The variable may be a secret, so its value is not shown.
      {"backends: { a: { command: \"x ${TOKEN}\" } }",
       "f:1:27: backends.a.command: expected a list, found a text; no shell splits it. Write: "
       "[\"x\", \"${TOKEN}\"]\n"},
      {"backends: { a: { command: { x: y } } }",
       "f:1:27: backends.a.command: expected a list, found a map\n"},
      {"backends: { a: { command: [x, [y], ~] } }",
       "f:1:31: backends.a.command[1]: expected a string, found a list\n"
       "f:1:36: backends.a.command[2]: expected a string, found nothing; write \"\" for an empty "
       "text\n"},
      {"backends: { a: { command: [\"x\\0y\"] } }",
       "f:1:28: backends.a.command[0]: must not hold a NUL byte\n"},
      {"backends: { a: { command: [x, \"${NONE}\"] } }",
       "f:1:31: backends.a.command[1]: environment variable 'NONE' is not set; set it, or write "
       "${NONE:-default}\n"},
      {with_backend("    protocol: http\n"), "f:4:15: backends.a.protocol: expected one of " +
                                                 config::words_of<config::Protocol>() +
                                                 "; found 'http'\n"},
      {with_backend("    framing: lines\n"),
       "f:4:14: backends.a.framing: expected one of newline, content-length; found 'lines'\n"},
      {with_backend("    isolation: none\n"),
       "f:4:16: backends.a.isolation: expected one of shared, session, principal; found 'none'\n"},
      {with_backend("    protocol: lsp\n    isolation: shared\n    pool: { warm: 1 }\n"),
       "f:5:16: backends.a.isolation: a language server serves one client; leave isolation out, "
       "or use session\n"},
      {with_backend("    cancel_method: x\n"),
       "f:4:5: backends.a.cancel_method: only for protocol jsonrpc; MCP has its own cancel "
       "notification\n"},
      {with_backend("    protocol: jsonrpc\n    revive: true\n"),
       "f:5:5: backends.a.revive: only for protocol mcp; others have no handshake to repeat\n"},
      {with_backend("    protocol: jsonrpc\n    bridge: true\n"),
       "f:5:5: backends.a.bridge: only for protocol mcp\n"},
      {with_backend("    protocol: jsonrpc\n    share_modern: true\n"),
       "f:5:5: backends.a.share_modern: only for protocol mcp\n"},
      {with_backend("    protocol: jsonrpc\n    pool: { remember: true }\n"),
       "f:5:13: backends.a.pool.remember: only for protocol mcp; others have no lists to "
       "remember\n"},
      {with_backend("    protocol: jsonrpc\n    cache: true\n"),
       "f:5:5: backends.a.cache: only for protocol mcp\n"},
      {with_backend("    protocol: jsonrpc\n    revision: modern\n"),
       "f:5:5: backends.a.revision: only for protocol mcp\n"},
      {with_backend("    revision: 2026-07-28\n"),
       "f:4:15: backends.a.revision: expected one of auto, legacy, modern; found '2026-07-28'\n"},
      {with_backend("    protocol: lsp\n    cancel_method: \"\"\n"),
       "f:5:5: backends.a.cancel_method: only for protocol jsonrpc; LSP has its own cancel "
       "notification\n"},
      {with_backend("    protocol: http\n    cancel_method: x\n"),
       "f:4:15: backends.a.protocol: expected one of " + config::words_of<config::Protocol>() +
           "; found 'http'\n"},
      {with_backend("    default: yes\n"),
       "f:4:14: backends.a.default: expected true or false, found 'yes'\n"},
      {"backends:\n  a: { command: [x], default: true }\n  b: { command: [x] }\n"
       "  c: { command: [x], default: true }\n",
       "f:4:31: backends.c.default: only one backend can be the default; 'a' is\n"},
      {with_backend("    env: [A=1]\n"), "f:4:10: backends.a.env: expected a map, found a list\n"},
      {with_backend("    env: { A=B: 1, \"\": 2 }\n"),
       "f:4:12: backends.a.env.A=B: " + no_variable_name +
           "f:4:20: backends.a.env.: " + no_variable_name},
      {with_backend("    env_inherit: PATH\n"),
       "f:4:18: backends.a.env_inherit: expected a list, found 'PATH'\n"},
      {with_backend("    env_inherit: [\"\", A=B, A*B]\n"),
       "f:4:19: backends.a.env_inherit[0]: expected a variable's name (\"!\" needs its quotes); "
       "found ''\n"
       "f:4:23: backends.a.env_inherit[1]: expected a variable's name, or a prefix that ends in "
       "'*'; found 'A=B'\n"
       "f:4:28: backends.a.env_inherit[2]: expected a variable's name, or a prefix that ends in "
       "'*'; found 'A*B'\n"},
      {with_backend("    env_inherit: [A, \"!\", \"!PATH\"]\n"),
       "f:4:22: backends.a.env_inherit[1]: \"!\" must be the first entry: it stands for \"not the "
       "default list\"; found '!'\nf:4:27: backends.a.env_inherit[2]: \"!\" must be an entry of "
       "its own, the first one; write the wanted names as further entries; found '!PATH'\n"},
      {with_backend("    env_file: { a: b }\n"),
       "f:4:15: backends.a.env_file: expected a list, found a map\n"},
      {with_backend("    env_file: x\n"), "f:4:15: backends.a.env_file: cannot read x here\n"},
      {with_backend("    rlimits: { cpu: 1500ms }\n"),
       "f:4:21: backends.a.rlimits.cpu: must be whole seconds\n"},
      {with_backend("    rlimits: { memory: 1GiB }\n"),
       "f:4:16: backends.a.rlimits.memory: unknown key; known here: address_space, cpu, "
       "open_files, processes\n"},
      {with_backend("    sandbox: loose\n"),
       "f:4:14: backends.a.sandbox: expected off, strict, or a map; found 'loose'\n"},
      {with_backend("    sandbox: { network: all }\n"),
       "f:4:25: backends.a.sandbox.network: expected any, none, outbound, or a map; found "
       "'all'\n"},
      {with_backend("    sandbox: { network: { connect: [0] } }\n"),
       "f:4:37: backends.a.sandbox.network.connect[0]: expected a port from 1 to 65535; found "
       "'0'\n"},
      {with_backend("    sandbox: { network: { bind: [65536] } }\n"),
       "f:4:34: backends.a.sandbox.network.bind[0]: expected a port from 1 to 65535; found "
       "'65536'\n"},
      {with_backend("    sandbox: { filesystem: { read: [/a], default_read: true } }\n"),
       "f:4:30: backends.a.sandbox.filesystem.read: has no effect, as default_read lets the child "
       "read all files; leave one of them out\n"},
      {with_backend("    timeout: 60\n"),
       "f:4:14: backends.a.timeout: '60' is not a duration; write it like 250ms, 30s, 5m or 1h\n"},
      {with_backend("    max_time: 59s\n"),
       "f:4:15: backends.a.max_time: max_time (59s) is the time of a whole call, and cannot be "
       "less than timeout (1m)\n"},
      {with_backend("    pool: { max: ten }\n"),
       "f:4:18: backends.a.pool.max: expected a whole number from 1 to 1024, found 'ten'\n"},
      {with_backend("    pool: { maxx: 1 }\n"),
       "f:4:13: backends.a.pool.maxx: unknown key; did you mean 'max'?\n"},
      {with_backend("    pool: { min: 17 }\n"),
       "f:4:18: backends.a.pool.min: min (17) is greater than max (16)\n"},
      {with_backend("    pool: { max: 0, min: 17 }\n"),  // one error, not two
       "f:4:18: backends.a.pool.max: expected a whole number from 1 to 1024, found '0'\n"},
      {with_backend("    pool: { backoff_max: 99ms }\n"),
       "f:4:5: backends.a.pool.backoff_min: backoff_min (100ms) is greater than backoff_max "
       "(99ms)\n"},
      {with_backend("    pool: { queue_bytes: 16383KiB }\n"),
       "f:4:26: backends.a.pool.queue_bytes: must hold the largest message; limits.message is "
       "16MiB\n"},
  };
  for (const BadFile& bad : cases) check(bad);
}

TEST(ConfigParser, ALongTimeoutIsTheDefaultOfMaxTime) {
  EXPECT_EQ(config_of(with_backend("    timeout: 1h\n")).backends[0].max_time, hours(1));
  EXPECT_EQ(config_of(with_backend("    timeout: 61m\n")).backends[0].max_time, minutes(61));
  EXPECT_EQ(config_of(with_backend("    timeout: 5s\n    max_time: 5s\n")).backends[0].max_time,
            seconds(5));
}

TEST(ConfigParser, RefusesBadGatewayValues) {
  const std::string origin =
      "expected \"*\" or an origin without a path, like https://app.example.com; found ";
  const BadFile cases[] = {
      {with_root("listen: []\n"), "f:2:9: listen: expected 1 to 64 addresses\n"},
      {with_root("listen: { a: b }\n"), "f:2:9: listen: expected a list, found a map\n"},
      {with_root("listen: x\n"),
       "f:2:9: listen: 'x' is not a listen address: write host:port, [v6]:port or unix:/path\n"},
      {with_root("listen: [\":80\", \"0.0.0.0:80\"]\n"),
       "f:2:17: listen[1]: '0.0.0.0:80' is already in listen\n"},
      {with_root("admin: \"localhost:8080\"\n"),
       "f:2:8: admin: 'localhost:8080' is already in listen\n"},
      {with_root("listen: \"127.0.0.1:9464\"\n"),
       "f:1:1: admin: its default, '127.0.0.1:9464', is already in listen; give it an address, "
       "or \"off\"\n"},
      {with_root("admin:\n"),
       "f:2:1: admin: expected a string, found nothing; write \"\" for an empty text\n"},
      {with_root("allowed_origins: [\"https://a.example/\", a.example, \"\"]\n"),
       "f:2:19: allowed_origins[0]: " + origin + "'https://a.example/'\n" +
           "f:2:41: allowed_origins[1]: " + origin + "'a.example'\n" +
           "f:2:52: allowed_origins[2]: " + origin + "''\n"},
      {with_root("allowed_hosts: [\"http://a\"]\n"),
       "f:2:17: allowed_hosts[0]: expected \"*\" or a host name, like gateway.example.com; "
       "found 'http://a'\n"},
      {with_root("rpc_stream: 1\n"), "f:2:13: rpc_stream: expected true or false, found '1'\n"},
      {with_root("limits: { message: 16MB, buffered: 1KiB }\n"),
       "f:2:20: limits.message: '16MB' is not a size; write it like 512, 64KiB, 16MiB or 1GiB\n"},
      {with_root("limits: { message: 2MiB, buffered: 1MiB }\n"),
       "f:2:36: limits.buffered: must hold the largest message; limits.message is 2MiB\n"},
      {with_root("limits: { message: 2MiB, buffered_per_client: 1MiB }\n"),
       "f:2:47: limits.buffered_per_client: must hold the largest message; limits.message is "
       "2MiB\n"},
      {with_root("timeouts: 5s\n"), "f:2:11: timeouts: expected a map, found '5s'\n"},
      {with_root("log: { level: trace, format: xml }\n"),
       "f:2:15: log.level: expected one of debug, info, warn, error, off; found 'trace'\n"
       "f:2:30: log.format: expected one of json, text; found 'xml'\n"},
      {with_root("metrics: { buckets: [] }\n"),
       "f:2:21: metrics.buckets: expected 1 to 100 numbers of seconds\n"},
      {with_root("metrics: { buckets: [0, 2, 1, 1s, 86401] }\n"),
       "f:2:22: metrics.buckets[0]: expected seconds above 0, at most 86400, found '0'\n"
       "f:2:28: metrics.buckets[2]: expected seconds above 2, at most 86400, found '1'\n"
       "f:2:31: metrics.buckets[3]: expected a number, found '1s'\n"
       "f:2:35: metrics.buckets[4]: expected seconds above 2, at most 86400, found '86401'\n"},
  };
  for (const BadFile& bad : cases) check(bad);
}

// A shell would expand the tilde, so users expect that. A folder of that name can be written as ./~
TEST(ConfigParser, SaysThatNothingExpandsATilde) {
  const std::string why = "nothing here expands ~; write ";
  const BadFile cases[] = {
      {"backends: { a: { command: [\"~/x\", \"~/y\"], cwd: ~/z } }\n",
       "f:1:27: backends.a.command: " + why + "${HOME}/x\n" + "f:1:48: backends.a.cwd: " + why +
           "${HOME}/z\n"},
      {"backends: { a: { command: [x], env_file: ~/e, env: { A: { file: \"~\" }, B: ~/b } } }\n",
       "f:1:42: backends.a.env_file: " + why + "${HOME}/e\n" +
           "f:1:65: backends.a.env.A.file: " + why + "${HOME}\n"},
      {with_root("sessions: { key_file: ~/k }\naudit: { file: ~ada/a }\n"),
       "f:2:23: sessions.key_file: " + why + "${HOME}/k\n" +
           "f:3:16: audit.file: nothing here expands ~; write the whole path instead of ~ada/a\n"},
      {with_root("tls: { certificate: ~/c, key: [~/k], client_ca: ~/a, crl: ~/r }\n"),
       "f:2:21: tls.certificate: " + why + "${HOME}/c\n" + "f:2:32: tls.key[0]: " + why +
           "${HOME}/k\n" + "f:2:49: tls.client_ca: " + why + "${HOME}/a\n" +
           "f:2:59: tls.crl: " + why + "${HOME}/r\n"},
      {with_root("listen: \"unix:~/x\"\n"), "f:2:9: listen: " + why + "${HOME}/x\n"},
  };
  for (const BadFile& bad : cases) check(bad);
  EXPECT_EQ(
      config_of("backends: { a: { command: [x], cwd: ./~/x, env: { A: ~/b } } }\n").backends[0].cwd,
      "./~/x");
}

TEST(ConfigParser, ReportsAllErrorsSortedByPlace) {
  check({"metrics: { methods: 0 }\nbackends:\n  rpc: { command: x, pool: { grce: 2s } }\nlog: 1\n",
         "f:1:21: metrics.methods: expected a whole number from 1 to 100000, found '0'\n"
         "f:3:3: backends.rpc: 'rpc' is a path of the gateway itself; choose another name\n"
         "f:3:19: backends.rpc.command: expected a list, found a text; no shell splits it. Write: "
         "[\"x\"]\n"
         "f:3:30: backends.rpc.pool.grce: unknown key; did you mean 'grace'?\n"
         "f:4:6: log: expected a map, found '1'\n"});
}

TEST(ConfigParser, CountsBackendsListenersAndBuckets) {
  const auto list = [](size_t count, const std::string& prefix, const std::string& suffix) {
    std::string items;
    for (size_t i = 1; i <= count; ++i) items += prefix + std::to_string(i) + suffix;
    return items;
  };
  EXPECT_EQ(errors_of("backends:\n" + list(256, "  b", ": { command: [x] }\n")), "");
  EXPECT_EQ(errors_of("backends:\n" + list(257, "  b", ": { command: [x] }\n")),
            "f:1:1: backends: at most 256 backends\n");
  EXPECT_EQ(errors_of(with_root("listen:\n" + list(64, "  - \"127.0.0.1:", "\"\n"))), "");
  EXPECT_EQ(errors_of(with_root("listen:\n" + list(65, "  - \"127.0.0.1:", "\"\n"))),
            "f:3:3: listen: expected 1 to 64 addresses\n");
  EXPECT_EQ(errors_of(with_root("metrics:\n  buckets:\n" + list(100, "    - ", "\n"))), "");
  EXPECT_EQ(errors_of(with_root("metrics:\n  buckets:\n" + list(101, "    - ", "\n"))),
            "f:4:5: metrics.buckets: expected 1 to 100 numbers of seconds\n");
}

TEST(ConfigParser, SettingsReplaceWhatTheFileSays) {
  const std::string yaml = with_root("listen: bad\nlog: { level: info, format: json }\n");
  const config::Config config =
      config_of(yaml, {{{"listen"}, std::vector<std::string>{"127.0.0.1:1"}},
                       {{"log", "level"}, std::string("debug")},
                       {{"limits", "message"}, std::string("1MiB")}});
  EXPECT_THAT(config.listen, ElementsAre(config::ListenerConfig{"127.0.0.1:1"}));
  EXPECT_EQ(config.log.level, LogLevel::debug);
  EXPECT_EQ(config.log.format, config::LogFormat::json);
  EXPECT_EQ(config.limits.message, size_t{1} << 20);
}

TEST(ConfigParser, SettingsAloneAreAConfiguration) {
  const std::vector<config::Setting> settings = {
      {{"backends", "a", "command"}, std::vector<std::string>{"sh", "-c", "echo ${HOME} $$"}},
      {{"backends", "a", "env", "A.B"}, std::string("${NONE}")}};
  const config::Config config = config_of("", settings);
  ASSERT_EQ(config.backends.size(), 1u);
  EXPECT_THAT(config.backends[0].command, ElementsAre("sh", "-c", "echo ${HOME} $$"));
  EXPECT_EQ(config.backends[0].env.at("A.B"), "${NONE}");
}

TEST(ConfigParser, SettingsHaveErrorsWithoutALine) {
  EXPECT_EQ(errors_of(with_root(""), {{{"log", "level"}, std::string("x")},
                                      {{"admin"}, std::string("127.0.0.1:8080")}}),
            "f: admin: '127.0.0.1:8080' is already in listen\n"
            "f: log.level: expected one of debug, info, warn, error, off; found 'x'\n");
  // A value that is no map is not changed, and is reported at its place in the file.
  EXPECT_EQ(errors_of(with_root("log: 5\n"), {{{"log", "level"}, std::string("info")}}),
            "f:2:6: log: expected a map, found '5'\n");
}

// Every text gives an answer, and never an exception.
TEST(ConfigParser, SurvivesHostileText) {
  const std::string good = with_backend("    env: { A: \"x\\ny\", B: *b }\n") +
                           "x: &b [*b, !!int 1, ? k, | t]\nlisten: >\n  a\n";
  for (size_t size = 0; size <= good.size(); ++size) {
    errors_of(good.substr(0, size));
    for (const char byte : {'\0', '\xFF', '{', ']', '&', '*', '\t', ':'}) {
      std::string text = good;
      text.insert(size, 1, byte);
      errors_of(text);
    }
  }
  EXPECT_NE(errors_of(std::string(100000, '[')), "");
  EXPECT_NE(errors_of("backends: &a { a: *a }"), "");
  EXPECT_NE(errors_of("a: &a [x, x]\nb: &b [*a, *a]\nbackends: &c [*b, *b]\n"), "");
}

}  // namespace
}  // namespace stdgate
