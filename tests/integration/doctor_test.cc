// `stdgate doctor` on servers that misbehave in a single way each, and on good servers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/integration/harness/json_value.h"
#include "tests/integration/harness/processes.h"
#include "tests/integration/harness/program_run.h"
#include "tests/integration/harness/setups.h"
#include "transports/stdio/guard/sandbox.h"

namespace stdgate::harness::doctor_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// An MCP server in one file: `server.py MODE`. Without a mode it is a good legacy server.
constexpr const char* kServer = R"py(
import json, os, signal, subprocess, sys, time

mode = sys.argv[1] if len(sys.argv) > 1 else ""
MODERN = "2026-07-28"
HELPER = "while kill -0 %d; do sleep 0.1; done; sleep 0.3" % os.getpid()

def write(text):
    if mode == "no-line-end":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    if mode == "mark" and not hasattr(sys, "has_written"):
        sys.has_written = True
        text = "\ufeff" + text
    sys.stdout.write(text + "\n")
    if mode != "buffered":
        sys.stdout.flush()

def answer(message, result):
    reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
    if mode == "other-id":
        reply["id"] = str(reply["id"])
    if mode == "no-version":
        del reply["jsonrpc"]
    text = json.dumps(reply, indent=2 if mode == "pretty" else None)
    if mode == "headers":
        sys.stdout.write("Content-Length: %d\r\n\r\n%s" % (len(text), text))
        sys.stdout.flush()
    else:
        write(text)

def refuse(message, code=-32601, text="Method not found"):
    write(json.dumps({"jsonrpc": "2.0", "id": message["id"],
                      "error": {"code": code, "message": text}}))

def serve(message):
    method = message["method"]
    if method == "initialize":
        if mode.endswith("only-modern"):
            return refuse(message)
        if mode == "slow":
            time.sleep(5.2)
        revision = MODERN if mode == "no-discover" else "2025-06-18"
        answer(message, {"protocolVersion": revision, "capabilities": {"tools": {}},
                         "serverInfo": {"name": "one", "version": "1.2"}})
    elif method == "server/discover":
        if mode in ("slow-both", "only-modern", "slow-only-modern"):
            answer(message, {"supportedVersions": [MODERN], "capabilities": {"tools": {}},
                             "resultType": "complete"})
        elif mode == "silent":
            pass
        elif mode == "tells-of-probe":
            sys.stderr.write("no such method: server/discover\n")
            sys.exit(4)
        elif mode == "dies-when-asked":
            sys.exit(7)
        else:
            refuse(message)
    elif method == "ping" and mode != "no-ping":
        answer(message, {})
    elif method == "tools/list" and mode != "no-list":
        if mode == "oversized":
            answer(message, {"tools": [{"name": "x" * (17 << 20)}]})
        elif mode == "huge":
            answer(message, {"tools": [{"name": "big", "description": "x" * (2 << 20)}]})
        elif "cursor" not in message.get("params", {}):
            answer(message, {"tools": [{"name": "first"}], "nextCursor": "2"})
        else:
            answer(message, {"tools": [{"name": "second"}]})
    else:
        refuse(message)

if mode == "tells":
    sys.stderr.write("\n".join(os.environ[name] for name in ("GH_PAT", "CONN", "DB")) + "\n")
    sys.exit(3)
if mode == "crash":
    sys.stderr.write("loading\nfatal: the database is broken\n")
    sys.exit(3)
if mode == "serves-http":
    sys.stderr.write("INFO: Uvicorn running on http://127.0.0.1:8000\n")
    sys.stderr.flush()
    sys.stdin.read()
    sys.stderr.write("".join("INFO: shutting down %d\n" % i for i in range(9)))
    sys.exit(0)
if mode == "cancels":
    sys.stderr.write('npm error npx canceled due to missing packages and no YES option: ["x@1"]\n')
    sys.exit(1)
if mode == "signal":
    os.kill(os.getpid(), signal.SIGSEGV)
if mode == "key-error":
    os.environ["WEATHER_API_KEY"]
if mode == "one-of":
    sys.stderr.write("fatal: no credentials; set API_KEY or API_TOKEN\n")
    sys.exit(1)
if mode == "required":
    sys.stderr.write("Error: BRAVE_API_KEY environment variable is required\n")
    sys.exit(1)
if mode.startswith("slow-"):
    time.sleep(1.5)
if mode == "mark-in-noise":
    write("\ufeffServer listening on stdio")
if mode == "noise":
    print("Server listening on stdio", flush=True)
if mode == "asks":
    sys.stderr.write("Need to install the following packages:\nfoo@1.0\nOk to proceed? (y) ")
    sys.stderr.flush()
if mode in ("grandchild", "helper"):
    subprocess.Popen(["sleep", "600"] if mode == "grandchild" else ["sh", "-c", HELPER], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL, start_new_session=True)
if mode == "ignores-all":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin:
    if mode in ("mute", "asks"):
        continue
    message = json.loads(line)
    if "id" in message:
        serve(message)
