// Sleeping servers: which requests the gateway answers while no process of the server runs, even
// after a restart, and how clients learn of changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "tests/integration/harness/eventually.h"
#include "tests/integration/harness/mcp_requests.h"
#include "tests/integration/harness/program_run.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"
#include "tests/support/test_folder.h"

namespace stdgate::harness::sleeping_servers_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr size_t kServers = 40;
const std::string kList = request("tools/list", "", "2");

// A legacy server with one tool. The file `tool` in its working directory has the tool's name.
constexpr const char* kServer = R"py(
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    method, answer = message["method"], {}
    if method == "initialize":
        answer = {"protocolVersion": message["params"]["protocolVersion"],
                  "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif method == "tools/list":
        answer = {"tools": [{"name": open("tool").read(), "inputSchema": {"type": "object"}}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)
)py";

// A variant of the server, whose tool is named by an environment variable.
const std::string kFlagsServer =
    std::regex_replace(std::string("import os\n") + kServer,
                       std::regex(R"(open\("tool"\)\.read\(\))"), "os.environ['TOOLS']");

// A modern server that announces changes of its list to listening clients.
constexpr const char* kModernServer = R"py(
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    method, answer = message["method"], {"resultType": "complete"}
    if method == "subscriptions/listen":
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                          "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": message["id"]},
                                     "notifications": {"toolsListChanged": True}}}), flush=True)
        continue
    if method == "server/discover":
        answer.update({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": True}},
                       "serverInfo": {"name": "m", "version": "1"}, "ttlMs": 0, "cacheScope": "public"})
    elif method == "tools/list":
        answer.update({"tools": [{"name": open("tool").read(), "inputSchema": {"type": "object"}}],
                       "ttlMs": 0, "cacheScope": "public"})
    elif method == "tools/call":
        answer["content"] = []
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)
)py";

class SleepingServers : public testing::Test {
 protected:
  SleepingServers() {
    folder_.write("server.py", kServer);
    folder_.write("tool", "first");
  }
  [[nodiscard]] Command server() const { return {"python3", folder_.path("server.py")}; }
  [[nodiscard]] std::string options(const std::string& more = "") const {
    return "protocol: mcp, cwd: \"" + folder_.path("") + "\", pool: { idle_timeout: 100ms }" + more;
  }
  [[nodiscard]] std::string state_dir() const {
    return "state_dir: \"" + folder_.path("state") + "\"\n";
  }
  static std::string list(HttpClient& client, const std::string& session,
                          const std::string& path = "/mcp") {
    return client.post(path, kList, in_mcp_session(session)).body;
  }
  static size_t processes(const GatewayProcess& gateway) { return gateway.descendants().size(); }
  static void await_sleep(const GatewayProcess& gateway) {
    EXPECT_TRUE(eventually("it sleeps", [&] { return processes(gateway) == 0; }));
  }
  // Makes the gateway ask the server once, and waits until the server sleeps.
  static void teach(const GatewayProcess& gateway, const std::string& path = "/mcp") {
    HttpClient client = gateway.connect();
    list(client, open_mcp_session(client, path), path);
    await_sleep(gateway);
  }

  test::TestFolder folder_;
};

TEST_F(SleepingServers, CostNothingUntilOneIsUsed) {
  std::vector<std::string> backends;
  for (size_t i = 0; i < kServers; ++i) {
    backends.push_back(backend("s" + std::to_string(i), server(), options()));
  }
  const auto path = [](size_t i) { return "/s" + std::to_string(i) + "/mcp"; };
  {
    // Each server is asked once, so that the gateway knows all their lists.
    GatewayProcess first(serve(backends, state_dir()));
    HttpClient client = first.connect();
    for (size_t i = 0; i < kServers; ++i) list(client, open_mcp_session(client, path(i)), path(i));
    await_sleep(first);
  }
  GatewayProcess gateway(serve(backends, state_dir()));
  HttpClient client = gateway.connect();
  std::vector<std::string> sessions;
  const auto begin = std::chrono::steady_clock::now();
  for (size_t i = 0; i < kServers; ++i) {
    sessions.push_back(open_mcp_session(client, path(i)));
    EXPECT_THAT(list(client, sessions.back(), path(i)), HasSubstr("first"));
  }
  const auto each = (std::chrono::steady_clock::now() - begin) / (3 * kServers);
  EXPECT_LT(each, Millis(20)) << "a request, of those that are answered from memory";
  EXPECT_EQ(processes(gateway), 0U);
  EXPECT_EQ(gateway.metrics().sum("stdgate_child_starts_total"), 0);
  EXPECT_EQ(gateway.metrics().sum("stdgate_remembered_answers_total"), 2 * kServers);
  EXPECT_EQ(HttpClient(gateway.admin_url()).get("/readyz").status, 200);
  const JsonValue state = state_of(gateway);
  EXPECT_EQ(state.text("/backends/7/remembered/0"), "greeting");
  EXPECT_EQ(state.text("/backends/7/remembered/1"), "tools");
  const std::string call = request("tools/call", R"({"name":"first"})", "3");
  EXPECT_EQ(client.post(path(7), call, in_mcp_session(sessions[7])).status, 200);
  EXPECT_EQ(gateway.metrics().sum("stdgate_child_starts_total"), 1);
}

