// `stdgate ls`, `tools` and `call`, with a running gateway or with a command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/integration/harness/gateway_process.h"
#include "tests/integration/harness/json_value.h"
#include "tests/integration/harness/processes.h"
#include "tests/integration/harness/program_run.h"
#include "tests/integration/harness/setups.h"
#include "tests/support/test_certificates.h"

namespace stdgate::harness::tools_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// A server with two pages of tools. One description has several lines.
constexpr const char* kToolServer = R"py(
import json, sys
MODERN = len(sys.argv) > 1 and sys.argv[1] == "modern"
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params = message["method"], message.get("params", {})
    error = None
    if method == "initialize" and not MODERN:
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "pages", "version": "1"}}
    elif method == "server/discover" and MODERN:
        result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    elif method == "tools/list" and params.get("cursor") is None:
        result = {"tools": [{"name": "one", "description": "first\nsecond"}], "nextCursor": "a\"b"}
    elif method == "tools/list" and params["cursor"] == "a\"b":
        result = {"tools": [{"name": "two"}]}
    elif method == "params":
        result = {"params": params}
    elif method == "tools/call":
        result = {"content": [], "isError": params["name"] == "bad"}
    else:
        error = {"code": -32601, "message": "no \u001b such", "data": {"method": method}}
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    reply.update({"error": error} if error else {"result": result})
    print(json.dumps(reply), flush=True)
)py";

class ToolsTest : public testing::Test {
 protected:
  ToolsTest() { folder_.write("tools.py", kToolServer); }

