// isolation: principal: two principals never share a process, and each has its own credentials.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "tests/integration/harness/eventually.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"
#include "tests/support/test_folder.h"

namespace stdgate::harness::principals_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kAda = "the-key-of-ada-1234";
const std::string kBob = "the-key-of-bob-1234";

Headers as(const std::string& key, Headers more = {}) {
  more.emplace("authorization", "Bearer " + key);
  more.emplace("accept", "application/json, text/event-stream");
  return more;
}

class Principals : public testing::Test {
 protected:
  Principals() {
    folder_.write("ada.key", kAda + "\n");
    folder_.write("bob.key", kBob + "\n");
    folder_.write("token-of-ada", "secret-of-ada\n");
    folder_.write("token-of-bob", "secret-of-bob\n");
  }
  [[nodiscard]] GatewaySetup setup(const std::string& protocol, const std::string& pool) const {
    return serve_one(puppet(protocol),
                     "protocol: " + protocol + ", isolation: principal, pool: { " + pool +
                         " }, env: { TOKEN: { file: \"" + folder_.path("token-of-") +
                         "${principal}\" }, WHO: \"${principal}\" }",
                     "auth: { api_keys: [{ name: ada, file: " + folder_.path("ada.key") +
                         " }, { name: bob, file: " + folder_.path("bob.key") + " }] }\n");
  }
  static std::string ask(HttpClient& client, const std::string& key, const std::string& method) {
    return client.post("/rpc", request(method), as(key)).body;
  }

  test::TestFolder folder_;
};

TEST_F(Principals, NeverShareAProcess) {
  GatewayProcess gateway(setup("jsonrpc", "max: 1"));
  HttpClient client = gateway.connect();  // both principals use one connection
  const std::string ada = ask(client, kAda, "pid");
  const std::string bob = ask(client, kBob, "pid");
  EXPECT_NE(ada, bob);
  EXPECT_EQ(ask(client, kAda, "pid"), ada);
  EXPECT_THAT(ask(client, kAda, "env"),
              AllOf(HasSubstr("TOKEN=secret-of-ada"), HasSubstr("WHO=ada"), Not(HasSubstr("bob"))));
  EXPECT_THAT(ask(client, kBob, "env"),
              AllOf(HasSubstr("TOKEN=secret-of-bob"), HasSubstr("WHO=bob"), Not(HasSubstr("ada"))));
  EXPECT_EQ(client.post("/rpc", request("pid")).status, 401);
  const JsonValue state = state_of(gateway);
  EXPECT_EQ(children_in(state), 2u);
  EXPECT_THAT(HttpClient(gateway.admin_url()).get("/debug/state").body,
              AllOf(HasSubstr(R"("principal":"ada")"), HasSubstr(R"("principal":"bob")")));
}

