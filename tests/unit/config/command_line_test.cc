// Command lines: their meaning, their resolved paths, and the errors for invalid arguments.
#include "gateway/app/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gateway/config/config_parser.h"
#include "gateway/config/value_names.h"

namespace stdgate {
namespace {

constexpr const char* kVersionLine =
    "stdgate [0-9]+\\.[0-9]+\\.[0-9]+ \\((commit [0-9a-f]{12}, )?linux-[a-z0-9_]+\\)\n";

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using Action = app::CommandLine::Action;
using Arguments = std::vector<std::string>;

std::optional<std::string> empty_environment(const std::string&) { return std::nullopt; }

app::CommandLine parse(Arguments arguments) {
  arguments.insert(arguments.begin(), "stdgate");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return app::parse_command_line(static_cast<int>(argv.size()), argv.data());
}

config::Config config_of(const Arguments& arguments) {
  const app::CommandLine command_line = parse(arguments);
  EXPECT_EQ(command_line.output, "");
  auto config = app::load_config(command_line, empty_environment);
  if (config) return *std::move(config);
  ADD_FAILURE() << config.error();
  return {};
}

// The error that the program prints before it exits, from parsing or from loading.
std::string error_of(const Arguments& arguments) {
  const app::CommandLine command_line = parse(arguments);
  if (command_line.action == Action::exit) {
    EXPECT_EQ(command_line.exit_code, 2);
    return command_line.output;
  }
  const app::CheckReport report = app::check_config(command_line, empty_environment);
  EXPECT_EQ(report.exit_code, 2);
  return report.output;
}

// A temporary directory, which is the current directory during a test.
class CommandLineFiles : public testing::Test {
 protected:
  CommandLineFiles() {
    std::string pattern = testing::TempDir() + "stdgate-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(directory_);
  }
  ~CommandLineFiles() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(directory_);
  }
  static void write(const std::string& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
  }

