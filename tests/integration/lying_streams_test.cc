// Servers of MCP's modern era whose streams lie, and servers that die: what listening clients see,
// and what becomes of calls at each stage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/integration/harness/mcp_requests.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"

namespace stdgate::harness::lying_streams_test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kOptions = "revision: modern, pool: { min: 1, max: 1, backoff_min: 1ms }";
constexpr const char* kTag = R"("io.modelcontextprotocol/subscriptionId":)";
// The child replaces it by the id of the last subscriptions/listen.
constexpr const char* kListener = "@ID:subscriptions/listen@";

std::string answers(const std::string& result) {
  return R"({"jsonrpc":"2.0","id":@ID@,"result":)" + result + "}";
}

std::string frame(const std::string& method, const std::string& id) {
  return R"({"jsonrpc":"2.0","method":"notifications/)" + method + R"(","params":{"_meta":{)" +
         kTag + id + R"(},"notifications":{"toolsListChanged":true}}})";
}
std::string acknowledged(const std::string& id = "@ID@") {
  return frame("subscriptions/acknowledged", id);
}
std::string changed(const std::string& id = kListener) { return frame("tools/list_changed", id); }

// `rules`: of a child of the modern era that announces changes of its tools.
GatewaySetup with_streams(const Command& rules, const std::string& options = kOptions,
                          const std::string& root = "") {
  Command all = rules;
  all.push_back("server/discover=" +
                answers(R"({"supportedVersions":["2026-07-28"],"capabilities":)"
                        R"({"tools":{"listChanged":true}}})"));
  all.push_back("*=" + answers("{}"));
  return serve(
      {backend("main", lying(all), std::string("protocol: mcp, default: true, ") + options),
       backend("other", puppet())},
      root);
}

// A client that listens at /mcp under its own id.
class Listener {
 public:
  Listener(const GatewayProcess& gateway, const std::string& id)
      : client_(gateway.connect()), tag_(kTag + ("\"" + id + "\"")) {
    listen_for_tools(client_, "\"" + id + "\"");
  }
  // The next event, which must have the client's own tag; empty: the stream has ended.
  std::string next() {
    if (!std::exchange(has_begun_, true)) {
      EXPECT_EQ(client_.read_head().status, 200);
    }
    for (;;) {
      const auto event = client_.read_event();
      if (!event) return "";
      if (event->data.empty()) continue;
      EXPECT_THAT(event->data, HasSubstr(tag_));
      return event->data;
    }
  }
  void expect_acknowledgement() { EXPECT_THAT(next(), HasSubstr("acknowledged")); }
  void expect_change() { EXPECT_THAT(next(), HasSubstr("tools/list_changed")); }
  // The last event is a result.
  void expect_end() {
    EXPECT_THAT(next(), AllOf(HasSubstr(R"("result")"), HasSubstr("complete")));
    EXPECT_EQ(next(), "");
  }
  HttpClient& client() { return client_; }

 private:
  HttpClient client_;
  std::string tag_;
  bool has_begun_ = false;
};

void poke(const GatewayProcess& gateway, const std::string& method) {
  HttpClient client = gateway.connect();
  EXPECT_EQ(call(client, method).body, result("1", "{}"));
}

double dropped(const GatewayProcess& gateway, const std::string& reason) {
  return gateway.metrics().sum("stdgate_messages_dropped_total", {{"reason", reason}});
}

void expect_other_backend(const GatewayProcess& gateway) {
  HttpClient client = gateway.connect();
  EXPECT_THAT(client.post("/other/rpc", request("pid")).body, HasSubstr("result"));
}

// The process id of the only child; 0: it is not ready.
pid_t ready_pid(const GatewayProcess& gateway) {
  const JsonValue state = state_of(gateway);
  if (children_in(state, "ready") != 1 || children_in(state) != 1) return 0;
  return static_cast<pid_t>(state.number("/backends/0/children/0/pid"));
}

void kill_child(const GatewayProcess& gateway) {
  const pid_t former = ready_pid(gateway);
  ASSERT_GT(former, 0);
  kill(former, SIGKILL);
  eventually("another child is there", [&] {
    const pid_t pid = ready_pid(gateway);
    return pid != 0 && pid != former;
  });
}

