// Servers of MCP's modern era that lie in their discovery, in their answers, or in what they send
// unasked. The call gets a clear error or the lie itself, and the lie is counted. Other calls and
// other backends notice nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/integration/harness/mcp_requests.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"

namespace stdgate::harness::lying_children_test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kAnswer = R"({"jsonrpc":"2.0","id":@ID@,"result":)";
constexpr const char* kModern = "revision: modern, pool: { min: 1, max: 1, backoff_min: 1ms }";
constexpr const char* kAskable = R"({"elicitation":{},"sampling":{},"roots":{}})";

std::string answers(const std::string& result) { return kAnswer + result + "}"; }

std::string discovery(const std::string& versions = R"(["2026-07-28"])",
                      const std::string& more = "") {
  return answers(R"({"supportedVersions":)" + versions + R"(,"capabilities":{"tools":{}})" + more +
                 "}");
}

// The rules of a child of both eras, whose answers are correct except where `lies` says otherwise.
Command child_with(const Command& lies) {
  Command rules = lies;
  rules.push_back("initialize=" + answers(R"({"protocolVersion":"2025-11-25","capabilities":{},)"
                                          R"("serverInfo":{"name":"s","version":"1"}})"));
  rules.push_back("server/discover=" + discovery());
  rules.push_back("*=" + answers(R"({"honest":true})"));
  return rules;
}

// A configuration with a child that lies and another child that does not.
GatewaySetup beside_another(const Command& lies, const std::string& options) {
  return serve(
      {backend("main", lying(child_with(lies)), "protocol: mcp, default: true, " + options),
       backend("other", puppet())});
}

void expect_no_harm(const GatewayProcess& gateway) {
  HttpClient client = gateway.connect();
  EXPECT_THAT(client.post("/other/rpc", request("pid")).body, HasSubstr("result"));
  EXPECT_EQ(client.get("/").status, 200);
}

void expect_honesty(const GatewayProcess& gateway) {
  HttpClient client = gateway.connect();
  EXPECT_EQ(call(client, "any").body, result("1", R"({"honest":true})"));
  expect_no_harm(gateway);
}

double dropped(const GatewayProcess& gateway, const std::string& reason) {
  return gateway.metrics().sum("stdgate_messages_dropped_total", {{"reason", reason}});
}

// --- Lies in the discovery

struct DiscoveryLie {
  std::string name;
  std::string rule;  // for server/discover
  bool is_modern = false;
  std::string dropped = {};  // expected reason of a dropped message; empty: none
};

