// Sessions that are taken over again and again: more than the gateway remembers, from before a
// restart, or of another replica. After their end nothing of them remains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/integration/harness/eventually.h"
#include "tests/integration/harness/mcp_requests.h"
#include "tests/integration/harness/setups.h"
#include "tests/support/test_folder.h"

namespace stdgate::harness::takeover_test {
namespace {

// eras.py (both | modern) REVISION: a server of both eras of MCP or of the modern era, whose lists
// may change.
constexpr const char* kServerOfEras = R"py(
import json, sys
ERA = sys.argv[1]
CAPABILITIES = {"tools": {"listChanged": True}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, error = message["method"], None
    if method == "initialize" and ERA == "both":
        result = {"protocolVersion": sys.argv[2], "capabilities": CAPABILITIES,
                  "serverInfo": {"name": "s", "version": "1"}}
    elif method == "initialize":
        error = {"code": -32022, "message": "no such version"}
    elif method == "server/discover":
        result = {"supportedVersions": ["2026-07-28"], "capabilities": CAPABILITIES}
    elif method == "subscriptions/listen":
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
            "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": message["id"]},
                       "notifications": {"toolsListChanged": True}}}), flush=True)
        continue
    else:
        result = {"resultType": "complete", "content": []}
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    reply.update({"error": error} if error else {"result": result})
    print(json.dumps(reply), flush=True)
)py";

using testing::HasSubstr;

constexpr size_t kRemembered = 5;
constexpr size_t kSessions = 12;

class TakenOver : public testing::Test {
 protected:
  TakenOver() {
    folder_.write("eras.py", kServerOfEras);
    folder_.write("sessions.key", std::string(64, '7') + "\n");
  }

  std::unique_ptr<GatewayProcess> start(const std::string& peer_kind, const std::string& revision) {
    auto gateway = std::make_unique<GatewayProcess>(serve_one(
        {"python3", folder_.path("eras.py"), peer_kind, revision},
        "protocol: mcp, pool: { min: 1, max: 4, sessions: " + std::to_string(kRemembered) + " }",
        "sessions: { key_file: " + folder_.path("sessions.key") + " }\n"));
    return gateway;
  }

  test::TestFolder folder_;
};

class TakeOvers : public TakenOver, public testing::WithParamInterface<std::string> {
 protected:
  // Starts a gateway that knows that the children are modern.
  std::unique_ptr<GatewayProcess> start() {
    auto gateway = TakenOver::start(GetParam(), "2025-06-18");
    HttpClient client = gateway->connect();
    EXPECT_EQ(call(client, "tools/list").status, 200);
    EXPECT_EQ(state_of(*gateway).text("/backends/0/era"), "modern");
    return gateway;
  }
  static size_t in_flight(const GatewayProcess& gateway) {
    return static_cast<size_t>(state_of(gateway).number("/backends/0/in_flight"));
  }
  // Opens the stream of each session for a moment, in turn.
  void take_over_all(const GatewayProcess& gateway) const {
    for (const std::string& id : ids_) {
      HttpClient client = gateway.connect();
      Headers fields = in_mcp_session(id);
      fields["accept"] = "text/event-stream";
      client.send_request("GET", "/mcp", "", fields);
      EXPECT_EQ(client.read_head().status, 200);
    }
  }
  // The gateway listens at the server only for sessions without a child of their own, and only for
  // sessions that it remembers.
  void expect_few_listeners(const GatewayProcess& gateway) const {
    const size_t most = GetParam() == "both" ? 0 : 2 * kRemembered;
    eventually("few calls listen", [&] { return in_flight(gateway) <= most; });
  }
  void end_all(const GatewayProcess& gateway) const {
    HttpClient client = gateway.connect();
    for (const std::string& id : ids_) {
      client.send_request("DELETE", "/mcp", "", in_mcp_session(id));
      EXPECT_EQ(client.read_response().status, 204);
    }
    eventually("nothing is left", [&] { return in_flight(gateway) == 0; });
    EXPECT_EQ(state_of(gateway).number("/backends/0/sessions"), 0);
    // Another client is served as usual.
    EXPECT_NE(open_mcp_session(client), "");
  }

  std::vector<std::string> ids_;
};

TEST_P(TakeOvers, LeaveNothingBehind) {
  {
    const auto gateway = start();
    for (size_t i = 0; i < kSessions; ++i) {
      HttpClient client = gateway->connect();
      ids_.push_back(open_mcp_session(client));
    }
    for (int round = 0; round < 3; ++round) take_over_all(*gateway);
    expect_few_listeners(*gateway);
  }
  // Again after a restart, or at another replica.
  const auto gateway = start();
  for (int round = 0; round < 3; ++round) take_over_all(*gateway);
  expect_few_listeners(*gateway);
  end_all(*gateway);
}

// The client agreed on its revision with another version of the server.
TEST_F(TakenOver, EndsAtAServerOfAnotherRevision) {
  std::string id;
  {
    const auto gateway = start("both", "2025-06-18");
    HttpClient client = gateway->connect();
    id = open_mcp_session(client);
  }
  Headers fields = in_mcp_session(id);
  fields["mcp-protocol-version"] = "2025-06-18";
  {
    const auto gateway = start("both", "2025-06-18");
    HttpClient client = gateway->connect();
    EXPECT_THAT(client.post("/mcp", request("tools/list"), fields).body, HasSubstr("result"));
  }
  const auto gateway = start("both", "2025-11-25");
  HttpClient client = gateway->connect();
  EXPECT_THAT(client.post("/mcp", request("tools/list"), fields).body,
              HasSubstr("the server speaks another revision of its protocol now"));
  EXPECT_EQ(client.post("/mcp", request("tools/list"), fields).status, 404);
}

INSTANTIATE_TEST_SUITE_P(Servers, TakeOvers, testing::Values("both", "modern"),
                         [](const auto& server) { return server.param; });

}  // namespace
}  // namespace stdgate::harness::takeover_test