 private:
  std::filesystem::path directory_;
  std::filesystem::path before_;
};

// Root may read every file, so the test drops root's rights while this object lives.
class Unprivileged {
 public:
  Unprivileged() {
    if (geteuid() == 0) {
      EXPECT_EQ(seteuid(65534), 0);
    }
  }
  ~Unprivileged() {
    if (getuid() == 0) {
      EXPECT_EQ(seteuid(0), 0);
    }
  }
};

TEST(CommandLine, KnowsItsActions) {
  EXPECT_EQ(parse({"demo-server"}).action, Action::demo_server);
  EXPECT_EQ(parse({"hash-key"}).action, Action::hash_key);
  EXPECT_FALSE(parse({"hash-key"}).makes_key);
  EXPECT_TRUE(parse({"hash-key", "--new"}).makes_key);
  EXPECT_EQ(parse({"check"}).action, Action::check);
  EXPECT_EQ(parse({"check", "--as", "ci,writer"}).as, "ci,writer");
  EXPECT_EQ(parse({"check", "--as", "ci", "--backend", "files", "-c", "f"}).only, "files");
  EXPECT_TRUE(parse({"check", "--as", "ci", "--json"}).as_json);
  EXPECT_EQ(parse({"check", "-c", "f", "--against", "g"}).against, "g");
  EXPECT_EQ(parse({"audit", "verify", "a", "b"}).action, Action::verify_audit);
  EXPECT_THAT(parse({"audit", "verify", "a", "b"}).audit_files, ElementsAre("a", "b"));
  EXPECT_EQ(parse({"check", "--config", "f"}).config_file, "f");
  EXPECT_EQ(parse({"--config", "f", "check"}).action, Action::check);
  EXPECT_EQ(parse({"check", "--min", "2", "--", "x"}).action, Action::check);
  EXPECT_EQ(parse({}).action, Action::serve);
  EXPECT_EQ(parse({"-c", "f"}).config_file, "f");
  EXPECT_EQ(parse({"--config=f"}).action, Action::serve);
  EXPECT_THAT(parse({"--", "x", "--help", "--", "y"}).command,
              ElementsAre("x", "--help", "--", "y"));
}

TEST(CommandLine, PrintsHelpAndVersion) {
  for (const Arguments& arguments : {Arguments{"--help"}, {"-h"}, {"help"}, {"--min", "2", "-h"}}) {
    const app::CommandLine help = parse(arguments);
    EXPECT_EQ(help.action, Action::exit);
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_THAT(help.output, HasSubstr("\nUsage:\n"));
    EXPECT_THAT(help.output, HasSubstr("\n  --max-in-flight N "));
    EXPECT_THAT(help.output, HasSubstr("\nExamples:\n"));
  }
  for (const Arguments& arguments : {Arguments{"--version"},
                                     {"-V"},
                                     {"version"},
                                     {"check", "--version"},
                                     {"--min", "2", "-V"}}) {
    const app::CommandLine version = parse(arguments);
    EXPECT_EQ(version.action, Action::exit);
    EXPECT_EQ(version.exit_code, 0);
    EXPECT_THAT(version.output, testing::MatchesRegex(kVersionLine));
  }
}

TEST(CommandLine, PrintsTheHelpOfAWord) {
  for (const auto& [word, text] : {std::pair("check", "Validates a configuration"),
                                   std::pair("hash-key", "Makes an API key and its hash"),
                                   std::pair("demo-server", "A JSON-RPC server on stdin")}) {
    for (const char* flag : {"--help", "-h"}) {
      const app::CommandLine help = parse({word, flag});
      EXPECT_EQ(help.action, Action::exit);
      EXPECT_EQ(help.exit_code, 0);
      EXPECT_THAT(help.output, StartsWith(text));
      EXPECT_THAT(help.output, HasSubstr(std::string("stdgate ") + word));
    }
  }
}

TEST(CommandLine, PrintsSchemaAndReference) {
  EXPECT_EQ(parse({"config", "schema"}).output, config::config_schema());
  EXPECT_EQ(parse({"config", "reference"}).output, config::config_reference());
  for (const char* what : {"schema", "reference"}) {
    const app::CommandLine printed = parse({"config", what});
    EXPECT_EQ(printed.action, Action::exit);
    EXPECT_EQ(printed.exit_code, 0);
  }
  for (const Arguments& arguments : {Arguments{"config"},
                                     {"config", "shema"},
                                     {"config", "schema", "x"},
                                     {"config", "schema", "--", "x"},
                                     {"--min", "1", "config", "schema"}}) {
    EXPECT_EQ(error_of(arguments),
              "stdgate: expected stdgate config schema or stdgate config reference\n");
  }
}

TEST(CommandLine, CommandAloneHasTheDefaultsOfAFile) {
  const auto file =
      config::parse_config("backends: { x: { command: [x, -y] } }", empty_environment);
  ASSERT_TRUE(file);
  EXPECT_EQ(config_of({"--", "x", "-y"}), *file);
}

TEST(CommandLine, ProtocolAloneHasTheDefaultsOfAFile) {
  for (const std::string protocol : {"jsonrpc", "mcp", "lsp", "acp"}) {
    const auto file = config::parse_config(
        "backends: { x: { command: [x], protocol: " + protocol + " } }", empty_environment);
    ASSERT_TRUE(file);
    EXPECT_EQ(config_of({"--protocol", protocol, "--", "x"}), *file);
  }
}

TEST(CommandLine, EveryFlagHasItsKey) {
  const auto file = config::parse_config(R"(
listen: ["127.0.0.1:1", "[::1]:2"]
admin: "off"
allowed_hosts: ["my-service", "*"]
allowed_origins: ["https://app.example"]
rpc_stream: true
watch: true
backends:
  n:
    command: [x]
    protocol: jsonrpc
    framing: content-length
    isolation: session
    env: { A: "1", B: "b=$${", EMPTY: "" }
    env_inherit: ["!", PATH, LC_*]
    cwd: /srv
    timeout: 1s
    max_time: 2s
    pool: { min: 2, max: 12, warm: 9, sessions: 10, max_in_flight: 4, queue: 5,
            start_timeout: 6s, idle_timeout: 7s, grace: 8s }
    cancel_method: stop
    expose_fault_details: true
limits: { message: 1MiB }
log: { level: warn, format: json, calls: false }
)",
                                         empty_environment);
  ASSERT_TRUE(file);
  EXPECT_EQ(config_of({"--listen",
                       "127.0.0.1:1",
                       "--listen",
                       "[::1]:2",
                       "--admin",
                       "off",
                       "--allowed-hosts",
                       "my-service",
                       "--allowed-hosts",
                       "*",
                       "--allowed-origins",
                       "https://app.example",
                       "--rpc-stream",
                       "--watch",
                       "--name",
                       "n",
                       "--protocol",
                       "jsonrpc",
                       "--framing",
                       "content-length",
                       "--isolation",
                       "session",
                       "--env",
                       "A=1",
                       "--env",
                       "B=b=${",
                       "--env",
                       "EMPTY=",
                       "--env-inherit",
                       "!",
                       "--env-inherit",
                       "PATH",
                       "--env-inherit",
                       "LC_*",
                       "--cwd",
                       "/srv",
                       "--timeout",
                       "1s",
                       "--max-time",
                       "2s",
                       "--min",
                       "2",
                       "--max",
                       "12",
                       "--warm",
                       "9",
                       "--sessions",
                       "10",
                       "--max-in-flight",
                       "4",
                       "--queue",
                       "5",
                       "--start-timeout",
                       "6s",
                       "--idle-timeout",
                       "7s",
                       "--grace",
                       "8s",
                       "--cancel-method",
                       "stop",
                       "--expose-fault-details",
                       "--max-message",
                       "1MiB",
                       "--log-level",
                       "warn",
                       "--log-format",
                       "json",
                       "--no-call-log",
                       "--",
                       "x"}),
            *file);
}