  std::string script() { return (folder_.path() / "tools.py").string(); }
  void serve_both(const std::string& root = "") {
    gateway_.emplace(serve(
        {backend("calc", demo_server()), backend("pages", {"python3", script()}, "protocol: mcp")},
        root));
  }
  // Asks the gateway of this test.
  ProgramRun ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin() + 1, "--url=" + gateway_->url());
    return run_stdgate(folder_, arguments, Millis(30'000));
  }
  ProgramRun run(const std::vector<std::string>& arguments) {
    return run_stdgate(folder_, arguments, Millis(30'000));
  }

  TemporaryFolder folder_;
  std::optional<GatewayProcess> gateway_;
};

TEST_F(ToolsTest, LsListsBackendsAndWhereTheyAre) {
  serve_both();
  const ProgramRun text = ask({"ls"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out, "calc   jsonrpc  " + gateway_->url() + "/calc/rpc\npages  mcp      " +
                          gateway_->url() + "/pages/mcp\n");
  const JsonValue json(ask({"ls", "--json"}).out);
  EXPECT_EQ(json.text("/1/name"), "pages");
  EXPECT_EQ(json.text("/1/protocol"), "mcp");
  EXPECT_EQ(json.text("/1/places/0"), gateway_->url() + "/pages/mcp");
}

TEST_F(ToolsTest, AddressComesFromTheConfiguration) {
  const std::string folder = folder_.path().string();
  gateway_.emplace(serve({backend("calc", demo_server())},
                         "listen: [\"unix:" + folder + "/gate.sock\"]\nadmin: \"127.0.0.1:0\"\n"));
  folder_.write("gateway.yaml", "listen: [\"unix:" + folder +
                                    "/gate.sock\"]\n"
                                    "backends: { calc: { command: [\"x\"], env: { A: "
                                    "\"${NOT_SET_IN_TESTS}\" } } }\n");
  const ProgramRun run = this->run({"call", "calc", "math/add", "[2,3]"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "5\n");
}

TEST_F(ToolsTest, ToolsOfEveryMcpServerPageByPage) {
  serve_both();
  const ProgramRun text = ask({"tools"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out, "pages\n  one  first\n  two\n");
  EXPECT_EQ(ask({"tools", "pages"}).out, text.out);
  const JsonValue json(ask({"tools", "--json"}).out);
  EXPECT_EQ(json.size(""), 2U);
  EXPECT_EQ(json.text("/0/description"), "first\nsecond");
  const ProgramRun refused = ask({"tools", "calc"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("calc: error -32601"));
}

TEST_F(ToolsTest, WhatAVirtualServerLacksIsNamedAndWhy) {
  gateway_.emplace(serve({backend("pages", {"python3", script()}, "protocol: mcp"),
                          backend("gone", {"no-such-program"}, "protocol: mcp")},
                         "servers: { team: { members: [pages, gone] } }\n"));
  const ProgramRun tools = ask({"tools", "team"});
  EXPECT_EQ(tools.exit_code, 0) << tools.err;
  EXPECT_EQ(tools.err,
            "stdgate: warning: team: its list may lack the tools of gone; stdgate ls says why\n");
  folder_.write("gateway.yaml", "listen: [\"" + gateway_->url().substr(7) + "\"]\nadmin: \"" +
                                    gateway_->admin_url().substr(7) +
                                    "\"\nbackends: { pages: { command: [\"x\"] } }\n");
  const ProgramRun ls = run({"ls"});
  EXPECT_THAT(ls.out, AllOf(HasSubstr("(failing: program \"no-such-program\" not found)"),
                            HasSubstr("(down: gone (")));
  EXPECT_THAT(ls.err, IsEmpty());
}

// The states of backends come from the admin address, which is only in the configuration.
TEST_F(ToolsTest, LsSaysWhereItDoesNotKnowTheStates) {
  gateway_.emplace(serve({backend("bad", {"sh", "-c", "echo no database >&2; exit 3"})}));
  const std::string what = "stdgate: the states of the backends are not known here: ";
  EXPECT_THAT(ask({"ls"}).err, AllOf(StartsWith(what), HasSubstr("--config FILE")));
  const std::string listen =
      "listen: [\"" + gateway_->url().substr(7) + "\"]\nbackends: { bad: { command: [x] } }\n";
  folder_.write("off.yaml", listen + "admin: \"off\"\n");
  EXPECT_EQ(run({"ls", "--config", "off.yaml"}).err,
            what + "the gateway has no admin address (admin)\n");
  folder_.write("other.yaml", listen + "admin: \"127.0.0.1:1\"\n");
  EXPECT_THAT(run({"ls", "--config", "other.yaml"}).err, StartsWith(what + "admin: "));
  EXPECT_EQ(ask({"call", "bad", "x"}).exit_code, 1);
  folder_.write("its.yaml", listen + "admin: \"" + gateway_->admin_url().substr(7) + "\"\n");
  // Even if the list comes from another address.
  const ProgramRun known = ask({"ls", "--config", "its.yaml"});
  EXPECT_THAT(known.out, HasSubstr("(failing: exited with code 3: no database)"));
  EXPECT_THAT(known.err, IsEmpty());
}

// Each of these servers answers with its tools only after all have been asked.
constexpr const char* kWaitingServer = R"py(
import json, os, sys, time
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
              "serverInfo": {"name": "waits", "version": "1"}}
    if message["method"] == "tools/list":
        open(sys.argv[1], "w").close()
        while not all(os.path.exists(name) for name in "abc"):
            time.sleep(0.01)
        result = {"tools": [{"name": "of-" + sys.argv[1]}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
)py";

TEST_F(ToolsTest, ToolsOfAllBackendsAreAskedForAtOnce) {
  folder_.write("waits.py", kWaitingServer);
  std::vector<std::string> backends;
  for (const std::string name : {"a", "b", "c"}) {
    backends.push_back(backend(
        name, {"python3", "waits.py", name},
        "protocol: mcp, revision: legacy, timeout: 20s, cwd: \"" + folder_.path().string() + "\""));
  }
  gateway_.emplace(serve(backends));
  const ProgramRun run = ask({"tools"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "a\n  of-a\nb\n  of-b\nc\n  of-c\n");
}

TEST_F(ToolsTest, CallPrintsTheResultAsItCame) {
  serve_both();
  const ProgramRun result = ask({"call", "pages", "params", R"({"n":1.0,"text":"é\u00e9"})"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr(R"("n": 1.0)"));
  const ProgramRun raw = ask({"call", "--raw", "calc", "math/add", "[2,3]"});
  EXPECT_EQ(raw.out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":5}\n");
  const ProgramRun error = ask({"call", "pages", "nothing"});
  EXPECT_EQ(error.exit_code, 1);
  EXPECT_THAT(error.out, IsEmpty());
  EXPECT_EQ(error.err, "stdgate: error -32601: no \\u001b such\n  {\"method\": \"nothing\"}\n");
}

TEST_F(ToolsTest, AToolThatFailsIsAFailure) {
  for (const auto& [name, exit_code] : {std::pair("good", 0), std::pair("bad", 1)}) {
    const ProgramRun run =
        this->run({"call", "tools/call", std::string(R"({"name":")") + name + "\"}", "--",
                   "python3", script()});
    EXPECT_EQ(run.exit_code, exit_code) << run.err;
    EXPECT_THAT(run.out, StartsWith("{\"content\": []"));
  }
}

TEST_F(ToolsTest, CommandsAreCalledWithoutAGateway) {
  EXPECT_EQ(
      run({"call", "--protocol", "jsonrpc", "math/add", "[2,3]", "--", "stdgate", "demo-server"})
          .out,
      "5\n");
  for (const char* const peer_kind : {"legacy", "modern"}) {
    EXPECT_EQ(run({"tools", "--", "python3", "tools.py", peer_kind}).out,
              "tools\n  one  first\n  two\n")
        << peer_kind;
  }
  // A server of the modern era needs its version in each request.
  const ProgramRun stamped =
      run({"call", "params", R"({"a":1})", "--", "python3", "tools.py", "modern"});
  EXPECT_THAT(stamped.out,
              AllOf(HasSubstr("protocolVersion\": \"2026-07-28\""), HasSubstr("\"a\": 1")));
  EXPECT_THAT(run({"call", "params", "--", "python3", "tools.py", "modern"}).out,
              HasSubstr("2026-07-28"));
}

TEST_F(ToolsTest, CommandThatDoesNotAnswerIsExplained) {
  const ProgramRun dead = run({"call", "x", "--", "sh", "-c", "echo broken >&2; exit 4"});
  EXPECT_EQ(dead.exit_code, 3);
  EXPECT_THAT(dead.err,
              AllOf(HasSubstr("exit code 4"), HasSubstr("| broken"), HasSubstr("stdgate doctor")));
  const ProgramRun mute =
      run({"call", "--protocol", "jsonrpc", "--timeout", "300ms", "x", "--", "sleep", "600"});
  EXPECT_EQ(mute.exit_code, 3);
  EXPECT_THAT(mute.err, HasSubstr("gave no answer to x"));
  folder_.write("uvx", "#!/bin/sh\nexec sleep 600\n");
  std::filesystem::permissions(folder_.path() / "uvx", std::filesystem::perms::all);
  const ProgramRun fetching = run({"tools", "--timeout", "300ms", "--", "./uvx", "some-server"});
  EXPECT_EQ(fetching.exit_code, 3);
  EXPECT_THAT(fetching.err, AllOf(HasSubstr("uvx fetches some-server before it starts it"),
                                  HasSubstr("--timeout 5m")));
  const ProgramRun missing = run({"tools", "--", "no-such-program"});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err, HasSubstr("not found in PATH"));
}

TEST_F(ToolsTest, ApiKeyOpensTheGateway) {
  const std::string key = "sg_0123456789abcdef0123456789abcdef";
  folder_.write("key.txt", "key " + key + "\nhash sha256:x\n");
  folder_.write("hash.txt", "sha256:" + std::string(64, 'a') + "\n");
  folder_.write("gate-key.txt", key + "\n");
  serve_both("auth: { api_key_file: \"" + (folder_.path() / "gate-key.txt").string() + "\" }");
  const ProgramRun without = ask({"call", "calc", "math/add", "[2,3]"});
  EXPECT_EQ(without.exit_code, 3);
  EXPECT_THAT(without.err, HasSubstr("--api-key-file"));
  const ProgramRun with = ask({"call", "--api-key-file", "key.txt", "calc", "math/add", "[2,3]"});
  EXPECT_EQ(with.exit_code, 0) << with.err;
  EXPECT_EQ(with.out, "5\n");
  const ProgramRun hash = ask({"call", "--api-key-file", "hash.txt", "calc", "math/add"});
  EXPECT_EQ(hash.exit_code, 2);
  EXPECT_THAT(hash.err, HasSubstr("the key itself is needed"));
  folder_.write("wrong.txt", "sg_" + std::string(32, 'f') + "\n");
  const ProgramRun wrong = ask({"call", "--api-key-file", "wrong.txt", "calc", "math/add"});
  EXPECT_EQ(wrong.exit_code, 3);
  EXPECT_THAT(wrong.err, HasSubstr("the gateway does not accept the key of wrong.txt"));
}

// `ls --as` shows what the named principal itself would get.
TEST_F(ToolsTest, LsAsShowsWhatAPrincipalSees) {
  const auto key = [this](const std::string& name) {
    folder_.write(name, "sg_" + std::string(32, name[0]) + "\n");
    return (folder_.path() / name).string();
  };
  const std::string admin = "{ allow: [admin] }";
  GatewaySetup setup = serve(
      {backend("calc", demo_server()),
       backend("pages", {"python3", script()},
               "protocol: mcp, rules: [" + admin + ", { allow: [reader], tools: [one] }]"),
       backend("books", puppet("mcp-library"),
               "protocol: mcp, rules: [" + admin +
                   ", { allow: [reader], resources: [\"file:///open/*\"] }, { allow: [reader], "
                   "prompts: [\"*\"], except: [secret] }]")},
      "listen: [\"unix:" + (folder_.path() / "gate.sock").string() +
          "\"]\nadmin: \"127.0.0.1:0\"\nauth: { api_keys: [{ name: root, roles: [admin], file: \"" +
          key("root") + "\" }, { name: ada, roles: [reader], file: \"" + key("ada") + "\" }] }\n");
  folder_.write("gateway.yaml", setup.config);
  gateway_.emplace(std::move(setup));
  const ProgramRun seen = run({"ls", "--as", "ada", "--api-key-file", "root"});
  EXPECT_EQ(seen.exit_code, 0) << seen.err;
  EXPECT_EQ(seen.out,
            "calc\n  no lists; stdgate check --as says which methods\n"
            "pages\n  tool      one  first\n"
            "books\n  resource  file:///open/a\n  template  file:///open/{x}\n  prompt    greet\n");
  EXPECT_EQ(run({"tools", "pages", "--api-key-file", "ada"}).out, "pages\n  one  first\n")
      << "as she is answered";
  EXPECT_EQ(run({"ls", "--as", "ada", "--api-key-file", "ada"}).out, seen.out);
  EXPECT_THAT(run({"ls", "--as", "x,admin", "--api-key-file", "root"}).out,
              HasSubstr("  tool      one  first\n  tool      two\n"));
  for (const char* who : {"anonymous", "bob"}) {
    EXPECT_THAT(run({"ls", "--as", who, "--api-key-file", "root"}).out,
                HasSubstr("pages\n  nothing\nbooks\n  nothing\n"));
  }
  const JsonValue json(run({"ls", "--as", "ada", "--json", "--api-key-file", "root"}).out);
  EXPECT_EQ(json.size(""), 4U);
  EXPECT_EQ(json.text("/3/backend"), "books");
  EXPECT_EQ(json.text("/3/kind"), "prompt");
  EXPECT_EQ(json.text("/3/name"), "greet");
}

TEST_F(ToolsTest, TlsIsVerified) {
  test::TestAuthority authority;
  const test::Credential credential = authority.issue();
  folder_.write("ca.crt", authority.certificate());
  folder_.write("server.crt", credential.certificate);
  folder_.write("server.key", credential.key);
  const std::string at = folder_.path().string();
  serve_both("listen: [{ address: \"127.0.0.1:0\", tls: { certificate: " + at +
             "/server.crt, key: " + at + "/server.key } }]\nadmin: \"127.0.0.1:0\"\n");
  const ProgramRun trusted = ask({"call", "--ca", "ca.crt", "calc", "math/add", "[2,3]"});
  EXPECT_EQ(trusted.exit_code, 0) << trusted.err;
  EXPECT_EQ(trusted.out, "5\n");
  const ProgramRun unknown = ask({"call", "calc", "math/add", "[2,3]"});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.err, HasSubstr("--ca FILE"));
}

TEST_F(ToolsTest, CertificateOpensTheGateway) {
  test::TestAuthority authority;
  const test::Credential server = authority.issue();
  const test::Credential ada = authority.issue({.name = "ada"});
  folder_.write("ca.crt", authority.certificate());
  folder_.write("server.crt", server.certificate);
  folder_.write("server.key", server.key);
  folder_.write("ada.crt", ada.certificate);
  folder_.write("ada.key", ada.key);
  folder_.write("ada.pem", ada.certificate + ada.key);
  const std::string at = folder_.path().string();
  serve_both("listen: [{ address: \"127.0.0.1:0\", tls: { certificate: " + at +
             "/server.crt, key: " + at + "/server.key, client_ca: " + at +
             "/ca.crt } }]\nadmin: \"127.0.0.1:0\"\n");
  for (const char* const word : {"ls", "tools", "snippet"}) {
    std::vector<std::string> arguments{word,      "--ca",  "ca.crt", "--cert",
                                       "ada.crt", "--key", "ada.key"};
    if (arguments[0] == "snippet") arguments.emplace_back("cursor");
    const ProgramRun known = ask(arguments);
    EXPECT_EQ(known.exit_code, 0) << known.err;
  }
  const ProgramRun one_file =
      ask({"call", "--ca", "ca.crt", "--cert", "ada.pem", "calc", "math/add", "[2,3]"});
  EXPECT_EQ(one_file.out, "5\n") << one_file.err;

  const ProgramRun none = ask({"ls", "--ca", "ca.crt"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, AllOf(HasSubstr("the gateway wants a certificate of its clients; --cert"),
                              Not(HasSubstr("alert"))));
  for (const char* const name : {"Test Authority", "Other Authority"}) {
    test::TestAuthority others(name);
    const test::Credential stranger = others.issue({.name = "ada"});
    folder_.write("stranger.pem", stranger.certificate + stranger.key);
    const ProgramRun refused = ask({"ls", "--ca", "ca.crt", "--cert", "stranger.pem"});
    EXPECT_EQ(refused.exit_code, 3);
    EXPECT_THAT(refused.err, HasSubstr("the gateway refuses the certificate of --cert ("));
  }
  EXPECT_THAT(ask({"ls", "--cert", "gone.crt"}).err, HasSubstr("--cert: "));
  EXPECT_THAT(ask({"ls", "--cert", "ada.crt", "--ca", "ca.crt"}).err, HasSubstr("--key"));
  EXPECT_EQ(ask({"ls", "--key", "ada.key"}).exit_code, 2);
}

TEST_F(ToolsTest, UrlsToPasteAreThoseOfClients) {
  const std::string socket = "unix:" + (folder_.path() / "socket").string();
  const std::string listen = "listen: [\"127.0.0.1:0\", \"" + socket + "\"]\n";
  serve_both(listen);
  const ProgramRun nowhere = run({"snippet", "--url", socket, "claude-code"});
  EXPECT_THAT(nowhere.err, HasSubstr("at a Unix socket no client has a URL; auth.public_url"));
  gateway_.reset();
  folder_.write("keys", "a-key-of-a-test-0123456789\n");
  const std::string keys = (folder_.path() / "keys").string();
  serve_both(listen + "auth: { api_key_file: \"" + keys +
             "\", public_url: \"https://tools.example/gate\" }\n");
  const ProgramRun snippet =
      run({"snippet", "--url", socket, "--api-key-file", "keys", "claude-code"});
  EXPECT_EQ(snippet.err, "");
  EXPECT_THAT(snippet.out, HasSubstr("http pages https://tools.example/gate/pages/mcp --header"));
  EXPECT_THAT(ask({"ls", "--api-key-file", "keys"}).out,
              HasSubstr("https://tools.example/gate/calc/rpc\n"));
  EXPECT_EQ(ask({"call", "--api-key-file", "keys", "calc", "math/add", "[2,3]"}).out, "5\n");
}

TEST_F(ToolsTest, WhatCannotBeReachedSaysWhatToDo) {
  serve_both();
  const ProgramRun unknown = ask({"call", "nobody", "x"});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("nothing is served at"), HasSubstr("stdgate ls")));
  gateway_.emplace(serve({backend("words", {"python3", script()}, "protocol: lsp")}));
  for (const std::vector<std::string>& words : {std::vector<std::string>{"tools", "words"},
                                                std::vector<std::string>{"call", "words", "x"}}) {
    const ProgramRun language = ask(words);
    EXPECT_EQ(language.exit_code, 3);
    EXPECT_THAT(language.err, AllOf(HasSubstr("WebSocket only"), HasSubstr("/words/ws")));
  }
  const ProgramRun down = run({"ls", "--url", "http://127.0.0.1:1"});
  EXPECT_EQ(down.exit_code, 3);
  EXPECT_THAT(down.err,
              AllOf(StartsWith("stdgate: cannot reach http://127.0.0.1:1/"), HasSubstr("--url")));
}

TEST_F(ToolsTest, Usage) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> table = {
      {{"ls", "calc"}, "ls takes no names"},
      {{"ls", "--url", "gate.example"}, "--url: expected http://"},
      {{"ls", "--timeout", "x"}, "--timeout: "},
      {{"ls", "--as", "ada"}, "the rules are not known"},
      {{"ls", "--as", "ada", "--", "cat"}, "--as goes with a gateway"},
      {{"tools", "a", "b"}, "the name of one backend"},
      {{"call", "calc"}, "expected BACKEND METHOD"},
      {{"call", "--", "cat"}, "METHOD [PARAMS] -- COMMAND"},
      {{"call", "calc", "x", "3"}, "PARAMS is a JSON object or array"},
      {{"call", "calc", "x", "{}}"}, "PARAMS is a JSON object or array"},
      {{"call", "calc", "x", "{},\"id\":{}"}, "PARAMS is a JSON object or array"},
      {{"call", "--url", "http://127.0.0.1:1", "x", "--", "cat"}, "--url goes with a gateway"},
      {{"ls", "--api-key-file", "/nonexistent", "--url", "http://127.0.0.1:1"}, "--api-key-file"},
  };
  for (const auto& [arguments, error] : table) {
    const ProgramRun run = this->run(arguments);
    EXPECT_EQ(run.exit_code, 2) << error;
    EXPECT_THAT(run.err, HasSubstr(error));
  }
}

}  // namespace
}  // namespace stdgate::harness::tools_test
