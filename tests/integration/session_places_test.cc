// Sessions and the places of children, over sockets: who waits for one, and who needs none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/integration/harness/mcp_requests.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"

namespace stdgate::harness::session_places_test {
namespace {

using testing::HasSubstr;

// One place, and a session that is at work in it.
class OnePlace : public testing::Test {
 protected:
  OnePlace() {
    HttpClient client = gateway_.connect();
    id_ = open_mcp_session(client);
    working_.send_request("POST", "/mcp", request("hang", "", "9"), in_session());
    await_in_flight(gateway_, 1);
  }
  [[nodiscard]] Headers in_session() const {
    Headers fields = in_mcp_session(id_);
    fields["content-type"] = "application/json";
    return fields;
  }
  void finish_work() {
    HttpClient client = gateway_.connect();
    const std::string cancel = request("notifications/cancelled", R"({"requestId":9})", "");
    EXPECT_EQ(client.post("/mcp", cancel, in_mcp_session(id_)).status, 202);
  }

  GatewayProcess gateway_{serve_one(
      puppet("mcp"), "protocol: mcp, revision: legacy, pool: { max: 1, min_hold: 50ms }")};
  std::string id_;
  HttpClient working_{gateway_.connect()};
};

TEST_F(OnePlace, IsWaitedForByASessionThatBegins) {
  HttpClient other = gateway_.connect();
  Headers fields = in_mcp_session("");
  fields["content-type"] = "application/json";
  other.send_request("POST", "/mcp", mcp_greeting(), fields);
  EXPECT_TRUE(
      eventually("it waits", [&] { return state_of(gateway_).number("/backends/0/queued") == 1; }));
  EXPECT_TRUE(other.silent_for(Millis(200)));
  finish_work();
  const HttpResponse begun = other.read_response();
  EXPECT_EQ(begun.status, 200);
  EXPECT_THAT(begun.body, HasSubstr("protocolVersion"));
}

TEST_F(OnePlace, IsWaitedForByAWebSocketToo) {
  WebSocketClient socket(gateway_.url());
  socket.send(mcp_greeting());
  EXPECT_TRUE(
      eventually("it waits", [&] { return state_of(gateway_).number("/backends/0/queued") == 1; }));
  finish_work();
  EXPECT_THAT(socket.message(), HasSubstr("protocolVersion"));
}

TEST_F(OnePlace, ThatIsNeededByTwoIsTooFew) {
  finish_work();
  HttpClient client = gateway_.connect();
  const std::string other = open_mcp_session(client);
  for (int turn = 0; turn < 2; ++turn) {
    for (const std::string& id : {id_, other}) {
      EXPECT_THAT(client.post("/mcp", request("pid"), in_mcp_session(id)).body,
                  HasSubstr("result"));
    }
  }
  EXPECT_EQ(state_of(gateway_).number("/backends/0/missing_places"), 1);
  const auto told = log_of(gateway_, "sessions take turns");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].text("/level"), "warn");
  EXPECT_EQ(told[0].number("/sessions"), 2);
  EXPECT_EQ(told[0].number("/places"), 1);
  EXPECT_EQ(told[0].number("/missing"), 1);
  EXPECT_THAT(told[0].text("/hint"), HasSubstr("raise backends.main.pool.max by 1"));
}

// A connection is a session, and may never begin one of MCP.
TEST(Places, AreNotTakenByWebSocketsThatNeedNone) {
  GatewayProcess gateway(serve_one(puppet("mcp"), "protocol: mcp, pool: { max: 4 }"));
  WebSocketClient socket(gateway.url());
  socket.send(modern_request("server/discover", ""));
  EXPECT_THAT(socket.message(), HasSubstr(R"("id")"));
  const JsonValue state = state_of(gateway);
  EXPECT_EQ(state.number("/backends/0/sessions"), 1);
  EXPECT_EQ(state.number("/backends/0/parked_sessions"), 1);
  for (size_t i = 0; i < state.size("/backends/0/children"); ++i) {
    EXPECT_FALSE(state.has("/backends/0/children/" + std::to_string(i) + "/leased"));
  }
  const auto started = gateway.metrics().sum("stdgate_child_starts_total", {});
  WebSocketClient silent(gateway.url());
  EXPECT_EQ(gateway.metrics().sum("stdgate_child_starts_total", {}), started);
  socket.send(mcp_greeting());
  EXPECT_THAT(socket.message(), HasSubstr("protocolVersion"));
}

}  // namespace
}  // namespace stdgate::harness::session_places_test