TEST(CommandLine, AnEmptyValueIsAValue) {
  const Arguments spellings[] = {
      {"--protocol", "jsonrpc", "--cancel-method", "", "--no-call-log", "--", "x"},
      {"--protocol=jsonrpc", "--cancel-method=", "--no-call-log", "--", "x"},
  };
  for (const Arguments& arguments : spellings) {
    const config::Config config = config_of(arguments);
    ASSERT_EQ(config.backends.size(), 1u);
    EXPECT_EQ(config.backends[0].cancel_method, "");
    EXPECT_FALSE(config.log.calls);
  }
}

TEST(CommandLine, NamesTheBackendAfterTheServer) {
  EXPECT_EQ(config_of({"--", "npx", "-y", "@scope/name"}).backends.at(0).name, "name");
  EXPECT_EQ(config_of({"--name", "mine", "--", "npx", "-y", "@scope/name"}).backends.at(0).name,
            "mine");
}

// A variable FOO, and an empty variable.
std::optional<std::string> sample_environment(const std::string& name) {
  if (name == "FOO") return "of foo";
  if (name == "EMPTY") return "";
  return std::nullopt;
}

TEST(CommandLine, EnvTakesAValueFromTheEnvironment) {
  const auto config =
      app::load_config(parse({"--env", "FOO", "--env", "EMPTY", "--env", "BAR=${FOO}", "--", "x"}),
                       sample_environment);
  ASSERT_TRUE(config) << config.error();
  const std::map<std::string, std::string> expected = {
      {"FOO", "of foo"}, {"EMPTY", ""}, {"BAR", "${FOO}"}};
  EXPECT_EQ(config->backends.at(0).env, expected);
  const auto missing = app::load_config(
      parse({"--env", "ONE", "--env", "FOO", "--env", "TWO", "--", "x"}), sample_environment);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error(),
            "stdgate: --env ONE: environment variable 'ONE' is not set; set it, or write --env "
            "ONE=VALUE\n"
            "stdgate: --env TWO: environment variable 'TWO' is not set; set it, or write --env "
            "TWO=VALUE\n");
}

TEST_F(CommandLineFiles, EnvFileSetsVariables) {
  write("one.env", "A=1\nB=1\n");
  write("two.env", "export B='2'\n");
  const config::Config config =
      config_of({"--env-file", "one.env", "--env-file", "two.env", "--env", "C=3", "--", "x"});
  const config::BackendConfig& backend = config.backends.at(0);
  EXPECT_THAT(backend.env_files, ElementsAre("one.env", "two.env"));
  EXPECT_EQ(backend.env_from_files, (std::map<std::string, std::string>{{"A", "1"}, {"B", "2"}}));
  EXPECT_EQ(backend.env, (std::map<std::string, std::string>{{"C", "3"}}));
}