// A server whose tool has the name of its principal.
constexpr const char* kServer = R"py(
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    method, answer = message["method"], {}
    if method == "initialize":
        answer = {"protocolVersion": message["params"]["protocolVersion"],
                  "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif method == "tools/list":
        answer = {"tools": [{"name": "of-" + os.environ["WHO"], "inputSchema": {"type": "object"}}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)
)py";

TEST_F(Principals, AreNotShownWhatASleepingServerHasOfferedAnotherOne) {
  folder_.write("server.py", kServer);
  GatewayProcess gateway(
      serve_one({"python3", folder_.path("server.py")},
                "protocol: mcp, isolation: principal, pool: { idle_timeout: 100ms }, "
                "env: { WHO: \"${principal}\" }",
                "auth: { api_keys: [{ name: ada, file: " + folder_.path("ada.key") +
                    " }, { name: bob, file: " + folder_.path("bob.key") + " }] }\n"));
  HttpClient client = gateway.connect();
  for (int round = 0; round < 2; ++round) {
    for (const auto& [key, own, other] :
         {std::tuple(kAda, "of-ada", "of-bob"), std::tuple(kBob, "of-bob", "of-ada")}) {
      EXPECT_THAT(ask(client, key, "tools/list"), AllOf(HasSubstr(own), Not(HasSubstr(other))));
      EXPECT_EQ(gateway.descendants().empty(), round > 0) << "who has asked before is remembered";
      EXPECT_TRUE(eventually("it sleeps", [&] { return gateway.descendants().empty(); }));
    }
  }
}

TEST_F(Principals, ShareNothingOverWebSockets) {
  GatewayProcess gateway(setup("jsonrpc", "max: 1"));
  WebSocketClient ada(gateway.url(), {.headers = as(kAda)});
  WebSocketClient bob(gateway.url(), {.headers = as(kBob)});
  WebSocketClient again(gateway.url(), {.headers = as(kAda)});
  const auto ask = [](WebSocketClient& socket, const std::string& method) {
    socket.send(request(method));
    return socket.message();
  };
  EXPECT_NE(ask(ada, "pid"), ask(bob, "pid"));
  EXPECT_EQ(ask(ada, "pid"), ask(again, "pid")) << "sessions of one principal share its children";
  EXPECT_THAT(ask(bob, "env"), HasSubstr("TOKEN=secret-of-bob"));
}

TEST_F(Principals, HaveMcpSessionsOfTheirOwn) {
  GatewayProcess gateway(setup("mcp", "max: 1"));
  const std::string initialize =
      request("initialize", R"({"protocolVersion":"2025-06-18","capabilities":{},)"
                            R"("clientInfo":{"name":"c","version":"1"}})");
  const auto open = [&](const std::string& key) {
    HttpClient client = gateway.connect();
    const HttpResponse opened = client.post("/mcp", initialize, as(key));
    EXPECT_EQ(opened.status, 200) << opened.body;
    return opened.header("mcp-session-id");
  };
  const std::string ada = open(kAda);
  const std::string bob = open(kBob);
  const auto pid = [&](const std::string& key, const std::string& session) {
    HttpClient client = gateway.connect();
    return client.post("/mcp", request("pid"), as(key, {{"mcp-session-id", session}})).body;
  };
  EXPECT_NE(pid(kAda, ada), pid(kBob, bob));
  EXPECT_EQ(pid(kAda, ada), pid(kAda, open(kAda)));
  HttpClient thief = gateway.connect();
  EXPECT_EQ(thief.post("/mcp", request("pid"), as(kBob, {{"mcp-session-id", ada}})).status, 404);
}

// A dead child or a missing secret affects a single principal.
TEST_F(Principals, FailAlone) {
  std::filesystem::remove(folder_.path("token-of-bob"));
  GatewayProcess gateway(setup("jsonrpc", "max: 1"));
  HttpClient client = gateway.connect();
  const HttpResponse refused = client.post("/rpc", request("pid"), as(kBob));
  EXPECT_EQ(refused.status, 502);
  EXPECT_THAT(refused.body, Not(HasSubstr(folder_.path(""))));
  EXPECT_THAT(gateway.log(), HasSubstr("token-of-bob"));
  EXPECT_THAT(ask(client, kAda, "pid"), HasSubstr("result"));
  EXPECT_EQ(client.post("/rpc", request("exit", R"({"code":1})"), as(kAda)).status, 502);
  EXPECT_EQ(HttpClient(gateway.admin_url()).get("/readyz").status, 200);
  folder_.write("token-of-bob", "at-last");
  EXPECT_THAT(ask(client, kBob, "env"), HasSubstr("TOKEN=at-last"));
}

// A principal's quota is kept even if the principal's pool has ended because it was idle.
TEST_F(Principals, KeepTheirCountOfCallsLongerThanTheirPool) {
  GatewaySetup limited = setup("jsonrpc", "max: 2, principals: 1, idle_timeout: 1h");
  limited.config.insert(limited.config.find("isolation: principal"),
                        "calls_per_principal: { rate: 2/h }, ");
  GatewayProcess gateway(limited);
  HttpClient client = gateway.connect();
  const auto status = [&](const std::string& key) {
    return client.post("/rpc", request("pid"), as(key)).status;
  };
  EXPECT_EQ(status(kAda), 200);
  EXPECT_EQ(status(kAda), 200);
  EXPECT_EQ(status(kAda), 429);
  EXPECT_EQ(status(kBob), 200) << "in the place of ada's pool";
  EXPECT_TRUE(eventually("there is a place for ada again", [&] { return status(kAda) != 503; }));
  EXPECT_EQ(status(kAda), 429);
}

// Idle pools end and make room for other principals. Nothing of them remains.
TEST_F(Principals, GiveTheirPlacesToOthers) {
  GatewayProcess gateway(setup("jsonrpc", "max: 2, principals: 1, idle_timeout: 1h"));
  HttpClient client = gateway.connect();
  EXPECT_THAT(ask(client, kAda, "env"), HasSubstr("WHO=ada"));
  EXPECT_THAT(ask(client, kBob, "env"), HasSubstr("WHO=bob"));
  EXPECT_TRUE(
      eventually("the child of ada is gone", [&] { return children_in(state_of(gateway)) == 1; }));
  WebSocketClient socket(gateway.url(), {.headers = as(kBob)});  // a session keeps its pool
  HttpClient other = gateway.connect();
  const HttpResponse refused = other.post("/rpc", request("pid"), as(kAda));
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("pool.principals"));
}

}  // namespace
}  // namespace stdgate::harness::principals_test