// --- Streams that lie

TEST(LyingStreams, NeverAcknowledged) {
  GatewayProcess gateway(with_streams({"subscriptions/listen="}));
  {
    Listener listener(gateway, "a");
    await_in_flight(gateway, 1);
    poke(gateway, "any");
  }
  await_in_flight(gateway, 0);
  HttpClient client = gateway.connect();
  EXPECT_THAT(call(client, "history").body, HasSubstr("notifications/cancelled"));
}

TEST(LyingStreams, AcknowledgedTwice) {
  GatewayProcess gateway(with_streams(
      {"subscriptions/listen=" + acknowledged() + "@NL@" + acknowledged() + "@NL@" + changed()}));
  Listener listener(gateway, "a");
  listener.expect_acknowledgement();
  listener.expect_change();
}

// A child knows only the ids that the gateway has sent to it. Frames with other ids reach no
// client.
TEST(LyingStreams, FramesOfOthers) {
  GatewayProcess gateway(with_streams({
      "subscriptions/listen=" + acknowledged(),
      "invent=" + changed("\"a\"") + "@NL@" + changed("4711") + "@NL@" + changed("null") + "@NL@" +
          changed("[]") + "@NL@" + answers("{}"),
      "last=" + changed() + "@NL@" + answers("{}"),
  }));
  Listener ada(gateway, "a");
  ada.expect_acknowledgement();
  Listener bob(gateway, "b");
  bob.expect_acknowledgement();
  poke(gateway, "invent");
  EXPECT_EQ(dropped(gateway, "no_listener"), 4);
  poke(gateway, "last");
  bob.expect_change();
  kill_child(gateway);  // both listen at the next child, and hear nothing of the change
  EXPECT_TRUE(ada.client().silent_for(Millis(0)));
  EXPECT_TRUE(bob.client().silent_for(Millis(0)));
}

// A frame without a tag goes to each client that listens for such changes, with the client's own
// tag.
TEST(LyingStreams, FramesWithoutATag) {
  GatewayProcess gateway(with_streams(
      {"subscriptions/listen=" + acknowledged(),
       "untagged=" +
           std::string(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})") +
           "@NL@" + R"({"jsonrpc":"2.0","method":"notifications/prompts/list_changed"})" + "@NL@" +
           answers("{}")}));
  Listener ada(gateway, "a");
  Listener bob(gateway, "b");
  ada.expect_acknowledgement();
  bob.expect_acknowledgement();
  poke(gateway, "untagged");
  ada.expect_change();
  bob.expect_change();
  EXPECT_EQ(dropped(gateway, "no_listener"), 1) << "nobody listens for prompts";
}

TEST(LyingStreams, EndTwiceAndGoOn) {
  const std::string by_result = R"({"jsonrpc":"2.0","id":)" + std::string(kListener) +
                                R"(,"result":{"resultType":"complete"}})";
  const std::string by_cancel =
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
      std::string(kListener) + "}}";
  const std::string of_input = R"({"jsonrpc":"2.0","id":)" + std::string(kListener) +
                               R"(,"result":{"resultType":"input_required","requestState":"x"}})";
  for (const std::string& end : {by_result, by_cancel, of_input}) {
    GatewayProcess gateway(with_streams({"subscriptions/listen=" + acknowledged(),
                                         "end=" + end + "@NL@" + changed() + "@NL@" + by_result +
                                             "@NL@" + by_cancel + "@NL@" + answers("{}")}));
    Listener listener(gateway, "a");
    listener.expect_acknowledgement();
    poke(gateway, "end");
    listener.expect_end();
    EXPECT_EQ(dropped(gateway, "no_listener"), 2) << end;
    EXPECT_EQ(dropped(gateway, "unknown_id"), 1) << end;
    await_in_flight(gateway, 0);
  }
}