TEST_F(CommandLineFiles, SaysWhatIsWrongWithAnEnvFile) {
  write("bad.env", "A=1\nsecret words\n");
  write("open.env", "A='secret");
  const std::pair<std::string, std::string> cases[] = {
      {"bad.env", "bad.env:2: expected NAME=VALUE"},
      {"open.env",
       "open.env:1: A: the value's quote is not closed on its line; \"\\n\" between double quotes "
       "is a line feed"},
      {"none.env", "cannot read none.env: No such file or directory"},
      {".", ". is a directory; a file is needed"},
      {"", "expected the path of a file"},
  };
  for (const auto& [file, message] : cases) {
    EXPECT_EQ(error_of({"--env-file", file, "--", "x"}), "stdgate: --env-file: " + message + "\n");
  }
  write("worse.env", "A\nB=1\nC\n");
  EXPECT_EQ(error_of({"--env-file", "worse.env", "--", "x"}),
            "stdgate: --env-file: worse.env:1: expected NAME=VALUE\n"
            "stdgate: --env-file: worse.env:3: expected NAME=VALUE\n");
  write("f.yaml", "backends:\n  a: { command: [x], env_file: [bad.env] }\n");
  EXPECT_EQ(error_of({"--config", "f.yaml"}),
            "f.yaml:2:33: backends.a.env_file[0]: bad.env:2: expected NAME=VALUE\n");
}

TEST_F(CommandLineFiles, KeyFilesAreRead) {
  write("good.key", "# two\n" + std::string(64, '1') + "\n" + std::string(64, '2') + "\n");
  write("bad.key", std::string(64, '1') + "\n\nsecret\n");
  write("empty.key", "# none\n");
  write("limit.key", std::string(64, '1') + " #" + std::string((16 << 10) - 66, 'x'));
  write("large.key", std::string(64, '1') + " #" + std::string((16 << 10) - 65, 'x'));
  const config::Config config = config_of(
      {"--session-key-file", "good.key", "--session-ttl", "1h", "--replica", "g-0", "--", "x"});
  EXPECT_EQ(config.sessions.keys.size(), 2U);
  EXPECT_EQ(config.sessions.ttl, std::chrono::hours(1));
  EXPECT_EQ(config.replica, "g-0");
  EXPECT_EQ(config_of({"--session-key-file", "limit.key", "--", "x"}).sessions.keys.size(), 1U);
  const std::string expected =
      "expected a key of 32 bytes, as 64 hex digits or 44 characters of base64; openssl rand -hex "
      "32 makes one";
  const std::pair<std::string, std::string> cases[] = {
      {"bad.key", "bad.key:3: " + expected},
      {"empty.key", "empty.key: holds no key; " + expected},
      {"none.key", "cannot read none.key: No such file or directory"},
      {"large.key", "large.key is larger than 16KiB, the limit for such a file"},
      {"", "expected the path of a file"},
  };
  for (const auto& [file, message] : cases) {
    EXPECT_EQ(error_of({"--session-key-file", file, "--", "x"}),
              "stdgate: --session-key-file: " + message + "\n");
  }
}

TEST_F(CommandLineFiles, EnvFilesHaveLimits) {
  const std::string line = "A=";
  write("limit.env", line + std::string((128 << 10) - line.size(), 'x'));
  EXPECT_EQ(config_of({"--env-file", "limit.env", "--", "x"}).backends.at(0).env_from_files.size(),
            1U);
  write("large.env", line + std::string((128 << 10) - line.size() + 1, 'x'));
  EXPECT_EQ(error_of({"--env-file", "large.env", "--", "x"}),
            "stdgate: --env-file: large.env is larger than 128KiB, the limit for such a file\n");
  write("a.env", "A=1\n");
  Arguments arguments;
  for (int i = 0; i < 16; ++i) arguments.insert(arguments.end(), {"--env-file", "a.env"});
  arguments.insert(arguments.end(), {"--", "x"});
  EXPECT_EQ(config_of(arguments).backends.at(0).env_files.size(), 16U);
  arguments.insert(arguments.begin(), {"--env-file", "a.env"});
  EXPECT_EQ(error_of(arguments), "stdgate: --env-file: expected at most 16 files\n");
}