if mode == "ends-slowly":
    time.sleep(0.7)
while mode in ("ignores-end", "ignores-all"):
    time.sleep(60)
)py";

// A server that speaks with Content-Length headers, and waits for them.
constexpr const char* kHeaderServer = R"py(
import json, sys
def refuse():
    text = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no header"}}'
    sys.stdout.write("Content-Length: %d\r\n\r\n%s" % (len(text), text))
    sys.stdout.flush()
while True:
    length = 0
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            sys.exit(0)
        if line.strip() == b"":
            break
        if b"{" in line and "refuses" in sys.argv:
            refuse()
        if b"{" in line and "dies" in sys.argv:
            sys.stderr.write("malformed header\n")
            sys.exit(101)
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    message = json.loads(sys.stdin.buffer.read(length))
    if "id" not in message:
        continue
    result = {"capabilities": {}}
    if "mcp" in sys.argv:
        result["protocolVersion"] = "2025-06-18"
    text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
    sys.stdout.write("Content-Length: %d\r\n\r\n%s" % (len(text), text))
    sys.stdout.flush()
)py";

class DoctorTest : public testing::Test {
 protected:
  DoctorTest() {
    folder_.write("server.py", kServer);
    folder_.write("headers.py", kHeaderServer);
  }

  // The report on a command. `options` go before the command.
  JsonValue diagnose(const Command& command, std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"doctor", "--json"});
    options.emplace_back("--");
    options.insert(options.end(), command.begin(), command.end());
    run_ = run_stdgate(folder_, options, Millis(60'000));
    EXPECT_THAT(run_.err, IsEmpty());
    JsonValue report(run_.out);
    EXPECT_EQ(run_.exit_code, report.flag("/healthy") ? 0 : 1);
    return report;
  }
  JsonValue diagnose_mode(const std::string& mode) {
    return diagnose({"python3", "server.py", mode}, {"--timeout", "2s", "--grace", "500ms"});
  }

  // Each finding as its weight and code: "error noise-on-stdout".
  static std::vector<std::string> findings_of(const JsonValue& report) {
    std::vector<std::string> found;
    for (size_t i = 0; i < report.size("/findings"); ++i) {
      const std::string at = "/findings/" + std::to_string(i);
      found.push_back(report.text(at + "/weight") + " " + report.text(at + "/code"));
    }
    return found;
  }
  static std::vector<std::string> evidence_of(const JsonValue& report) {
    return report.texts("/findings/0/evidence");
  }
  static std::string message_of(const JsonValue& report) {
    return report.text("/findings/0/message");
  }
  static std::string advice_of(const JsonValue& report) {
    return report.text("/findings/0/advice");
  }

  TemporaryFolder folder_;
  ProgramRun run_;
};

TEST_F(DoctorTest, GoodServerIsHealthy) {
  const JsonValue report = diagnose({"python3", "server.py"});
  EXPECT_THAT(findings_of(report), IsEmpty());
  EXPECT_TRUE(report.flag("/healthy"));
  EXPECT_EQ(report.text("/server/name"), "one");
  EXPECT_EQ(report.text("/server/revision"), "2025-06-18");
  EXPECT_TRUE(report.flag("/server/legacy"));
  EXPECT_FALSE(report.flag("/server/modern"));
  EXPECT_THAT(report.text("/server/modern_clients"),
              AllOf(HasSubstr("have to open a session"), HasSubstr("bridge: true")));
  EXPECT_THAT(report.texts("/offers/tools"), ElementsAre("first", "second"));
  EXPECT_EQ(report.text("/config"),
            "backends:\n  server:\n    command: [\"python3\", \"server.py\"]\n");
}

TEST_F(DoctorTest, ServersOfTheOtherProtocols) {
  const JsonValue plain = diagnose({"stdgate", "demo-server"}, {"--protocol", "jsonrpc"});
  EXPECT_TRUE(plain.flag("/healthy"));
  EXPECT_THAT(plain.text("/config"), HasSubstr("protocol: jsonrpc\n"));
  const JsonValue language = diagnose({"python3", "headers.py"}, {"--protocol", "lsp"});
  EXPECT_THAT(findings_of(language), IsEmpty()) << run_.out;
  EXPECT_THAT(language.text("/config"),
              AllOf(HasSubstr("protocol: lsp"), Not(HasSubstr("framing:"))));
}

struct BadServer {
  std::string mode;
  std::vector<std::string> findings;
  std::string message;   // part of the first finding's message
  std::string evidence;  // part of the first line of its evidence; empty: not checked
  std::string advice;
};

class BadServerTest : public DoctorTest, public testing::WithParamInterface<BadServer> {};