TEST(LyingStreams, AnErrorEndsThem) {
  GatewayProcess gateway(with_streams(
      {R"(subscriptions/listen={"jsonrpc":"2.0","id":@ID@,"error":{"code":-32601,"message":"no"}})"}));
  HttpClient client = gateway.connect();
  EXPECT_THAT(post_modern(client, "subscriptions/listen", R"("notifications":{})").body,
              HasSubstr("-32601"));
  await_in_flight(gateway, 0);
}

// The stream of a client that does not read its events is ended. Other clients get all events.
TEST(LyingStreams, FloodsEndSlowListenersAlone) {
  std::string flood;
  for (int i = 0; i < 64; ++i) {
    flood += R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":)"
             R"({"fill":"@FILL:1048576@"}}@NL@)";
  }
  GatewayProcess gateway(
      with_streams({"subscriptions/listen=" + acknowledged(), "flood=" + flood + answers("{}")},
                   kOptions, "limits: { outbox: 1MiB }"));
  Listener slow(gateway, "slow");
  slow.expect_acknowledgement();
  await_in_flight(gateway, 1);
  poke(gateway, "flood");
  await_in_flight(gateway, 0);
  Listener quick(gateway, "quick");
  quick.expect_acknowledgement();
  expect_other_backend(gateway);
}

TEST(LyingStreams, SessionsHearOfChangesWhateverTheirTag) {
  GatewayProcess gateway(
      with_streams({"subscriptions/listen=" + acknowledged() + "@NL@" + acknowledged(),
                    "change=" + changed() + "@NL@" + changed("4711") + "@NL@" + answers("{}")}));
  WebSocketClient socket(gateway.url());
  EXPECT_THAT(socket.call("initialize", initialize_params()), HasSubstr("listChanged"));
  await_in_flight(gateway, 1);
  socket.send(request("change"));
  EXPECT_THAT(socket.message(), AllOf(HasSubstr("tools/list_changed"), Not(HasSubstr(kTag))));
  EXPECT_THAT(socket.message(), HasSubstr(R"("result")"));
}

// --- Servers that die

TEST(DyingServers, BeforeTheirDiscovery) {
  GatewayProcess gateway(with_streams({"server/discover=!kill"}));
  HttpClient client = gateway.connect();
  EXPECT_THAT(call_tool(client).body, AnyOf(HasSubstr("-31502"), HasSubstr("-31503")));
  WebSocketClient socket(gateway.url());
  EXPECT_THAT(socket.call("initialize", initialize_params()),
              AnyOf(HasSubstr("-31502"), HasSubstr("-31503")));
  EXPECT_GE(gateway.metrics().sum("stdgate_child_exits_total"), 1);
  expect_other_backend(gateway);
}

TEST(DyingServers, AfterTheirDiscovery) {
  GatewayProcess gateway(with_streams({}));
  await_children(gateway, 1);
  WebSocketClient socket(gateway.url());
  socket.call("initialize", initialize_params());
  for (int round = 0; round < 3; ++round) {
    kill_child(gateway);
    HttpClient client = gateway.connect();
    EXPECT_THAT(call_tool(client).body, HasSubstr(R"("result":{})"));
    EXPECT_THAT(socket.call("tools/call", R"({"name":"t"})"), HasSubstr(R"("result":{})"));
  }
}

TEST(DyingServers, WithCallsInFlight) {
  GatewayProcess gateway(with_streams({"subscriptions/listen=" + acknowledged(), "hang="}));
  await_children(gateway, 1);
  std::vector<HttpClient> modern;
  for (int i = 0; i < 10; ++i) {
    modern.push_back(gateway.connect());
    modern.back().send_request("POST", "/mcp", modern_request("hang"),
                               modern_headers("hang", "", {{"content-type", "application/json"}}));
  }
  WebSocketClient socket(gateway.url());
  socket.call("initialize", initialize_params());
  socket.send(request("hang", "", "7"));
  socket.send(modern_request("hang", "", "8"));
  HttpClient plain = gateway.connect();
  plain.send_request("POST", "/rpc", request("hang"), {});
  await_in_flight(gateway, 14);  // including the session's own listen request
  kill_child(gateway);
  for (HttpClient& client : modern) {
    EXPECT_THAT(client.read_response().body, HasSubstr("-31502"));
    EXPECT_TRUE(client.silent_for(Millis(0)));
  }
  EXPECT_THAT(plain.read_response().body, HasSubstr("-31502"));
  const std::string both = socket.message() + socket.message();
  EXPECT_THAT(both, AllOf(HasSubstr(R"("id":7,)"), HasSubstr(R"("id":8,)")));
  EXPECT_THAT(socket.call("any"), HasSubstr(R"("result":{})")) << "the session goes on";
  EXPECT_EQ(gateway.metrics().sum("stdgate_child_exits_total", {{"reason", "signal"}}), 1);
}