TEST_F(SleepingServers, AreMembersOfAVirtualServer) {
  const std::vector<std::string> backends{backend("a", server(), options()),
                                          backend("b", server(), options())};
  const std::string team = state_dir() + "servers: { team: { default: true, members: [a, b] } }\n";
  {
    GatewayProcess first(serve(backends, team));
    teach(first);
  }
  GatewayProcess gateway(serve(backends, team));
  HttpClient client = gateway.connect();
  const std::string session = open_mcp_session(client);
  const std::string names = list(client, session);
  EXPECT_THAT(names, testing::AllOf(HasSubstr("a_first"), HasSubstr("b_first")));
  // The members have no prompts according to their greetings.
  client.post("/mcp", request("prompts/list", "", "4"), in_mcp_session(session));
  EXPECT_EQ(gateway.metrics().sum("stdgate_child_starts_total"), 0);
  // A call wakes only its member. Clients are told of changes of this member's lists.
  folder_.write("tool", "second");
  const std::string call = request("tools/call", R"({"name":"a_first"})", "3");
  EXPECT_EQ(client.post("/mcp", call, in_mcp_session(session)).status, 200);
  EXPECT_EQ(gateway.metrics().sum("stdgate_child_starts_total"), 1);
  EXPECT_TRUE(eventually("the list is another one", [&] {
    return list(client, session).find("a_second") != std::string::npos;
  }));
  EXPECT_THAT(list(client, session), HasSubstr("b_first")) << "which still sleeps";
}

// The virtual server listens at its member for its sessions, but an open session alone does not
// keep the member awake.
TEST_F(SleepingServers, AreModernMembersOfAVirtualServer) {
  folder_.write("modern.py", kModernServer);
  const std::vector<std::string> backends{
      backend("a", {"python3", folder_.path("modern.py")}, options())};
  const std::string team = state_dir() + "servers: { team: { default: true, members: [a] } }\n";
  {
    GatewayProcess first(serve(backends, team));
    HttpClient client = first.connect();
    const std::string session = open_mcp_session(client);
    EXPECT_THAT(list(client, session), HasSubstr("a_first"));
    await_sleep(first);
  }
  GatewayProcess gateway(serve(backends, team));
  HttpClient client = gateway.connect();
  const std::string session = open_mcp_session(client);
  EXPECT_THAT(list(client, session), HasSubstr("a_first"));
  EXPECT_EQ(gateway.metrics().sum("stdgate_child_starts_total"), 0);
  folder_.write("tool", "second");
  const std::string call = request("tools/call", R"({"name":"a_first","arguments":{}})", "3");
  EXPECT_EQ(client.post("/mcp", call, in_mcp_session(session)).status, 200);
  EXPECT_TRUE(eventually("the list is another one", [&] {
    return list(client, session).find("a_second") != std::string::npos;
  }));
}

TEST_F(SleepingServers, AnswerEveryTransport) {
  GatewayProcess gateway(serve_one(server(), options()));
  teach(gateway);
  {
    HttpClient plain = gateway.connect();
    plain.post("/rpc", kList);
    await_sleep(gateway);
  }
  const double started = gateway.metrics().sum("stdgate_child_starts_total");
  WebSocketClient socket(gateway.url());
  socket.send(mcp_greeting());
  EXPECT_THAT(socket.message(), HasSubstr("2025-06-18"));
  socket.send(kList);
  EXPECT_THAT(socket.message(), HasSubstr("first"));
  HttpClient plain = gateway.connect();
  EXPECT_THAT(plain.post("/rpc", kList).body, HasSubstr("first"));
  EXPECT_EQ(gateway.metrics().sum("stdgate_child_starts_total"), started);
}

TEST_F(SleepingServers, AnswerClientsOfBothEras) {
  GatewayProcess gateway(serve_one(server(), options(", isolation: shared")));
  teach(gateway);
  HttpClient client = gateway.connect();
  EXPECT_THAT(post_modern(client, "server/discover").body, HasSubstr("2026-07-28"));
  EXPECT_THAT(post_modern(client, "tools/list").body, HasSubstr(R"("resultType":"complete")"));
  EXPECT_EQ(processes(gateway), 0U);
}