const DiscoveryLie kDiscoveryLies[] = {
    {"error", R"({"jsonrpc":"2.0","id":@ID@,"error":{"code":-32601,"message":"no"}})"},
    {"garbage", R"({"jsonrpc":"2.0","id":@ID@,"result":{)", false, "not_json"},
    {"neither", R"({"jsonrpc":"2.0","id":@ID@})", false, "not_rpc"},
    {"nothing", answers("{}")},
    {"null", answers("null")},
    {"text", discovery(R"("2026-07-28")")},
    {"object", discovery(R"({"2026-07-28":true})")},
    {"unknown", discovery(R"(["2099-01-01","DRAFT"])")},
    {"many", discovery(R"([@MANY:10000:"v#"@])")},
    {"many_and_right", discovery(R"([@MANY:10000:"v#"@,"2026-07-28"])"), true},
    {"long", discovery(R"(["2026-07-28"])", R"(,"instructions":"@FILL:1048576@")"), true},
    {"deep", discovery(R"(["2026-07-28"])", R"(,"x":@NEST:100000@)"), false, "not_rpc"},
    {"twice", discovery() + "@NL@" + discovery(), true, "unknown_id"},
    {"cut", "!cut " + discovery().substr(0, 40)},
    {"exit", "!exit"},
    {"kill", "!kill"},
    {"silence", ""},
};

class LyingDiscovery : public testing::TestWithParam<DiscoveryLie> {};

INSTANTIATE_TEST_SUITE_P(Lies, LyingDiscovery, testing::ValuesIn(kDiscoveryLies),
                         [](const auto& lie) { return lie.param.name; });

// If the gateway has to find out the era, a malformed discovery makes a legacy child, which is
// served.
TEST_P(LyingDiscovery, IsNoDiscovery) {
  const DiscoveryLie& lie = GetParam();
  GatewayProcess gateway(beside_another({"server/discover=" + lie.rule},
                                        "pool: { max: 2, start_timeout: 3s, backoff_min: 1ms }"));
  expect_honesty(gateway);
  EXPECT_EQ(state_of(gateway).text("/backends/0/era"), lie.is_modern ? "modern" : "legacy");
  if (!lie.dropped.empty()) {
    EXPECT_EQ(dropped(gateway, lie.dropped), 1);
  }
}

// If the configuration demands the modern era, a child without a valid discovery does not start,
// and calls are told why.
TEST_P(LyingDiscovery, IsNoModernChild) {
  const DiscoveryLie& lie = GetParam();
  GatewayProcess gateway(
      beside_another({"server/discover=" + lie.rule},
                     "revision: modern, pool: { max: 1, start_timeout: 1s, backoff_min: 1ms }"));
  if (lie.is_modern) return expect_honesty(gateway);
  HttpClient client = gateway.connect();
  EXPECT_THAT(call_tool(client).body, AnyOf(HasSubstr("-31502"), HasSubstr("-31503")));
  EXPECT_THAT(call(client, "any").status, AnyOf(502, 503));
  EXPECT_GE(gateway.metrics().sum("stdgate_child_exits_total"), 1);
  expect_no_harm(gateway);
}

// The answer to server/discover comes late: when the child gets initialize. The gateway treats the
// next process as modern from the start.
TEST(LyingServers, ThatDiscoverThemselvesLate) {
  GatewayProcess gateway(beside_another(
      {"server/discover=",
       "initialize=" + std::string(R"({"jsonrpc":"2.0","id":@ID:server/discover@,)") +
           R"("result":{"supportedVersions":["2026-07-28"]}})"},
      "pool: { max: 1, start_timeout: 600ms, backoff_min: 1ms }"));
  HttpClient client = gateway.connect();
  EXPECT_THAT(call(client, "any").status, AnyOf(502, 503, 504));
  expect_no_harm(gateway);
}

// --- Lies in results

struct ResultLie {
  std::string name;
  std::string result;             // of tools/call
  std::string session_gets = {};  // empty: the unchanged result
};

constexpr const char* kNoQuestion = "the server has answered input_required without a question";
constexpr const char* kUndeclared = "the server asks for what the client has not declared";

const ResultLie kResultLies[] = {
    {"no_type", R"({"content":[]})"},
    {"unknown_type", R"({"resultType":"surprise","content":[]})"},
    {"type_is_no_text", R"({"resultType":["input_required"]})"},
    {"null", "null"},
    {"nothing_required", R"({"resultType":"input_required"})", kNoQuestion},
    {"requests_are_a_list", R"({"resultType":"input_required","inputRequests":[]})", kNoQuestion},
    {"request_is_a_number", R"({"resultType":"input_required","inputRequests":{"a":1}})",
     kNoQuestion},
    {"many",
     R"({"resultType":"input_required","inputRequests":{@MANY:1000:"k#":)"
     R"({"method":"roots/list"}@}})",
     "the server wants to know too much at once"},
    {"unknown_method",
     R"({"resultType":"input_required","inputRequests":{"a":{"method":"tools/call"}}})",
     kUndeclared},
    {"long_method",
     R"({"resultType":"input_required","inputRequests":{"a":{"method":"@FILL:4000@"}}})",
     kUndeclared},
    {"state_is_a_number", R"({"resultType":"input_required","requestState":7})", kNoQuestion},
    {"state_is_a_number_beside_a_question",
     R"({"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}},)"
     R"("requestState":7})",
     kNoQuestion},
    {"large_state_for_ever", R"({"resultType":"input_required","requestState":"@FILL:1048576@"})",
     "the server wants to know more and more"},
    {"new_state_for_ever", R"({"resultType":"input_required","requestState":"@COUNT@"})",
     "the server wants to know more and more"},
};

class LyingResults : public testing::TestWithParam<ResultLie> {
 protected:
  // The beginning of the result, up to the first part that the child fills in.
  static std::string as_is() {
    const std::string& text = GetParam().result;
    return R"("result":)" + text.substr(0, text.find('@'));
  }
};

INSTANTIATE_TEST_SUITE_P(Lies, LyingResults, testing::ValuesIn(kResultLies),
                         [](const auto& lie) { return lie.param.name; });

// Clients of the modern era and plain callers judge the results themselves.
TEST_P(LyingResults, PassToModernClientsAndPlainCallers) {
  GatewayProcess gateway(beside_another({"tools/call=" + answers(GetParam().result)}, kModern));
  HttpClient client = gateway.connect();
  for (const char* capabilities : {"{}", kAskable}) {
    const HttpResponse response = call_tool(client, capabilities);
    EXPECT_EQ(response.status, 200);
    EXPECT_THAT(response.body, HasSubstr(as_is()));
  }
  EXPECT_THAT(call(client, "tools/call", R"({"name":"t"})").body, HasSubstr(as_is()));
  WebSocketClient socket(gateway.url());
  socket.send(modern_request("tools/call", R"("name":"t")"));
  EXPECT_THAT(socket.message(), HasSubstr(as_is()));
  expect_honesty(gateway);
}

TEST_P(LyingResults, EndTheCallOfASession) {
  const ResultLie& lie = GetParam();
  GatewayProcess gateway(beside_another({"tools/call=" + answers(lie.result)}, kModern));
  WebSocketClient socket(gateway.url());
  WebSocketClient other(gateway.url());
  for (WebSocketClient* each : {&socket, &other}) {
    EXPECT_THAT(each->call("initialize", initialize_params(kAskable)), HasSubstr("2025-11-25"));
  }
  const std::string answer = socket.call("tools/call", R"({"name":"t"})", "\"x\"");
  EXPECT_THAT(answer, HasSubstr(R"("id":"x")"));
  EXPECT_THAT(answer, HasSubstr(lie.session_gets.empty() ? as_is() : lie.session_gets));
  for (WebSocketClient* each : {&socket, &other}) {
    EXPECT_THAT(each->call("any"), HasSubstr(R"({"honest":true})"));
  }
  EXPECT_EQ(state_of(gateway).number("/backends/0/parked_calls"), 0);
  expect_honesty(gateway);
}

// A request for input from a method that cannot need input is passed on as a result, except to
// sessions.
TEST(LyingServers, OfMethodsThatNeedNoInput) {
  const std::string result = R"({"resultType":"input_required","requestState":"x"})";
  GatewayProcess gateway(beside_another({"prompts/list=" + answers(result)}, kModern));
  HttpClient client = gateway.connect();
  EXPECT_THAT(post_modern(client, "prompts/list").body, HasSubstr(result));
  EXPECT_THAT(call(client, "prompts/list").body, HasSubstr(result));
  WebSocketClient socket(gateway.url());
  socket.call("initialize", initialize_params(kAskable));
  EXPECT_THAT(socket.call("prompts/list"), HasSubstr("the server asks, and nobody can answer"));
  expect_honesty(gateway);
}

// --- Lies about how long a result may be kept

TEST(LyingServers, HaveNothingKept) {
  const std::string times[] = {"-1", "1e300", "18446744073709551616", "\"60000\"", "null",
                               "0",  "1.5"};
  for (const std::string& time : times) {
    const std::string list = R"({"prompts":[],"count":@COUNT@,"cacheScope":"public","ttlMs":)";
    GatewayProcess gateway(beside_another({"prompts/list=" + answers(list + time + "}")}, kModern));
    HttpClient client = gateway.connect();
    EXPECT_THAT(post_modern(client, "prompts/list").body, HasSubstr(R"("count":1)")) << time;
    EXPECT_THAT(post_modern(client, "prompts/list").body, HasSubstr(R"("count":2)")) << time;
  }
  GatewayProcess gateway(beside_another(
      {"prompts/list=" + answers(R"({"count":@COUNT@,"ttlMs":60000,"cacheScope":"world"})"),
       "resources/list=" + answers(R"({"count":@COUNT@,"ttlMs":60000,"cacheScope":"public"})")},
      kModern));
  HttpClient client = gateway.connect();
  EXPECT_THAT(post_modern(client, "prompts/list").body, HasSubstr(R"("count":1)"));
  EXPECT_THAT(post_modern(client, "prompts/list").body, HasSubstr(R"("count":2)"));
  HttpClient other = gateway.connect();
  for (HttpClient* each : {&client, &other}) {
    EXPECT_THAT(post_modern(*each, "resources/list").body, HasSubstr(R"("count":1)"))
        << "who says public says that it is the same for all";
  }
  EXPECT_EQ(gateway.metrics().sum("stdgate_mcp_cache_hits_total"), 1);
}

// --- Unsolicited messages

struct Noise {
  std::string name;
  std::string line;  // before the answer
  std::string dropped;
};

const Noise kNoises[] = {
    {"progress",
     R"({"jsonrpc":"2.0","method":"notifications/progress","params":)"
     R"({"progressToken":4711,"progress":1,"noise":1}})",
     "no_listener"},
    {"progress_of_a_text",
     R"({"jsonrpc":"2.0","method":"notifications/progress","params":)"
     R"({"progressToken":"@ID@","progress":1,"noise":1}})",
     "no_listener"},
    {"progress_unasked",
     R"({"jsonrpc":"2.0","method":"notifications/progress","params":)"
     R"({"progressToken":@ID@,"progress":1,"noise":1}})",
     "no_listener"},
    {"answer_to_nothing", R"({"jsonrpc":"2.0","id":4711,"result":{"noise":1}})", "unknown_id"},
    {"answer_to_a_text", R"({"jsonrpc":"2.0","id":"@ID@","result":{"noise":1}})", "unknown_id"},
    {"answer_to_null", R"({"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"noise"}})",
     "unknown_id"},
    {"frame",
     R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":)"
     R"({"_meta":{"io.modelcontextprotocol/subscriptionId":4711},"noise":1}})",
     "no_listener"},
    {"log",
     R"({"jsonrpc":"2.0","method":"notifications/message","params":)"
     R"({"level":"error","data":"noise"}})",
     "no_listener"},
    {"sampling",
     R"({"jsonrpc":"2.0","id":"own","method":"sampling/createMessage","params":)"
     R"({"noise":1}})",
     "no_listener"},
    {"cancel",
     R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":)"
     R"({"requestId":@ID@,"reason":"noise"}})",
     "no_listener"},
    {"ping", R"({"jsonrpc":"2.0","id":"own","method":"ping","params":{"noise":1}})", "no_listener"},
};