TEST(CommandLine, TakesTheCommandLiterally) {
  EXPECT_THAT(config_of({"--", "sh", "-c", "echo ${HOME} $$", ""}).backends.at(0).command,
              ElementsAre("sh", "-c", "echo ${HOME} $$", ""));
}

TEST(CommandLine, SaysWhatIsWrong) {
  const std::pair<Arguments, std::string> cases[] = {
      {{"npx", "-y", "foo", "--version"},
       "unknown command 'npx'; to serve it, put -- in front: stdgate -- npx -y foo --version"},
      {{"--min", "2", "npx", "a b", "it's"},
       "unknown command 'npx'; to serve it, put -- in front: stdgate --min 2 -- npx 'a b' "
       "'it'\\''s'"},
      {{"check", "npx"},
       "unknown command 'npx'; to serve it, put -- in front: stdgate check -- npx"},
      {{"chek"}, "unknown command 'chek'; did you mean 'check'?"},
      {{"chek", "--config", "f"}, "unknown command 'chek'; did you mean 'check'?"},
      {{"demo-sever"}, "unknown command 'demo-sever'; did you mean 'demo-server'?"},
      {{"versoin"}, "unknown command 'versoin'; did you mean 'version'?"},
      {{"gateway.yaml"},
       "unknown command 'gateway.yaml'; a file needs its option: stdgate --config gateway.yaml"},
      {{"check", "my.yml"},
       "unknown command 'my.yml'; a file needs its option: stdgate check --config my.yml"},
      {{"a\x1b[31m\n"},
       "unknown command 'a\\u001b[31m\\n'; to serve it, put -- in front: stdgate -- "
       "'a\\u001b[31m\\n'"},
      {{"-min", "2", "--", "x"}, "unknown option -min; did you mean --min?"},
      {{"-config", "f"}, "unknown option -config; did you mean --config?"},
      {{"-config=f"}, "unknown option -config=f; did you mean --config?"},
      {{"check", "--confg", "f"}, "unknown option --confg; did you mean --config?"},
      {{"--env_inherit", "A", "--", "x"},
       "unknown option --env_inherit; did you mean --env-inherit?"},
      {{"version", "--min", "1"}, "version takes no options and no command"},
      {{"help", "x"}, "help takes no options and no command"},
      {{"--mx", "3"}, "unknown option --mx; did you mean --max?"},
      {{"--mx=3"}, "unknown option --mx=3; did you mean --max?"},
      {{"-x"}, "unknown option -x; stdgate --help lists the options"},
      {{"--min"}, "--min needs a value"},
      {{"--config"}, "--config needs a value"},
      {{"--cwd", "--min", "--", "x"}, "--cwd: expected DIRECTORY, found another option"},
      {{"--min", "1", "--min", "1", "--", "x"}, "--min is given more than once"},
      {{"--no-call-log=false", "--", "x"}, "--no-call-log takes no value"},
      {{"--config", "f", "--config", "f"}, "--config is given more than once"},
      {{"--config="}, "--config: expected FILE"},
      {{"--config", "f", "--", "x"}, "either --config or a command behind --, not both"},
      {{"--"}, "a command must follow --"},
      {{"--", ""}, "a command must follow --"},
      {{"hash-key", "my-secret-key"},
       "expected stdgate hash-key or stdgate hash-key --new; the key is read from stdin, as "
       "arguments are seen by others"},
      {{"audit"}, "expected stdgate audit verify FILE…, the oldest file first"},
      {{"audit", "verify"}, "expected stdgate audit verify FILE…, the oldest file first"},
      {{"audit", "check", "f"}, "expected stdgate audit verify FILE…, the oldest file first"},
      {{"check", "--as", ""}, "--as needs a value"},
      {{"check", "--as="}, "--as needs a value"},
      {{"check", "--as"}, "--as needs a value"},
      {{"check", "--as", "ci", "--backend", ""}, "--backend needs a value"},
      {{"demo-server", "--min", "1"}, "demo-server takes no options and no command"},
      {{"demo-server", "--", "x"}, "demo-server takes no options and no command"},
      {{"--min", "1", "--config", "f"},
       "--min goes with a command, as in stdgate [options] -- COMMAND; with a file, set it there"},
      {{"--min", "1"},
       "--min goes with a command, as in stdgate [options] -- COMMAND; with a file, set it there"},
      {{"--env", "=A", "--", "x"}, "--env: expected NAME[=VALUE]"},
      {{"--env", "", "--", "x"}, "--env: expected NAME[=VALUE]"},
      {{"--env-inherit", "A", "--env-inherit", "!", "--", "x"},
       "--env-inherit: \"!\" must be the first entry: it stands for \"not the default list\"; "
       "found "
       "'!'"},
      {{"--min", "x", "--", "x"}, "--min: expected a whole number from 0 to 1024, found 'x'"},
      {{"--max", "2", "--min", "3", "--", "x"}, "--min: min (3) is greater than max (2)"},
      {{"--name", "mcp", "--", "x"},
       "--name: 'mcp' is a path of the gateway itself; choose another name"},
      {{"--cancel-method", "x", "--", "x"},
       "--cancel-method: only for protocol jsonrpc; MCP has its own cancel notification"},
      {{"--protocol", "http", "--", "x"},
       "--protocol: expected one of " + config::words_of<config::Protocol>() + "; found 'http'"},
      {{"--isolation", "none", "--", "x"},
       "--isolation: expected one of shared, session, principal; found 'none'"},
      {{"--sessions", "0", "--", "x"},
       "--sessions: expected a whole number from 1 to 100000, found '0'"},
      {{"--protocol", "lsp", "--isolation", "shared", "--", "x"},
       "--isolation: a language server serves one client; leave isolation out, or use session"},
      {{"--protocol", "lsp", "--min", "1", "--", "x"},
       "--min: min (1) is for children that clients share, and a language server serves one "
       "client; use warm"},
      {{"--protocol", "jsonrpc", "--warm", "1", "--", "x"},
       "--warm: warm (1) is for sessions with a child of their own; with isolation shared use "
       "min"},
      {{"--max", "3", "--warm", "3", "--", "x"},
       "--warm: warm (3) is greater than 2, what is left of max (3) beside 1 kept for /rpc"},
      {{"--min", "2", "--max", "2", "--", "x"},
       "--min: min (2) keeps all of max (2) for /rpc and leaves no child for sessions; lower min, "
       "raise max, or use isolation shared"},
      {{"--warm", "1", "--config", "f"},
       "--warm goes with a command, as in stdgate [options] -- COMMAND; with a file, set it "
       "there"},
      {{"--listen", ":1", "--listen", ":1", "--", "x"}, "--listen: ':1' is already in listen"},
      {{"--env-inherit", "a*b", "--", "x"},
       "--env-inherit: expected a variable's name, or a prefix that ends in '*'; found 'a*b'"},
      {{"--listen", "127.0.0.1:9464", "--", "x"},
       "admin: its default, '127.0.0.1:9464', is already in listen; give it an address, or "
       "\"off\""},
  };
  for (const auto& [arguments, message] : cases) {
    EXPECT_EQ(error_of(arguments), "stdgate: " + message + "\n");
  }
}