TEST(DyingServers, WhileOthersListen) {
  GatewayProcess gateway(
      with_streams({"subscriptions/listen=" + acknowledged(),
                    "change=" + changed() + "@NL@" + answers("{}"), "die=!kill"}));
  Listener listener(gateway, "a");
  listener.expect_acknowledgement();
  for (int round = 0; round < 3; ++round) {
    kill_child(gateway);
    await_in_flight(gateway, 1);
    poke(gateway, "change");
    listener.expect_change();
  }
}

// A server that asks its client during a call.
class DyingBetweenRounds : public testing::Test {
 protected:
  static GatewaySetup setup(const std::string& options = kOptions) {
    return with_streams({"tools/call=" + answers(R"({"resultType":"input_required","requestState":)"
                                                 R"("s","inputRequests":{"k":{"method":)"
                                                 R"("roots/list"}}})")},
                        options);
  }
  // The message that a client gets if it answers after the child has died.
  static JsonValue what_follows(GatewayProcess& gateway, WebSocketClient& socket) {
    socket.call("initialize", initialize_params(R"({"roots":{}})"));
    socket.send(request("tools/call", R"({"name":"t"})", "7"));
    const JsonValue question(socket.message());
    EXPECT_EQ(question.text("/method"), "roots/list");
    kill_child(gateway);
    const auto id = static_cast<long>(question.number("/id"));
    socket.send(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"result":{"roots":[]}})");
    return JsonValue(socket.message());
  }
};

// The state of the call was in the process, and is lost with the process.
TEST_F(DyingBetweenRounds, TheCallEnds) {
  GatewayProcess gateway(setup());
  WebSocketClient socket(gateway.url());
  const JsonValue end = what_follows(gateway, socket);
  EXPECT_EQ(end.number("/id"), 7);
  EXPECT_EQ(end.number("/error/code"), -31502);
  HttpClient client = gateway.connect();
  EXPECT_THAT(call(client, "history").body, Not(HasSubstr("inputResponses")));
}

// With pool.sticky: false the client's answer goes to another process, in a repeated request.
TEST_F(DyingBetweenRounds, AServerThatKeepsNothingGoesOn) {
  GatewayProcess gateway(
      setup("revision: modern, pool: { min: 1, max: 1, backoff_min: 1ms, sticky: false }"));
  WebSocketClient socket(gateway.url());
  const JsonValue again = what_follows(gateway, socket);
  EXPECT_EQ(again.text("/method"), "roots/list") << "the next one asks too";
  HttpClient client = gateway.connect();
  EXPECT_THAT(call(client, "history").body,
              HasSubstr(R"(\"inputResponses\":{\"k\":{\"roots\":[]}},\"requestState\":\"s\")"));
  socket.close();
  eventually("the call is over",
             [&] { return state_of(gateway).number("/backends/0/parked_calls") == 0; });
}

// A child that dies of every call: each caller gets an error, and the breaker delays further
// starts.
TEST(DyingServers, OfEveryCall) {
  GatewayProcess gateway(with_streams({"tools/call=!kill", "subscriptions/listen=!kill"}));
  HttpClient client = gateway.connect();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(call_tool(client).body, AnyOf(HasSubstr("-31502"), HasSubstr("-31503")));
  }
  EXPECT_THAT(
      post_modern(client, "subscriptions/listen", R"("notifications":{"toolsListChanged":true})")
          .body,
      AnyOf(HasSubstr("-31502"), HasSubstr("-31503")));
  expect_other_backend(gateway);
}

}  // namespace
}  // namespace stdgate::harness::lying_streams_test