class LyingAloud : public testing::TestWithParam<Noise> {};

INSTANTIATE_TEST_SUITE_P(Noises, LyingAloud, testing::ValuesIn(kNoises),
                         [](const auto& noise) { return noise.param.name; });

TEST_P(LyingAloud, ReachesNobody) {
  const Noise& noise = GetParam();
  GatewayProcess gateway(beside_another(
      {"tools/call=" + noise.line + "@NL@" + answers(R"({"content":[]})")}, kModern));
  const auto is_quiet = AllOf(HasSubstr(R"("result":{"content":[]})"), Not(HasSubstr("noise")));
  HttpClient client = gateway.connect();
  EXPECT_THAT(call_tool(client, kAskable).body, is_quiet);
  EXPECT_EQ(dropped(gateway, noise.dropped), 1);
  EXPECT_THAT(call(client, "tools/call", R"({"name":"t"})").body, is_quiet);
  EXPECT_EQ(dropped(gateway, noise.dropped), 2);
  expect_honesty(gateway);
}

// A server of the modern era may ask only by its results, not by requests.
TEST(LyingServers, RequestsAreRefusedWhoeverCalls) {
  const std::string ask = R"({"jsonrpc":"2.0","id":"own","method":"sampling/createMessage"})";
  GatewayProcess gateway(
      beside_another({"tools/call=" + ask + "@NL@" + answers(R"({"content":[]})")}, kModern));
  WebSocketClient socket(gateway.url());
  socket.call("initialize", initialize_params(kAskable));
  const std::string quiet = R"({"jsonrpc":"2.0","id":1,"result":{"content":[]}})";
  EXPECT_EQ(socket.call("tools/call", R"({"name":"t"})"), quiet) << "its session is not asked";
  HttpClient client = gateway.connect();
  call_tool(client, kAskable);
  call(client, "tools/call", R"({"name":"t"})");
  const std::string history = call(client, "history").body;
  const std::string refusal = R"(\"id\":\"own\",\"error\":{\"code\":-32601)";
  size_t refusals = 0;
  for (size_t at = history.find(refusal); at != std::string::npos;
       at = history.find(refusal, at + 1)) {
    ++refusals;
  }
  EXPECT_EQ(refusals, 3U) << history;
  EXPECT_EQ(dropped(gateway, "no_listener"), 3);
}

}  // namespace
}  // namespace stdgate::harness::lying_children_test