TEST_P(BadServerTest, IsFoundOut) {
  const BadServer& bad = GetParam();
  const JsonValue report = diagnose_mode(bad.mode);
  EXPECT_EQ(findings_of(report), bad.findings) << run_.out;
  ASSERT_GT(report.size("/findings"), 0U);
  EXPECT_THAT(message_of(report), HasSubstr(bad.message));
  EXPECT_THAT(advice_of(report), HasSubstr(bad.advice));
  if (!bad.evidence.empty()) {
    EXPECT_THAT(evidence_of(report), Contains(HasSubstr(bad.evidence)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadServerTest,
    testing::Values(
        BadServer{"noise", {"warning noise-on-stdout"}, "1 line", "Server listening", "stderr"},
        BadServer{"buffered", {"error buffered"}, "buffers its output", "", "python3 -u"},
        BadServer{"no-line-end", {"error no-line-end"}, "line feed", "", "behind each message"},
        BadServer{"serves-http",
                  {"error no-answer"},
                  "did not answer initialize",
                  "running on http",
                  "serves HTTP"},
        BadServer{"other-id", {"error other-id"}, "nobody has sent", "id \"1\"", "repeats"},
        BadServer{"no-version", {"error not-json-rpc"}, "no JSON-RPC 2.0", "\"id\": 1", "jsonrpc"},
        BadServer{"headers",
                  {"error length-headers"},
                  "Content-Length",
                  "Content-Length: ",
                  "framing: content-length"},
        BadServer{"pretty", {"error several-lines"}, "one line", "{", "without an indent"},
        BadServer{"mark", {"error byte-order-mark"}, "byte order mark", "", "utf-8-sig"},
        BadServer{"mark-in-noise",
                  {"warning byte-order-mark", "warning noise-on-stdout"},
                  "byte order mark",
                  "",
                  ""},
        BadServer{"crash", {"error exited"}, "exit code 3", "the database is broken", ""},
        BadServer{"signal", {"error exited"}, "signal 11 (SIGSEGV)", "", "by hand"},
        BadServer{"key-error",
                  {"error missing-variable", "error exited"},
                  "WEATHER_API_KEY",
                  "KeyError",
                  "--env WEATHER_API_KEY"},
        BadServer{"required",
                  {"error missing-variable", "error exited"},
                  "BRAVE_API_KEY",
                  "is required",
                  "${BRAVE_API_KEY}"},
        BadServer{"asks", {"error npx-asks"}, "npx asks", "", "npx -y"},
        BadServer{"cancels",
                  {"error npx-asks"},
                  "npx asks",
                  "canceled due to missing packages",
                  "npx -y"},
        BadServer{"tells-of-probe",
                  {"warning ends-when-asked"},
                  "it ends when",
                  "server/discover  (doctor has asked that)",
                  "revision: legacy"},
        BadServer{
            "mute", {"error no-answer"}, "did not answer initialize within 2.0 s", "", "--stdio"},
        BadServer{"grandchild", {"warning left-behind"}, "left 1 process running", "", "wait"},
        BadServer{"ignores-end", {"warning ignores-end"}, "at SIGTERM", "", "stdin ends"},
        BadServer{"ignores-all", {"warning ignores-end"}, "had to be killed", "", "stdin ends"},
        BadServer{"no-discover", {"error no-discover"}, "2026-07-28", "", "server/discover"},
        BadServer{"only-modern", {"note only-modern"}, "modern era alone", "", "revision: modern"},
        BadServer{"silent", {"warning silent-when-asked"}, "unanswered", "", "revision: legacy"},
        BadServer{
            "dies-when-asked", {"warning ends-when-asked"}, "it ends when", "", "revision: legacy"},
        BadServer{"no-ping", {"warning no-ping"}, "ping", "", "empty result"},
        BadServer{"no-list", {"warning no-list"}, "Method not found", "", "tools/list"},
        BadServer{
            "oversized", {"error oversized", "warning no-list"}, "limits.message", "", "pages"},
        BadServer{"huge", {"warning huge-message"}, "2048 KiB", "", "pages"}),
    [](const testing::TestParamInfo<BadServer>& bad) {
      std::string name = bad.param.mode;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST_F(DoctorTest, TextInThePlaceOfMessagesIsShown) {
  for (const std::string text : {"Usage: x start", "Usage: x start\n\n  start  begins"}) {
    const JsonValue report = diagnose({"sh", "-c", "echo '" + text + "'; cat >/dev/null"},
                                      {"--timeout", "1s", "--protocol", "lsp"});
    EXPECT_THAT(findings_of(report), ElementsAre("error no-messages")) << run_.out;
    EXPECT_THAT(evidence_of(report), Contains("Usage: x start"));
    EXPECT_THAT(advice_of(report), HasSubstr("--stdio"));
  }
}

TEST_F(DoctorTest, APromptIsNoMessageAndAHeaderIsNoText) {
  const JsonValue prompt = diagnose({"sh", "-c", "printf 'hello> '; cat >/dev/null"},
                                    {"--timeout", "1s", "--grace", "500ms"});
  EXPECT_THAT(findings_of(prompt), ElementsAre("error no-answer", "warning noise-on-stdout"))
      << run_.out;
  const JsonValue header =
      diagnose({"sh", "-c", "printf 'Content-Length: 60\\r\\n\\r\\n{'; cat >/dev/null"},
               {"--timeout", "1s", "--grace", "500ms", "--protocol", "lsp"});
  EXPECT_THAT(findings_of(header), ElementsAre("error no-answer")) << run_.out;
}

TEST_F(DoctorTest, WhatSendsBackWhatItIsSentIsNoServer) {
  for (const std::string protocol : {"mcp", "jsonrpc", "lsp"}) {
    const JsonValue report = diagnose({"cat"}, {"--timeout", "5s", "--protocol", protocol});
    EXPECT_THAT(findings_of(report), ElementsAre("error echo")) << protocol << run_.out;
    EXPECT_EQ(report.text("/steps/1/outcome"), "no answer");
    EXPECT_EQ(report.text("/config"), "") << "nothing to paste";
  }
}

// An npx that asks a question in unknown words. Nothing is installed in its folder.
TEST_F(DoctorTest, NpxThatAsksIsFoundWhateverItsWords) {
  folder_.write("npx",
                "#!/bin/sh\n"
                "[ \"$1\" = -y ] && shift && exec python3 server.py\n"
                "[ \"$1\" = --no ] && echo 'npm error npx canceled due to missing packages and no "
                "YES option: [\"x@1\"]' >&2 && exit 1\n"
                "echo 'Ist das in Ordnung? [J/n]' >&2; read answer; exit 1\n");
  std::filesystem::permissions(folder_.path() / "npx", std::filesystem::perms::all);
  const std::string npx = (folder_.path() / "npx").string();
  const JsonValue asks = diagnose({npx, "some-server"}, {"--timeout", "1s"});
  EXPECT_THAT(findings_of(asks), ElementsAre("error npx-asks")) << run_.out;
  EXPECT_THAT(advice_of(asks), HasSubstr("npx -y"));
  EXPECT_EQ(asks.text("/config"), "backends:\n  some-server:\n    command: [\"" + npx +
                                      R"(", "-y", "some-server"])" + "\n")
      << "what it prints works";
  const JsonValue told = diagnose({npx, "-y", "some-server"});
  EXPECT_THAT(findings_of(told), IsEmpty()) << run_.out;
}

// The first process downloads the server, and is slow for that reason.
TEST_F(DoctorTest, WhatFetchesItsServerIsNamedAsTheCause) {
  const std::string uvx = (folder_.path() / "uvx").string();
  const auto write = [&](const std::string& script) {
    folder_.write("uvx", "#!/bin/sh\n" + script);
    std::filesystem::permissions(uvx, std::filesystem::perms::all);
  };
  write("exec sleep 600\n");
  const JsonValue silent = diagnose({uvx, "some-server"}, {"--timeout", "1s", "--grace", "200ms"});
  EXPECT_THAT(findings_of(silent), ElementsAre("error no-answer")) << run_.out;
  EXPECT_THAT(message_of(silent),
              HasSubstr("within 1.0 s: uvx fetches some-server before it starts "
                        "it, and perhaps still does"));
  EXPECT_THAT(advice_of(silent), AllOf(HasSubstr("run it once by hand until it waits for input (" +
                                                 uvx + " some-server)"),
                                       HasSubstr("stdgate doctor --timeout 5m")));
  EXPECT_EQ(silent.text("/steps/2/outcome"), "it went on; doctor ended it by SIGTERM");
  write("[ -e fetched ] || sleep 5.2; touch fetched; exec python3 server.py\n");
  const JsonValue slow = diagnose({uvx, "some-server"});
  EXPECT_THAT(findings_of(slow), ElementsAre("note slow-start")) << run_.out;
  EXPECT_THAT(message_of(slow), HasSubstr("uvx fetches some-server before it starts it"));
  EXPECT_THAT(slow.text("/config"), Not(HasSubstr("pool"))) << "the next start is not slow";
}

TEST_F(DoctorTest, PackageRunnerWithoutNetworkIsNamedAtOnce) {
  folder_.write(
      "gateway.yaml",
      "backends:\n"
      "  one: { command: [npx, -y, some-server], sandbox: strict }\n"
      "  two: { command: [uvx, some-server], sandbox: { network: none } }\n"
      "  three: { command: [uvx, some-server], sandbox: { network: { connect: [443] } } }\n");
  for (const std::string name : {"one", "two"}) {
    const JsonValue report(run_stdgate(folder_, {"doctor", "--json", name}, Millis(10'000)).out);
    EXPECT_THAT(findings_of(report), Contains("error sandbox-network"));
    EXPECT_THAT(advice_of(report), HasSubstr("network: outbound"));
    EXPECT_EQ(report.size("/steps"), 0U) << "nothing is tried";
  }
  const std::string check = run_stdgate(folder_, {"check"}).err;
  EXPECT_THAT(check, AllOf(HasSubstr("backends.one.sandbox: npx fetches packages"),
                           HasSubstr("backends.two.sandbox: uvx fetches packages"),
                           Not(HasSubstr("backends.three.sandbox"))));
}

TEST_F(DoctorTest, VariablesOfOtherBackendsNeedNotBeSet) {
  folder_.write("gateway.yaml",
                "auth: { api_keys: [ { name: a, file: \"${NO_SUCH_FILE:-keys}\" } ] }\n"
                "backends:\n"
                "  one: { command: [\"python3\", \"server.py\"] }\n"
                "  two: { command: [\"python3\"], env: { A: \"${NO_SUCH_VARIABLE}\" } }\n"
                "  three: { command: [\"python3\"], timeout: \"${NO_SUCH_TIMEOUT}\" }\n");
  folder_.write("keys", "0123456789abcdef0123456789abcdef\n");
  folder_.write("gateway2.yaml",
                "backends:\n"
                "  one: { command: [\"python3\", \"server.py\"] }\n"
                "  two: { command: [\"python3\"], env: { A: \"${NO_SUCH_VARIABLE}\" } }\n");
  const ProgramRun one =
      run_stdgate(folder_, {"doctor", "--config", "gateway2.yaml", "one"}, Millis(30'000));
  EXPECT_EQ(one.exit_code, 0) << one.err;
  const ProgramRun two = run_stdgate(folder_, {"doctor", "--config", "gateway2.yaml", "two"});
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_THAT(two.err, HasSubstr("NO_SUCH_VARIABLE"));
  const ProgramRun other = run_stdgate(folder_, {"doctor", "one"}, Millis(30'000));
  EXPECT_EQ(other.exit_code, 0) << other.err;
}

TEST_F(DoctorTest, AMemberOfAVirtualServerIsTriedAlone) {
  folder_.write("gateway.yaml",
                "backends:\n"
                "  one: { command: [\"python3\", \"server.py\"] }\n"
                "  two: { command: [\"python3\"], env: { A: \"${NO_SUCH_VARIABLE}\" } }\n"
                "servers: { team: { members: [one, two] } }\n");
  const ProgramRun one = run_stdgate(folder_, {"doctor", "one"}, Millis(30'000));
  EXPECT_EQ(one.exit_code, 0) << one.err;
  folder_.write("gateway.yaml",
                "backends: { one: { command: [\"python3\", \"server.py\"] } }\n"
                "servers: { team: { members: [one] } }\n");
  const ProgramRun team = run_stdgate(folder_, {"doctor", "team"});
  EXPECT_EQ(team.exit_code, 2);
  EXPECT_THAT(team.err,
              HasSubstr("'team' is a virtual server; doctor tries its members one by one: one"));
}

TEST_F(DoctorTest, SlowStartIsNamedAndWrittenDown) {
  const JsonValue report = diagnose({"python3", "server.py", "slow"}, {"--timeout", "20s"});
  EXPECT_THAT(findings_of(report), ElementsAre("warning slow-start"));
  EXPECT_THAT(report.text("/config"), HasSubstr("pool: { warm: 1 }"));
}

TEST_F(DoctorTest, LateAnswerIsNoSilence) {
  const JsonValue report =
      diagnose({"python3", "server.py", "slow"}, {"--timeout", "4s", "--grace", "3s"});
  EXPECT_THAT(findings_of(report), Contains("error late")) << run_.out;
  EXPECT_THAT(report.text("/config"), HasSubstr("start_timeout: 16s"));
}

TEST_F(DoctorTest, ServerThatWaitsForHeadersIsAskedWithThem) {
  const JsonValue report = diagnose({"python3", "headers.py", "mcp"}, {"--timeout", "3s"});
  EXPECT_THAT(findings_of(report), Contains("error length-headers")) << run_.out;
  EXPECT_THAT(report.text("/config"),
              AllOf(HasSubstr("framing: content-length"), Not(HasSubstr("protocol"))));
}

// The server waits for headers, answers with headers that it wants them, or ends.
TEST_F(DoctorTest, LanguageServerIsKnownByItsAnswer) {
  for (const std::string how : {"waits", "refuses", "dies"}) {
    for (const std::string protocol : {"mcp", "jsonrpc"}) {
      const JsonValue report =
          diagnose({"python3", "headers.py", how}, {"--timeout", "6s", "--protocol", protocol});
      EXPECT_THAT(findings_of(report), ElementsAre("error length-headers")) << run_.out;
      EXPECT_EQ(advice_of(report), "set protocol: lsp");
      EXPECT_THAT(report.text("/config"),
                  AllOf(HasSubstr("    protocol: lsp\n"), Not(HasSubstr("framing"))));
    }
  }
}

// The server's first answer is later than the gateway's start timeout. Its later answers are not
// slow.
TEST_F(DoctorTest, SlowStartIsNoSilence) {
  const JsonValue report = diagnose({"python3", "server.py", "slow-begin"},
                                    {"--timeout", "20s", "--start-timeout", "6s"});
  EXPECT_THAT(findings_of(report), ElementsAre("warning slow-start")) << run_.out;
  EXPECT_THAT(message_of(report),
              AllOf(HasSubstr("its first answer took "), HasSubstr("waits 1.0 s")));
  EXPECT_THAT(advice_of(report), HasSubstr("pool.start_timeout: "));
  EXPECT_THAT(report.text("/config"),
              AllOf(HasSubstr("start_timeout: "), Not(HasSubstr("revision"))));
  // Without --start-timeout, doctor waits as long as the gateway does, even if --timeout is
  // shorter.
  EXPECT_THAT(findings_of(diagnose({"python3", "server.py", "slow-begin"}, {"--timeout", "1s"})),
              Not(Contains("warning silent-when-asked")))
      << run_.out;
}

TEST_F(DoctorTest, EraOfASlowServerIsKnown) {
  const std::vector<std::string> options = {"--timeout", "20s", "--start-timeout", "6s"};
  const JsonValue both = diagnose({"python3", "server.py", "slow-both"}, options);
  EXPECT_THAT(findings_of(both), ElementsAre("warning slow-start")) << run_.out;
  EXPECT_TRUE(both.flag("/server/legacy"));
  EXPECT_TRUE(both.flag("/server/modern"));
  EXPECT_THAT(both.text("/server/modern_clients"),
              AllOf(HasSubstr("share its processes"), HasSubstr("isolation: principal")));
  EXPECT_THAT(both.text("/config"), Not(HasSubstr("revision")));
  const JsonValue modern = diagnose({"python3", "server.py", "slow-only-modern"}, options);
  EXPECT_THAT(findings_of(modern), ElementsAre("warning slow-start", "note only-modern"))
      << run_.out;
}

// Helpers of the server may end a moment later than the server. They do not count as left behind,
// and their time does not count as the server's.
TEST_F(DoctorTest, HelperThatEndsAMomentLaterIsNotLeftBehind) {
  const JsonValue report = diagnose({"python3", "server.py", "helper"}, {"--grace", "500ms"});
  EXPECT_THAT(findings_of(report), IsEmpty()) << run_.out;
}

// Doctor waits longer than pool.grace for the end, because the server's machine may be slow.
TEST_F(DoctorTest, EndIsWaitedForPatiently) {
  const JsonValue report = diagnose({"python3", "server.py", "ends-slowly"}, {"--grace", "100ms"});
  EXPECT_THAT(findings_of(report), IsEmpty()) << run_.out;
}

TEST_F(DoctorTest, SandboxIsNamedAndSuspectedFirst) {
  const guard::KernelFeatures kernel = guard::kernel_features();
  if (!kernel.filters_syscalls || kernel.landlock_abi < guard::kAbiOfFiles) {
    GTEST_SKIP() << "this kernel cannot hold a sandbox";
  }
  const std::filesystem::path inside = folder_.path() / "inside";
  std::filesystem::create_directory(inside);
  std::filesystem::copy_file("/bin/sh", folder_.path() / "interpreter");
  const std::string script = (folder_.path() / "script").string();
  folder_.write("script", "#!" + (folder_.path() / "interpreter").string() + "\n");
  std::filesystem::permissions(script, std::filesystem::perms::all);
  folder_.write("gateway.yaml",
                "backends:\n  script: { command: [\"" + script + "\"], cwd: \"" + inside.string() +
                    "\", sandbox: strict }\n  words: { command: [sh, -c, \"cat " + script +
                    "; exit 1\"], cwd: \"" + inside.string() + "\", sandbox: strict }\n");
  for (const std::string name : {"script", "words"}) {
    const JsonValue report(run_stdgate(folder_, {"doctor", "--json", name}, Millis(30'000)).out);
    EXPECT_EQ(report.text("/sandbox"), "reads the system's files, cwd; writes nothing; no network");
    EXPECT_THAT(advice_of(report), testing::StartsWith("the sandbox is the likely cause: "));
  }
  const ProgramRun text = run_stdgate(folder_, {"doctor", "words"}, Millis(30'000));
  EXPECT_THAT(text.out, HasSubstr("\nsandbox  reads the system's files, cwd; writes nothing"));
}

TEST_F(DoctorTest, ProgramThatIsMissing) {
  const JsonValue report = diagnose({"no-such-program"});
  EXPECT_THAT(findings_of(report), ElementsAre("error not-found"));
  EXPECT_THAT(message_of(report), AllOf(HasSubstr("no-such-program"), HasSubstr("PATH \"")));
}

TEST_F(DoctorTest, CommandsThatCannotBeExecuted) {
  const auto write = [this](const std::string& name, const std::string& text, bool is_executable) {
    folder_.write(name, text);
    using std::filesystem::perms;
    std::filesystem::permissions(folder_.path() / name,
                                 is_executable ? perms::owner_all : perms::owner_read);
  };
  write("plain", "#!/usr/bin/env python3\n", false);
  write("windows", "#!/usr/bin/env python3\r\n", true);
  write("strange", "#!/opt/none/python3\n", true);
  write("searched", "#!/usr/bin/env -S no-such-runtime --x\n", true);
  struct Row {
    Command command;
    std::string code, message, advice;
  };
  const std::vector<Row> table = {
      {{"./plain"}, "not-executable", "plain\" is not executable", "chmod +x"},
      {{"./windows"}, "bad-interpreter", "CR LF", "sed -i"},
      {{"./strange"}, "bad-interpreter", "\"/opt/none/python3\"", "install it"},
      {{"./searched"}, "bad-interpreter", "\"no-such-runtime\"", "install it"},
      {{"npx -y server"}, "one-word", "\"npx -y server\" is a whole command line", "words apart"},
      {{"./plain --stdio", "x"}, "one-word", "in one word", "[npx, -y, server]"},
      {{"./my server"}, "not-found", "my server\" not found", "path"},
  };
  for (const Row& row : table) {
    const JsonValue report = diagnose(row.command);
    EXPECT_THAT(findings_of(report), ElementsAre("error " + row.code)) << run_.out;
    EXPECT_THAT(message_of(report), HasSubstr(row.message));
    EXPECT_THAT(advice_of(report), HasSubstr(row.advice));
    EXPECT_EQ(report.text("/config").empty(), row.code == "one-word");
  }
}

TEST_F(DoctorTest, VariableThatIsSetButNotPassedOn) {
  setenv("WEATHER_API_KEY", "wonderful", 1);
  const JsonValue without = diagnose_mode("key-error");
  EXPECT_THAT(message_of(without), HasSubstr("is set here but not passed on"));
  EXPECT_THAT(without.text("/config"), HasSubstr("WEATHER_API_KEY: \"${WEATHER_API_KEY}\""));
  const JsonValue with =
      diagnose({"python3", "server.py", "key-error"}, {"--env", "WEATHER_API_KEY"});
  unsetenv("WEATHER_API_KEY");
  EXPECT_TRUE(with.flag("/healthy"));
  EXPECT_THAT(run_.out, Not(HasSubstr("wonderful")));
}

TEST_F(DoctorTest, OfVariablesOfWhichOneIsWantedOneIsWrittenDown) {
  const JsonValue report = diagnose_mode("one-of");
  EXPECT_THAT(findings_of(report), ElementsAre("error missing-variable", "error exited"));
  EXPECT_EQ(message_of(report), "it wants one of the environment variables API_KEY or API_TOKEN");
  EXPECT_THAT(report.text("/config"),
              AllOf(HasSubstr("env: { API_KEY: \"${API_KEY}\" }"), Not(HasSubstr("TOKEN"))));
  setenv("API_TOKEN", "wonderful", 1);
  const JsonValue set = diagnose_mode("one-of");
  unsetenv("API_TOKEN");
  EXPECT_THAT(message_of(set), HasSubstr("of which API_TOKEN is set here but not passed on"));
  EXPECT_THAT(set.text("/config"), HasSubstr("env: { API_TOKEN: \"${API_TOKEN}\" }"));
}

TEST_F(DoctorTest, NothingIsLeftOfWhatItStarted) {
  const std::string mark = "stdgate-doctor-mark-" + folder_.path().filename().string();
  diagnose({"python3", "server.py", "grandchild", mark}, {"--timeout", "2s"});
  EXPECT_THAT(processes_marked(mark), IsEmpty());
}

TEST_F(DoctorTest, BackendOfTheConfiguration) {
  folder_.write("gateway.yaml",
                "backends:\n  one: { command: [\"python3\", \"server.py\"] }\n"
                "  two: { command: [\"python3\", \"server.py\", \"crash\"] }\n");
  EXPECT_EQ(run_stdgate(folder_, {"doctor", "one"}, Millis(30'000)).exit_code, 0);
  EXPECT_EQ(run_stdgate(folder_, {"doctor", "two"}, Millis(30'000)).exit_code, 1);
  const ProgramRun none = run_stdgate(folder_, {"doctor", "three"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("no backend 'three'; there are: one two"));
}

// The output of doctor on a backend whose server prints everything that it was given.
TEST_F(DoctorTest, SecretsOfTheConfigurationAreNotShown) {
  folder_.write("key.txt", "of-the-file\n");
  folder_.write("some.env", "OF_ENV_FILE=of-the-env-file\n");
  folder_.write(
      "gateway.yaml",
      "backends:\n  one:\n"
      "    command: [\"python3\", \"server.py\", tells, \"x${SECRETVAR}\", --token, abcd]\n"
      "    env_file: some.env\n"
      "    env: { GH_PAT: { file: key.txt }, CONN: \"${SECRETVAR}\",\n"
      "           DB: \"postgres://u:pw@host/db\" }\n");
  setenv("SECRETVAR", "of-the-variable", 1);
  const ProgramRun text = run_stdgate(folder_, {"doctor", "one"}, Millis(30'000));
  const ProgramRun json = run_stdgate(folder_, {"doctor", "--json", "one"}, Millis(30'000));
  unsetenv("SECRETVAR");
  for (const ProgramRun& run : {text, json}) {
    EXPECT_EQ(run.exit_code, 1);
    for (const char* const secret : {"of-the-", ":pw@", "abcd"}) {
      EXPECT_THAT(run.out + run.err, Not(HasSubstr(secret)));
    }
    EXPECT_THAT(run.out, HasSubstr("postgres://u:***hidden***@host/db"));
    EXPECT_THAT(run.out, HasSubstr("python3 server.py tells x***hidden*** --token ***hidden***"));
  }
}

TEST_F(DoctorTest, SecretsOfTheCommandLineAreNotShown) {
  const JsonValue report =
      diagnose({"python3", "server.py", "tells"},
               {"--env", "GH_PAT=ghp_1234", "--env", "CONN=plain", "--env", "DB=redis://:pw@host"});
  EXPECT_THAT(report.text("/config"),
              AllOf(HasSubstr("CONN: \"plain\""), HasSubstr("GH_PAT: \"${GH_PAT}\""),
                    HasSubstr("DB: \"${DB}\"")));
  EXPECT_THAT(run_.out, AllOf(Not(HasSubstr("ghp_")), Not(HasSubstr("pw"))));
}

// A complete block would lead users to drop the backend's protection: rules and limits.
TEST_F(DoctorTest, OfABackendThatIsThereOnlyChangesAreNamed) {
  const std::string guarded =
      "rules: [ { allow: [\"*\"] } ], rlimits: { open_files: 100 }, timeout: 7s";
  folder_.write("gateway.yaml",
                "backends:\n"
                "  good: { command: [\"python3\", \"server.py\"], " +
                    guarded +
                    " }\n"
                    "  asks: { command: [\"python3\", \"server.py\", silent], " +
                    guarded +
                    " }\n"
                    "  wants: { command: [\"python3\", \"server.py\", key-error], " +
                    guarded + " }\n");
  const ProgramRun good = run_stdgate(folder_, {"doctor", "good"}, Millis(30'000));
  EXPECT_EQ(good.exit_code, 0);
  EXPECT_THAT(good.out, AllOf(HasSubstr("\nnothing has to change in the configuration\n"),
                              Not(HasSubstr("backends"))));
  const ProgramRun asks =
      run_stdgate(folder_, {"doctor", "--timeout", "3s", "asks"}, Millis(30'000));
  EXPECT_THAT(asks.out, AllOf(HasSubstr("\nto change in the configuration:\n\n"
                                        "  backends.asks.revision: legacy\n\n"),
                              Not(HasSubstr("command:"))));
  const JsonValue wants(run_stdgate(folder_, {"doctor", "--json", "wants"}, Millis(30'000)).out);
  EXPECT_THAT(wants.texts("/changes"),
              ElementsAre("backends.wants.env.WEATHER_API_KEY: \"${WEATHER_API_KEY}\""));
  EXPECT_EQ(wants.text("/config"), "");
}

TEST_F(DoctorTest, OptionsOfACommandAreInWhatIsToBeWritten) {
  const JsonValue report =
      diagnose({"python3", "server.py", "silent"}, {"--timeout", "3s", "--max", "2", "--cwd", "."});
  EXPECT_EQ(report.text("/config"),
            "backends:\n  server:\n    command: [\"python3\", \"server.py\", \"silent\"]\n"
            "    cwd: \".\"\n    revision: legacy\n    pool: { max: 2 }\n");
}

TEST_F(DoctorTest, TextForPeople) {
  const ProgramRun run =
      run_stdgate(folder_, {"doctor", "--", "python3", "server.py", "noise"}, Millis(30'000));
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("server   one 1.2, MCP 2025-06-18\n"), HasSubstr("  ok  initialize"),
                    HasSubstr("\ntools: first, second\n"), HasSubstr("\nwarning: it writes"),
                    HasSubstr("  | Server listening on stdio\n"), HasSubstr("\nhealthy\n")));
}

TEST_F(DoctorTest, Usage) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> table = {
      {{"doctor"}, "expected -- COMMAND"},
      {{"doctor", "--"}, "a command must follow --"},
      {{"doctor", "one", "--", "cat"}, "expected -- COMMAND"},
      {{"doctor", "--jsn", "--", "cat"}, "did you mean --json?"},
      {{"doctor", "--protocol", "grpc", "--", "cat"}, "--protocol"},
      {{"doctor", "--timeout", "soon", "--", "cat"}, "--timeout: "},
      {{"doctor", "--timeout"}, "--timeout needs a value"},
      {{"doctor", "--json=yes", "--", "cat"}, "--json takes no value"},
  };
  for (const auto& [arguments, error] : table) {
    const ProgramRun run = run_stdgate(folder_, arguments);
    EXPECT_EQ(run.exit_code, 2) << error;
    EXPECT_THAT(run.err, HasSubstr(error));
    EXPECT_THAT(run.out, IsEmpty());
  }
  const ProgramRun help = run_stdgate(folder_, {"doctor", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("Usage:"), HasSubstr("--timeout TIME")));
}

}  // namespace
}  // namespace stdgate::harness::doctor_test
