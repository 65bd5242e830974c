// The command line and the configuration file, in runs of the real program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/harness/program_run.h"
#include "tests/integration/harness/setups.h"

namespace stdgate::harness::config_test {
namespace {

constexpr const char* kVersionLine =
    "stdgate [0-9]+\\.[0-9]+\\.[0-9]+ \\((commit [0-9a-f]{12}, )?linux-[a-z0-9_]+\\)\n";

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr int kUsageError = 2;
constexpr int kCouldNotStart = 1;

TEST(Check, PrintsTheResolvedConfigurationWithoutSecrets) {
  const TemporaryFolder folder;
  folder.write("gateway.yaml",
               "backends:\n"
               "  one:\n"
               "    command: [\"stdgate\", \"demo-server\"]\n"
               "    protocol: jsonrpc\n"
               "    env: { API_TOKEN: \"hunter2\", MODE: fast }\n"
               "    timeout: ${UNSET_TIMEOUT:-1500ms}\n");
  const ProgramRun run = run_stdgate(folder, {"check"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, AllOf(HasSubstr("timeout: 1500ms"), HasSubstr("MODE: \"fast\""),
                             HasSubstr("127.0.0.1:8080"), HasSubstr("max_in_flight: 256"),
                             Not(HasSubstr("hunter2"))));
  // The printed configuration is valid input, and is printed in the same way again.
  folder.write("again.yaml", run.out);
  const ProgramRun again = run_stdgate(folder, {"check", "--config", "again.yaml"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, run.out);
}

TEST(Check, TellsAllErrorsAtOnceWithPlaceAndSuggestion) {
  const TemporaryFolder folder;
  folder.write("bad.yaml",
               "lisen: [\"127.0.0.1:1\"]\n"
               "backends:\n"
               "  one:\n"
               "    command: \"npx server\"\n"
               "    pool: { mx: 3, min: many }\n"
               "    timeout: 5 parsecs\n"
               "    env: { A: \"${NOT_SET_ANYWHERE}\" }\n");
  const ProgramRun run = run_stdgate(folder, {"check", "--config", "bad.yaml"});
  EXPECT_EQ(run.exit_code, kUsageError);
  EXPECT_EQ(run.out, "");
  for (const char* line :
       {"bad.yaml:1:1: lisen: ", "bad.yaml:4:14: backends.one.command: ",
        "bad.yaml:5:13: backends.one.pool.mx: ", "bad.yaml:5:25: backends.one.pool.min: ",
        "bad.yaml:6:14: backends.one.timeout: ", "bad.yaml:7:15: backends.one.env.A: "}) {
    EXPECT_THAT(run.err, HasSubstr(line));
  }
  EXPECT_THAT(run.err, AllOf(HasSubstr("listen"), HasSubstr("max"), HasSubstr("NOT_SET_ANYWHERE"),
                             HasSubstr("[\"npx\", \"server\"]")));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 6);
  // Serving reports the same errors as `check`.
  const ProgramRun serving = run_stdgate(folder, {"--config", "bad.yaml"});
  EXPECT_EQ(serving.exit_code, kUsageError);
  EXPECT_EQ(serving.err, run.err);
}

TEST(CommandLine, WhatIsMissingOrMistypedIsSaid) {
  const TemporaryFolder folder;
  struct Case {
    std::vector<std::string> arguments;
    const char* text;
  };
  const Case cases[] = {
      {{}, "no command, no --config, and no gateway.yaml here"},
      {{"--config", "nothing.yaml"}, "cannot read nothing.yaml: No such file or directory"},
      {{"--confg", "x"}, "did you mean --config?"},
      {{"demo-sever"}, "did you mean 'demo-server'?"},
      {{"\xc2\x9b"}, "unknown command '\\u009b'"},
      {{"--config", "no\xe2\x80\xae.yaml"}, "cannot read no\\u202e.yaml: "},
      {{"--env", "NOT_SET_ANYWHERE", "--", "cat"},
       "environment variable 'NOT_SET_ANYWHERE' is not set"},
      {{"npx", "server"}, "put -- in front: stdgate -- npx server"},
      {{"--"}, "a command must follow --"},
      {{"--max", "none", "--", "cat"}, "--max: "},
      {{"--max", "3"}, "--max goes with a command"},
  };
  for (const Case& given : cases) {
    const ProgramRun run = run_stdgate(folder, given.arguments);
    EXPECT_EQ(run.exit_code, kUsageError) << given.text;
    EXPECT_THAT(run.err, AllOf(StartsWith("stdgate: "), HasSubstr(given.text)));
    EXPECT_EQ(run.out, "");
  }
}

// A command on the command line is the only backend, so stdgate ends if its program is not found.
// With a file, the other backends would be served.
TEST(CommandLine, ACommandThatIsNotFoundIsNotServed) {
  TemporaryFolder folder;
  const std::vector<std::string> listen = {"--listen", "127.0.0.1:0", "--admin", "off"};
  for (const std::string command : {"no-such-program", "npx -y server"}) {
    std::vector<std::string> arguments = listen;
    arguments.insert(arguments.end(), {"--", command});
    const ProgramRun run = run_stdgate(folder, arguments, Millis(20'000));
    EXPECT_EQ(run.exit_code, 2) << command;
    EXPECT_THAT(run.err, testing::StartsWith("stdgate: program \"" + command + "\" "));
  }
  std::vector<std::string> json = listen;
  json.insert(json.end(), {"--log-format", "json", "--", "no-such-program"});
  EXPECT_THAT(run_stdgate(folder, json, Millis(20'000)).err,
              AllOf(HasSubstr(R"("event":"bad command line")"), HasSubstr("not found")));
}

TEST(CommandLine, HelpAndVersionGoToStdout) {
  const TemporaryFolder folder;
  for (const char* flag : {"--help", "-h"}) {
    const ProgramRun help = run_stdgate(folder, {flag});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_EQ(help.err, "");
    EXPECT_THAT(help.out, AllOf(HasSubstr("Usage:"), HasSubstr("Examples:"), HasSubstr("--listen"),
                                HasSubstr("demo-server")));
  }
  for (const char* word : {"--version", "-V", "version"}) {
    const ProgramRun version = run_stdgate(folder, {word});
    EXPECT_EQ(version.exit_code, 0);
    EXPECT_THAT(version.out, testing::MatchesRegex(kVersionLine));
  }
}

TEST(Output, ThatCannotBeWrittenIsAFailure) {
  const TemporaryFolder folder;
  for (const char* words : {"config schema", "version", "check -- cat", "--help"}) {
    SCOPED_TRACE(words);
    const ProgramRun run = run_stdgate(
        folder, {"-c", std::string("exec " STDGATE_PROGRAM " ") + words + " > /dev/full"},
        Millis(10'000), "/bin/sh");
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_THAT(run.err, HasSubstr("cannot write to stdout: No space left on device"));
  }
}

// File names may contain control characters, which a terminal would obey.
TEST(Output, WarningsOfACheckHoldNoControlCharacters) {
  const TemporaryFolder folder;
  folder.write("gateway.yaml", "backends: { a: { command: [cat], cwd: \"a\\e[31m\" } }\n");
  const ProgramRun run = run_stdgate(folder, {"check"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err, HasSubstr("warning"));
  EXPECT_THAT(run.err, Not(HasSubstr("\x1b")));
}

TEST(CommandLine, SchemaAndReferenceGoToStdout) {
  const TemporaryFolder folder;
  const ProgramRun schema = run_stdgate(folder, {"config", "schema"});
  EXPECT_EQ(schema.exit_code, 0);
  EXPECT_EQ(schema.err, "");
  EXPECT_TRUE(JsonValue(schema.out).has("/properties/backends")) << schema.out;
  const ProgramRun reference = run_stdgate(folder, {"config", "reference"});
  EXPECT_EQ(reference.exit_code, 0);
  EXPECT_THAT(reference.out, HasSubstr("\n| `max_in_flight` | "));
}

TEST(CommandLine, AddressInUseIsSaid) {
  GatewayProcess gateway(serve_one(demo_server()));
  const std::string address = gateway.url().substr(std::string("http://").size());
  const TemporaryFolder folder;
  const ProgramRun run = run_stdgate(folder, {"--listen", address, "--admin", "off", "--", "cat"});
  EXPECT_EQ(run.exit_code, kCouldNotStart);
  EXPECT_THAT(run.err, HasSubstr("stdgate: cannot listen on " + address +
                                 ": address already in use; --listen, or listen in the "
                                 "configuration, names another one"));
  EXPECT_EQ(run.out, "");
  const ProgramRun admin =
      run_stdgate(folder, {"--listen", "127.0.0.1:0", "--admin", address, "--", "cat"});
  EXPECT_EQ(admin.exit_code, kCouldNotStart);
  EXPECT_THAT(admin.err, HasSubstr(address + ": address already in use; --admin, or admin in the "
                                             "configuration, names another one"));
}

// No line says that stdgate listens before all listeners do.
TEST(CommandLine, NothingListensUntilAllDo) {
  GatewayProcess gateway(serve_one(demo_server()));
  const std::string taken = gateway.url().substr(std::string("http://").size());
  const TemporaryFolder folder;
  folder.write("gateway.yaml", "listen: [\"127.0.0.1:0\", \"" + taken +
                                   "\"]\nadmin: \"off\"\n"
                                   "backends: { a: { command: [\"cat\"] } }\n");
  const ProgramRun text = run_stdgate(folder, {});
  EXPECT_EQ(text.exit_code, kCouldNotStart);
  EXPECT_EQ(text.out, "");
  const ProgramRun json = run_stdgate(folder, {"--log-format", "json", "--log-level", "off"});
  EXPECT_EQ(json.exit_code, kCouldNotStart);
  EXPECT_EQ(json.out, "");
  const JsonValue line(json.err);
  EXPECT_EQ(line.text("/level"), "error");
  EXPECT_EQ(line.text("/event"), "cannot listen");
  EXPECT_EQ(line.text("/error"),
            taken +
                ": address already in use; --listen, or listen in the configuration, names another "
                "one");
}

TEST(CommandLine, ErrorsOfAConfigurationWithAJsonLogAreJson) {
  const TemporaryFolder folder;
  const auto errors_of = [&folder](const std::string& yaml, const std::vector<std::string>& flags) {
    folder.write("gateway.yaml", yaml);
    const ProgramRun run = run_stdgate(folder, flags);
    EXPECT_EQ(run.exit_code, kUsageError);
    EXPECT_EQ(run.out, "");
    std::vector<std::string> errors;
    std::istringstream lines(run.err);
    for (std::string line; std::getline(lines, line);) {
      errors.push_back(line.starts_with('{') ? JsonValue(line).text("/error") : "text");
    }
    return errors;
  };
  EXPECT_THAT(errors_of("log: { format: json }\nlisen: 1\n", {}),
              testing::UnorderedElementsAre(HasSubstr("backends"), HasSubstr("lisen")));
  EXPECT_THAT(errors_of("{", {"--log-format", "json"}),
              testing::Contains(HasSubstr("gateway.yaml")));
  EXPECT_THAT(errors_of("lisen: 1\nlog: { format: json }\n", {"--log-format", "text"}),
              testing::Each("text"));
}

TEST(CommandLine, UsageErrorsWithAJsonLogAreJson) {
  const TemporaryFolder folder;
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--log-format", "json", "--nonsense"},
        {"--min", "--log-format=json", "--"},
        {"--log-format=json", "unknown"}}) {
    const ProgramRun run = run_stdgate(folder, arguments);
    EXPECT_EQ(run.exit_code, kUsageError);
    ASSERT_TRUE(run.err.starts_with('{')) << run.err;
    const JsonValue line(run.err);
    EXPECT_EQ(line.text("/event"), "bad command line");
    EXPECT_THAT(line.text("/error"), testing::StartsWith("stdgate: "));
  }
  EXPECT_THAT(run_stdgate(folder, {"--nonsense"}).err, testing::StartsWith("stdgate: "));
}

TEST(CommandLine, OneCommandIsServedAsMcp) {
  GatewaySetup setup;
  setup.arguments = {"--listen",     "127.0.0.1:0", "--admin", "127.0.0.1:0",
                     "--log-format", "json",        "--"};
  for (const std::string& word : puppet("mcp")) setup.arguments.push_back(word);
  GatewayProcess gateway(setup);
  EXPECT_EQ(log_of(gateway, "listening").at(0).text("/rpc"), gateway.url() + "/rpc");
  HttpClient client = gateway.connect();
  const HttpResponse response = call(client, "tools/list");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(JsonValue(response.body).text("/result/tools/0/name"), "fail");
  EXPECT_EQ(state_of(gateway).text("/backends/0/name"), "puppet_child");
}

TEST(CommandLine, FlagsConfigureTheCommand) {
  GatewaySetup setup;
  setup.arguments = {"--listen", "127.0.0.1:0", "--listen",      "unix:@DIR@/socket",
                     "--admin",  "off",         "--protocol",    "jsonrpc",
                     "--name",   "mine",        "--env",         "A=b=c",
                     "--cwd",    "/usr",        "--env-inherit", "!",
                     "--"};
  for (const std::string& word : puppet()) setup.arguments.push_back(word);
  setup.listeners = 2;
  setup.admin = false;
  GatewayProcess gateway(setup);
  HttpClient client = gateway.connect(1);
  EXPECT_EQ(call(client, "cwd").body, result("1", "\"/usr\""));
  EXPECT_EQ(call(client, "env").body, result("1", "[\"A=b=c\"]"));
  EXPECT_EQ(client.post("/mine/rpc", request("cwd")).status, 200);
}

TEST(CommandLine, ChildrenGetVariablesOfTheirFilesAndOfTheGateway) {
  GatewaySetup setup;
  setup.environment = {{"GIVEN", "given"}, {"PASSED", "passed"}, {"SECRET", "s"}};
  const TemporaryFolder folder;
  folder.write("one.env", "# of the file\nFROM_FILE='a b'\nGIVEN=file\n");
  setup.arguments = {
      "--listen",      "127.0.0.1:0", "--admin", "off",        "--protocol",
      "jsonrpc",       "--env",       "GIVEN",   "--env-file", folder.path() / "one.env",
      "--env-inherit", "PASSED",      "--"};
  for (const std::string& word : puppet()) setup.arguments.push_back(word);
  setup.admin = false;
  GatewayProcess gateway(setup);
  HttpClient client = gateway.connect();
  const std::vector<std::string> environment = JsonValue(call(client, "env").body).texts("/result");
  EXPECT_THAT(environment,
              testing::IsSupersetOf({"GIVEN=given", "FROM_FILE=a b", "PASSED=passed"}));
  EXPECT_THAT(environment, testing::Contains(StartsWith("PATH=")));
  EXPECT_THAT(environment, Not(testing::Contains(StartsWith("SECRET="))));
}

TEST(Config, TcpAndUnixListenersServeTheSame) {
  GatewaySetup setup = serve_one(
      demo_server(), "", "listen: [\"127.0.0.1:0\", \"[::1]:0\", \"unix:@DIR@/gate.sock\"]");
  setup.listeners = 3;
  GatewayProcess gateway(setup);
  for (size_t i = 0; i < 3; ++i) {
    HttpClient client = gateway.connect(i);
    EXPECT_EQ(call(client, "math/add", "[1,2]").body, result("1", "3")) << gateway.url(i);
  }
  const std::filesystem::path socket = gateway.folder() / "gate.sock";
  EXPECT_EQ(gateway.url(2), "unix:" + socket.string());
  EXPECT_TRUE(std::filesystem::is_socket(socket));
  gateway.signal(SIGTERM);
  EXPECT_EQ(gateway.wait_for_exit().value().code, 0);
  EXPECT_FALSE(std::filesystem::exists(socket));
}

TEST(Config, BackendsHaveTheirNamesAndOneTheRoot) {
  GatewayProcess gateway(
      serve({backend("add", demo_server()), backend("puppet", puppet(), "default: true"),
             backend("echo", rogue({"rpc"}))}));
  HttpClient client = gateway.connect();
  EXPECT_EQ(client.post("/add/rpc", request("math/add", "[1,2]")).body, result("1", "3"));
  EXPECT_EQ(client.post("/echo/rpc", request("any", "[1]")).body, result("1", "[1]"));
  const std::string folder = '"' + gateway.folder().string() + '"';
  EXPECT_EQ(client.post("/puppet/rpc", request("cwd")).body, result("1", folder));
  EXPECT_EQ(client.post("/rpc", request("cwd")).body, result("1", folder));
  EXPECT_THAT(client.get("/").body, AllOf(HasSubstr("/add/rpc"), HasSubstr("/echo/rpc/stream")));
  EXPECT_EQ(client.post("/nobody/rpc", request("cwd")).status, 404);
}

TEST(Config, WithoutADefaultTheRootServesNothing) {
  GatewayProcess gateway(serve({backend("a", demo_server()), backend("b", demo_server())}));
  const std::string question = request("math/add", "[1,2]");
  EXPECT_EQ(gateway.connect().post("/rpc", question).status, 404);
  EXPECT_EQ(gateway.connect().post("/a/rpc", question).status, 200);
}

TEST(Config, ConnectionsBeyondTheLimitAreTurnedAway) {
  GatewayProcess gateway(serve_one(demo_server(), "", "limits: { connections: 3 }"));
  std::vector<HttpClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(gateway.connect());
    EXPECT_EQ(call(clients.back(), "math/add", "[1,2]").status, 200);
  }
  HttpClient surplus = gateway.connect();
  EXPECT_EQ(surplus.read_response().status, 503);
  EXPECT_TRUE(surplus.closed_within(Millis(1000)));
  surplus.close();
  clients.pop_back();
  EXPECT_TRUE(eventually("there is room again",
                         [&] { return state_of(gateway).number("/connections") == 2; }));
  HttpClient next = gateway.connect();
  EXPECT_EQ(call(next, "math/add", "[1,2]").status, 200);
}

TEST(KeyFile, ThatEveryUserCanReadIsToldOf) {
  const TemporaryFolder folder;
  folder.write("sessions.key", std::string(64, 'a') + "\n");
  const std::string key = folder.path() / "sessions.key";
  const std::string told = "every user can read the keys in " + key + "; chmod o-r it";
  for (const bool exposed : {true, false}) {
    std::filesystem::permissions(key, std::filesystem::perms(exposed ? 0644 : 0640));
    const ProgramRun check =
        run_stdgate(folder, {"check", "--session-key-file", key, "--", "/bin/cat"});
    EXPECT_EQ(check.exit_code, 0);
    EXPECT_EQ(check.err.find(told) != std::string::npos, exposed) << check.err;
    const GatewayProcess gateway(
        serve_one(demo_server(), "", "sessions: { key_file: " + key + " }"));
    EXPECT_EQ(log_of(gateway, "secret is exposed").size(), exposed ? 1U : 0U);
  }
}

TEST(Check, TellsOfFilesOfVariablesThatEveryUserCanRead) {
  const TemporaryFolder folder;
  folder.write("secrets.env", "TOKEN=a\n");
  folder.write("token", "b\n");
  folder.write("gateway.yaml",
               "backends:\n  a:\n    command: [cat]\n    env_file: secrets.env\n"
               "    env: { API: { file: token } }\n");
  for (const bool exposed : {true, false}) {
    for (const char* file : {"secrets.env", "token"}) {
      std::filesystem::permissions(folder.path() / file,
                                   std::filesystem::perms(exposed ? 0644 : 0600));
    }
    const ProgramRun run = run_stdgate(folder, {"check"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    for (const char* told : {"the variables in secrets.env; chmod o-r it",
                             "the value of API in token; chmod o-r it"}) {
      EXPECT_EQ(run.err.find(told) != std::string::npos, exposed) << run.err;
    }
  }
}

TEST(Check, TellsOfAUserThatItMayNotBecome) {
  const TemporaryFolder folder;
  folder.write("gateway.yaml", "backends: { a: { command: [cat], user: nobody } }\n");
  const std::string told = "backends.a.user: stdgate may not start children as nobody";
  const std::string drop = ::geteuid() == 0 ? "setpriv --bounding-set=-all --inh-caps=-all " : "";
  const ProgramRun bare = run_stdgate(folder, {"-c", "exec " + drop + STDGATE_PROGRAM " check"},
                                      Millis(10'000), "/bin/sh");
  EXPECT_EQ(bare.exit_code, 0) << bare.err;
  EXPECT_THAT(bare.err, HasSubstr(told));
  if (::geteuid() == 0) {
    EXPECT_THAT(run_stdgate(folder, {"check"}).err, Not(HasSubstr(told)));
  }
}

TEST(Check, TellsOfExpiredApiKeys) {
  const TemporaryFolder folder;
  const std::string key = "    - { hash: \"sha256:" + std::string(63, 'a');
  folder.write("gateway.yaml", "auth:\n  api_keys:\n" + key +
                                   "1\", name: old, expires: 2020-01-01T00:00:00Z }\n" + key +
                                   "2\", name: new, expires: 2199-01-01T00:00:00Z }\n"
                                   "backends: { a: { command: [cat] } }\n");
  const ProgramRun run = run_stdgate(folder, {"check"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(
      run.err,
      HasSubstr(
          "warning: gateway.yaml:3:7: auth.api_keys[0]: the key of 'old' expired at 2020-01-01"));
  EXPECT_THAT(run.err, Not(HasSubstr("'new'")));
}

TEST(Check, TellsOfRulesAndListenersThatAreNotWhatTheySeem) {
  const TemporaryFolder folder;
  folder.write("gateway.yaml",
               "listen: [{ address: \"0.0.0.0:8080\", anonymous: true }]\n"
               "auth:\n"
               "  public_url: http://tools.example.com\n"
               "  api_keys: [{ name: a, roles: [raeder], hash: \"sha256:" +
                   std::string(64, 'a') +
                   "\" }]\n"
                   "backends:\n"
                   "  open: { command: [cat] }\n"
                   "  files:\n"
                   "    command: [cat]\n"
                   "    rules:\n"
                   "      - { allow: [\"*\"], tools: [\"read_*\"] }\n"
                   "      - { allow: [reader], tools: [read_file] }\n");
  const ProgramRun run = run_stdgate(folder, {"check"});
  EXPECT_EQ(run.exit_code, 0);
  const std::string warning = "stdgate: warning: gateway.yaml:";
  for (const char* told :
       {"3:15: auth.public_url: clients send their credentials to 'http://tools.example.com' in ",
        "1:48: listen[0].anonymous: whoever reaches '0.0.0.0:8080' may use all of open without a ",
        "11:19: backends.files.rules[1].allow[0]: nobody has the role 'reader'; did you mean ",
        "4:33: auth.api_keys[0].roles[0]: no rule is about the role 'raeder'; did you mean ",
        "11:9: backends.files.rules[1]: never decides: rules[0] is about all of it, and "}) {
    EXPECT_THAT(run.err, HasSubstr(warning + told));
  }
}

TEST(Check, NamesSchemasThatCheckNothing) {
  const TemporaryFolder folder;
  folder.write("methods.json",
               R"({"openrpc":"1.3.2","info":{"title":"t","version":"1"},"methods":[{"name":"m",)"
               R"("params":[{"name":"a","schema":{"type":"nummer"}}]}]})");
  folder.write("gateway.yaml",
               "backends:\n"
               "  sums:\n"
               "    command: [cat]\n"
               "    protocol: jsonrpc\n"
               "    schema: methods.json\n"
               "    check: { arguments: true }\n");
  const ProgramRun run = run_stdgate(folder, {"check"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err,
              HasSubstr("stdgate: warning: gateway.yaml:5:13: backends.sums.schema: methods.json: "
                        "/methods/0/params/0/schema checks nothing: type names no type"));
}

TEST(Check, RefusesAnAuditThatCannotBeWritten) {
  const TemporaryFolder folder;
  for (const bool is_there : {true, false}) {
    folder.write("gateway.yaml",
                 std::string("backends: { a: { command: [cat] } }\naudit: { file: ") +
                     (is_there ? "" : "no/such/") + "audit.jsonl }\n");
    const ProgramRun run = run_stdgate(folder, {"check"});
    EXPECT_EQ(run.exit_code, is_there ? 0 : 2) << run.err;
    EXPECT_EQ(run.err.find("gateway.yaml:2:16: audit.file: no/such/audit.jsonl: No such file") !=
                  std::string::npos,
              !is_there);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "audit.jsonl"));
  }
}

}  // namespace
}  // namespace stdgate::harness::config_test