TEST_F(CommandLineFiles, ReadsGatewayYamlOrSaysBothWays) {
  const std::string error = error_of({});
  EXPECT_THAT(error, StartsWith("stdgate: nothing to serve: no command, no --config, and no "
                                "gateway.yaml here\n"));
  EXPECT_THAT(error, HasSubstr("stdgate --protocol jsonrpc -- stdgate demo-server\n"));
  EXPECT_THAT(error, HasSubstr("stdgate --config FILE\n"));
  write("gateway.yaml", "backends: { found: { command: [x] } }");
  EXPECT_EQ(config_of({}).backends.at(0).name, "found");
  EXPECT_EQ(config_of({"--", "y"}).backends.at(0).name, "y");
}

TEST_F(CommandLineFiles, FlagsOverrideTheFile) {
  write("f.yaml",
        "listen: [\":1\", \":2\"]\nadmin: \":3\"\nlog: { level: debug, format: json }\n"
        "limits: { message: 2MiB, batch: 3 }\nbackends: { a: { command: [x] } }\n");
  const config::Config config =
      config_of({"--config", "f.yaml", "--anonymous", "--listen", ":4", "--admin", "off",
                 "--log-level", "error", "--no-call-log", "--max-message", "1MiB"});
  EXPECT_THAT(config.listen, ElementsAre(config::ListenerConfig{":4"}));
  EXPECT_EQ(config.admin.address, "");
  EXPECT_EQ(config.log.level, LogLevel::error);
  EXPECT_EQ(config.log.format, config::LogFormat::json);
  EXPECT_FALSE(config.log.calls);
  EXPECT_EQ(config.limits.message, size_t{1} << 20);
  EXPECT_EQ(config.limits.batch, 3u);
}