TEST_F(SleepingServers, SayWhenTheyAreOthers) {
  GatewayProcess gateway(serve_one(server(), options()));
  teach(gateway);
  HttpClient client = gateway.connect();
  const std::string session = open_mcp_session(client);
  EXPECT_THAT(list(client, session), HasSubstr("first"));
  folder_.write("tool", "second");
  HttpClient listening = gateway.connect();
  Headers fields = in_mcp_session(session);
  fields["accept"] = "text/event-stream";
  listening.send_request("GET", "/mcp", "", fields);
  EXPECT_EQ(listening.read_head().status, 200);
  const std::string call = request("tools/call", R"({"name":"first"})", "3");
  EXPECT_EQ(client.post("/mcp", call, in_mcp_session(session)).status, 200);
  const auto told = listening.read_event();
  ASSERT_TRUE(told.has_value());
  EXPECT_THAT(told->data, HasSubstr("tools/list_changed"));
  EXPECT_THAT(list(client, session), HasSubstr("second"));
  listening.close();
  client.send_request("DELETE", "/mcp", "", in_mcp_session(session));
  client.read_response();
  await_sleep(gateway);
  EXPECT_THAT(list(client, open_mcp_session(client)), HasSubstr("second"));
  EXPECT_EQ(processes(gateway), 0U);
}

TEST_F(SleepingServers, AreAskedAgainWhenTheirProgramIsAnother) {
  {
    GatewayProcess gateway(serve_one(server(), options(), state_dir()));
    teach(gateway);
  }
  folder_.write("tool", "second");
  folder_.write("server.py", std::string(kServer) + "# another version\n");
  GatewayProcess gateway(serve_one(server(), options(), state_dir()));
  HttpClient client = gateway.connect();
  EXPECT_THAT(list(client, open_mcp_session(client)), HasSubstr("second"));
  await_sleep(gateway);
  EXPECT_THAT(list(client, open_mcp_session(client)), HasSubstr("second"));
  EXPECT_EQ(processes(gateway), 0U);
  folder_.write("tool", "third");
  folder_.write("server.py", std::string(kServer) + "# one more version, while it sleeps\n");
  EXPECT_TRUE(eventually("it is asked again", [&] {
    return list(client, open_mcp_session(client)).find("third") != std::string::npos;
  }));
}

TEST_F(SleepingServers, AreAskedAgainWhereFilesAreDamaged) {
  {
    GatewayProcess gateway(serve_one(server(), options(), state_dir()));
    teach(gateway);
  }
  for (const auto& file : std::filesystem::directory_iterator(folder_.path("state"))) {
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(100);
    bytes.put('?');
  }
  GatewayProcess gateway(serve_one(server(), options(), state_dir()));
  HttpClient client = gateway.connect();
  EXPECT_THAT(list(client, open_mcp_session(client)), HasSubstr("first"));
  EXPECT_EQ(gateway.metrics().sum("stdgate_remembered_answers_total"), 0);
}

TEST_F(SleepingServers, AreNotRememberedWhereThatIsTurnedOff) {
  GatewayProcess gateway(
      serve_one(server(), "protocol: mcp, cwd: \"" + folder_.path("") +
                              "\", pool: { idle_timeout: 100ms, remember: false }"));
  teach(gateway);
  HttpClient client = gateway.connect();
  open_mcp_session(client);
  EXPECT_EQ(gateway.metrics().sum("stdgate_remembered_answers_total"), 0);
}

TEST_F(SleepingServers, NeedADirectoryOfTheirOwn) {
  const std::string open = folder_.path("open");
  std::filesystem::create_directory(open);
  std::filesystem::permissions(open, std::filesystem::perms::all);
  const GatewaySetup setup = serve_one(server(), options(), "state_dir: \"" + open + "\"\n");
  EXPECT_THROW(GatewayProcess{setup}, std::runtime_error);
  folder_.write("stdgate.yaml", setup.config);
  const ProgramRun checked =
      run_stdgate(TemporaryFolder(), {"check", "--config", folder_.path("stdgate.yaml")});
  EXPECT_EQ(checked.exit_code, 0) << "it may be to serve elsewhere";
  EXPECT_THAT(checked.err, HasSubstr("chmod 700"));
}

// Servers with equal commands but different environment variables are different servers.
TEST_F(SleepingServers, AreToldApartByTheirVariables) {
  folder_.write("flags.py", kFlagsServer);
  const auto config = [this](const std::string& first, const std::string& second) {
    const auto one = [this](const std::string& name, const std::string& tools) {
      return backend(name, {"python3", folder_.path("flags.py")},
                     options(", env: { TOOLS: " + tools + " }"));
    };
    return serve({one("first", first), one("second", second)}, state_dir());
  };
  {
    GatewayProcess gateway(config("issues", "pages"));
    teach(gateway, "/first/mcp");
    HttpClient client = gateway.connect();
    const std::string session = open_mcp_session(client, "/second/mcp");
    EXPECT_THAT(list(client, session, "/second/mcp"), HasSubstr("pages"));
    await_sleep(gateway);
  }
  GatewayProcess gateway(config("users", "pages"));
  HttpClient client = gateway.connect();
  const auto tools = [&](const std::string& path) {
    return list(client, open_mcp_session(client, path), path);
  };
  EXPECT_THAT(tools("/second/mcp"), HasSubstr("pages"));
  EXPECT_EQ(processes(gateway), 0U);
  EXPECT_THAT(tools("/first/mcp"), HasSubstr("users"));
}

}  // namespace
}  // namespace stdgate::harness::sleeping_servers_test