TEST_F(CommandLineFiles, ErrorsOfFileAndFlagsStandTogether) {
  write("f.yaml", "lisen: x\nbackends: { a: { command: x } }\n");
  EXPECT_EQ(error_of({"check", "--config", "f.yaml", "--log-level", "loud"}),
            "stdgate: --log-level: expected one of debug, info, warn, error, off; found 'loud'\n"
            "f.yaml:1:1: lisen: unknown key; did you mean 'listen'?\n"
            "f.yaml:2:27: backends.a.command: expected a list, found a text; no shell splits it. "
            "Write: [\"x\"]\n");
}

TEST_F(CommandLineFiles, SaysWhyAFileCannotBeRead) {
  EXPECT_EQ(error_of({"--config", "none.yaml"}),
            "stdgate: cannot read none.yaml: No such file or directory\n");
  EXPECT_EQ(error_of({"--config", "."}), "stdgate: . is a directory; a file is needed\n");
  // The file can be opened, but not read.
  EXPECT_EQ(error_of({"--config", "/proc/self/mem"}),
            "stdgate: cannot read /proc/self/mem: Input/output error\n");
  write("closed.yaml", "");
  std::filesystem::permissions("closed.yaml", std::filesystem::perms::none);
  std::filesystem::permissions(".", std::filesystem::perms::all);
  {
    const Unprivileged unprivileged;
    EXPECT_EQ(error_of({"--config", "closed.yaml"}),
              "stdgate: cannot read closed.yaml: Permission denied\n");
  }
  write("empty.yaml", "");
  EXPECT_THAT(error_of({"--config", "empty.yaml"}), StartsWith("empty.yaml: the file is empty; "));
  const std::string good = "backends: { a: { command: [x] } }\n#";
  write("limit.yaml", good + std::string((1 << 20) - good.size(), 'x'));
  EXPECT_EQ(config_of({"--config", "limit.yaml"}).backends.size(), 1u);
  write("large.yaml", good + std::string((1 << 20) - good.size() + 1, 'x'));
  EXPECT_EQ(error_of({"--config", "large.yaml"}),
            "stdgate: large.yaml is larger than 1MiB, the limit for such a file\n");
}

TEST_F(CommandLineFiles, CheckPrintsWhatIsServed) {
  write("gateway.yaml", "backends: { a: { command: [x] }, b: { command: [y] } }");
  const app::CheckReport two = app::check_config(parse({"check"}), empty_environment);
  EXPECT_EQ(two.exit_code, 0);
  EXPECT_THAT(two.output, StartsWith("listen: [\"127.0.0.1:8080\"]\n"));
  EXPECT_THAT(two.output, testing::EndsWith("\n# ok: 2 backends\n"));
  const app::CheckReport one = app::check_config(parse({"check", "--", "x"}), empty_environment);
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(one.output, testing::EndsWith("\n# ok: 1 backend\n"));
  // The output of `check` is a valid configuration.
  EXPECT_TRUE(config::parse_config(two.output, empty_environment));
}

}  // namespace
}  // namespace stdgate
