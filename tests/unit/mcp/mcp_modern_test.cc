// Requests of MCP's modern era at children of either era: what the child receives, and what the
// client receives.

#include <gmock/gmock.h>

#include "tests/unit/mcp/modern_bench.h"

namespace stdgate::test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class McpModernChild : public testing::Test {
 public:
  ModernBench bench{config::Revision::modern, config::Isolation::session};
  FakeChild& child = bench.begin(0, kDiscovery);
  FakeClient client{bench.callers};
};

TEST_F(McpModernChild, GetsTheRequestAndItsAnswerComesByteForByte) {
  const std::string text = request("\"x\"", "tools/call", R"("name":"t", "arguments":{"a": 1})");
  bench.send_modern(client, text);
  const std::string line = child.take_line();
  const Asked asked = parse_asked(line);
  std::string expected = text;
  expected.replace(expected.find("\"x\""), 3, asked.id);
  EXPECT_EQ(line, expected);
  const std::string result = R"({ "content":[],  "resultType":"input_required"})";
  child.answer(asked.id, result);
  EXPECT_EQ(client.texts(), Texts{R"({"jsonrpc":"2.0","id":"x","result":)" + result + "}"});
}

TEST_F(McpModernChild, AnswersDiscoveryItself) {
  bench.send_modern(client, request("1", "server/discover"));
  EXPECT_EQ(parse_asked(child.take_line()).method, "server/discover");
}

// The client's own token could be equal to the token of another client's call.
TEST_F(McpModernChild, AnswersDiscoveryWithProgress) {
  bench.send_modern(client,
                    request("1", "server/discover", "", meta("{}", R"(,"progressToken":7)")));
  const std::string line = child.take_line();
  const std::string id = parse_asked(line).id;
  EXPECT_THAT(line, HasSubstr(R"("progressToken":)" + id + "}"));
  child.say(note("progress", R"({"progressToken":)" + id + R"(,"progress":1})"));
  EXPECT_EQ(events_of(client), Texts{note("progress", R"({"progressToken":7,"progress":1})")});
}

TEST_F(McpModernChild, RequestsOfNoEraAreStamped) {
  const std::string stamp =
      R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
      R"("io.modelcontextprotocol/clientInfo":{"name":"stdgate","version":"1"},)"
      R"("io.modelcontextprotocol/clientCapabilities":{})";
  const std::pair<std::string, std::string> cases[] = {
      {"", R"(,"params":{"_meta":{)" + stamp + "}}"},
      {R"(,"params":{})", R"(,"params":{"_meta":{)" + stamp + "}}"},
      {R"(,"params":{"a":1})", R"(,"params":{"_meta":{)" + stamp + R"(},"a":1})"},
      {R"(,"params":{"_meta":{"b":2}})", R"(,"params":{"_meta":{)" + stamp + R"(,"b":2}})"},
      {R"(,"params":{)" + meta() + "}", R"(,"params":{)" + meta() + "}"},
  };
  for (const auto& [params, expected] : cases) {
    bench.send(client, R"({"jsonrpc":"2.0","id":7,"method":"m")" + params + "}");
    const std::string line = child.take_line();
    rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
    std::string copy = line;
    const auto document = parser.parse(copy);
    ASSERT_TRUE(document.has_value()) << line;
    const std::string_view sent = document->messages[0].envelope.params;
    EXPECT_EQ(R"(,"params":)" + std::string(sent), expected);
  }
}

TEST_F(McpModernChild, AnswersInitializeOfNoEraFromItsDiscovery) {
  bench.send(client, R"({"jsonrpc":"2.0","id":7,"method":"initialize","params":{}})");
  EXPECT_EQ(client.texts(),
            Texts{R"({"jsonrpc":"2.0","id":7,"result":{"protocolVersion":"2025-11-25",)"
                  R"("capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"3"}}})"});
  EXPECT_TRUE(child.take_lines().empty());
}

// A session of a legacy client that shares modern children.
TEST(McpModernShared, ServesLegacySessions) {
  ModernBench bench(config::Revision::modern, config::Isolation::shared);
  FakeChild& child = bench.begin(0, kDiscovery);
  SharedClient session(bench);
  session.request("initialize", "{}");
  EXPECT_EQ(session.take(),
            Texts{R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25",)"
                  R"("capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"3"}}})"});
  session.send(note("initialized", "{}"));
  EXPECT_TRUE(child.take_lines().empty());
  session.request("tools/call", R"({"name":"t"})");
  const std::string line = child.take_line();
  EXPECT_NE(line.find("clientCapabilities"), std::string::npos) << line;
  child.answer(parse_asked(line).id, "{}");
  EXPECT_EQ(session.take(), Texts{empty_result()});
  const auto refused = [&](const std::string& method, int code) {
    session.request(method, "{}");
    child.say(R"({"jsonrpc":"2.0","id":)" + child.take_ids().at(0) + R"(,"error":{"code":)" +
              std::to_string(code) + R"(,"message":"no"}})");
    return session.take().at(0);
  };
  EXPECT_NE(refused("resources/read", -32602).find("-32002"), std::string::npos);
  EXPECT_NE(refused("tools/call", -32602).find("-32602"), std::string::npos);
}

TEST_F(McpModernChild, ProgressFindsItsCall) {
  bench.send_modern(
      client, request("1", "tools/call", R"("name":"t")", meta("{}", R"(,"progressToken":"p")")));
  const std::string id = child.take_ids().at(0);
  child.say(note("progress", R"({"progressToken":)" + id + R"(,"progress":1})"));
  EXPECT_EQ(events_of(client), Texts{note("progress", R"({"progressToken":"p","progress":1})")});
}

TEST_F(McpModernChild, LogMessagesNeedALevel) {
  const auto log = [](const std::string& level) {
    return note("message", R"({"level":")" + level + R"(","data":1})");
  };
  bench.send_modern(client, request("1", "tools/call", R"("name":"t")"));
  child.say(log("error"));
  child.say(note("tools/list_changed", "{}"));
  EXPECT_TRUE(client.events.empty());
  child.answer(child.take_ids().at(0));
  bench.send_modern(client,
                    request("2", "tools/call", R"("name":"t")",
                            meta("{}", R"(,"io.modelcontextprotocol/logLevel":"warning")")));
  for (const char* level : {"debug", "notice", "warning", "alert"}) child.say(log(level));
  EXPECT_EQ(events_of(client), (Texts{log("warning"), log("alert")}));
}

TEST_F(McpModernChild, ACallWhoseClientLeavesIsCancelled) {
  bench.send_modern(client, request("1", "tools/call", R"("name":"t")"));
  const std::string id = child.take_ids().at(0);
  bench.leave(client);
  const std::string line = child.take_line();
  EXPECT_NE(line.find("notifications/cancelled"), std::string::npos) << line;
  EXPECT_NE(line.find(R"("requestId":)" + id), std::string::npos) << line;
}

TEST_F(McpModernChild, ItsRequestsAreRefused) {
  bench.send_modern(client, request("1", "tools/call", R"("name":"t")"));
  child.take_lines();
  child.say(R"({"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{}})");
  EXPECT_NE(child.take_line().find("-32601"), std::string::npos);
  EXPECT_TRUE(client.events.empty());
  EXPECT_EQ(bench.observer.dropped[DropReason::no_listener], 1);
}

// --- subscriptions/listen

std::string tagged(const std::string& id, const std::string& more = "") {
  return R"({"_meta":{"io.modelcontextprotocol/subscriptionId":)" + id + "}" + more + "}";
}

class McpListening : public McpModernChild {
 public:
  McpListening() {
    bench.send_modern(client, request("\"s\"", "subscriptions/listen",
                                      R"("notifications":{"toolsListChanged":true})"));
    id = child.take_ids().at(0);
    child.say(note("subscriptions/acknowledged", tagged(id)));
  }
  std::string id;
};

TEST_F(McpListening, EachMessageNamesTheClientsRequest) {
  child.say(note("tools/list_changed", tagged(id)));
  EXPECT_EQ(events_of(client), (Texts{note("subscriptions/acknowledged", tagged("\"s\"")),
                                      note("tools/list_changed", tagged("\"s\""))}));
  bench.advance(std::chrono::hours(1));
  EXPECT_TRUE(client.answers.empty()) << "it has no deadline";
}

TEST_F(McpListening, EndsWithTheChildsResult) {
  child.answer(id, R"({"resultType":"complete",)" + tagged(id).substr(1));
  EXPECT_EQ(client.texts(),
            Texts{R"({"jsonrpc":"2.0","id":"s","result":{"resultType":"complete",)" +
                  tagged("\"s\"").substr(1) + "}"});
}

TEST_F(McpListening, EndsWithTheChildsCancel) {
  child.say(note("cancelled", R"({"requestId":)" + id + "}"));
  EXPECT_EQ(client.texts(),
            Texts{R"({"jsonrpc":"2.0","id":"s","result":{"resultType":"complete",)" +
                  tagged("\"s\"").substr(1) + "}"});
}

TEST_F(McpListening, EndsWithTheGateway) {
  bench.backend.drain();
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_NE(client.texts()[0].find("complete"), std::string::npos);
  EXPECT_EQ(bench.backend.calls(), 0U) << "a drain need not wait for it";
}

// The client asks again, and the new rules apply.
TEST_F(McpListening, EndsWhenTheRulesChange) {
  config::BackendConfig backend;
  bench.backend.set_rules(backend, {});
  EXPECT_TRUE(client.answers.empty()) << "nothing has changed";
  backend.rules = {{.allow = {"*"}, .tools = {"t"}}};
  bench.backend.set_rules(backend, {});
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_NE(client.texts()[0].find("complete"), std::string::npos);
}

TEST_F(McpListening, IsKeptOnlyIfItIsShort) {
  const std::string more(call::CapacityFilter::kMaxListening, 'x');
  bench.send_modern(
      client, request("2", "subscriptions/listen", R"("notifications":{"x":")" + more + "\"}"));
  EXPECT_TRUE(child.take_lines().empty());
  EXPECT_NE(client.texts().at(0).find("too long"), std::string::npos);
}

TEST_F(McpListening, GoesOnAtTheNextChildWithoutANewBeginning) {
  client.events.clear();
  child.exit(1);
  bench.advance(seconds(1));
  FakeChild& next = bench.child(1);
  next.start();
  next.answer(next.take_ids().at(0), std::string(kDiscovery));
  const Asked again = parse_asked(next.take_line());
  EXPECT_EQ(again.method, "subscriptions/listen");
  next.say(note("subscriptions/acknowledged", tagged(again.id)));
  next.say(note("tools/list_changed", tagged(again.id)));
  EXPECT_EQ(events_of(client), Texts{note("tools/list_changed", tagged("\"s\""))});
  EXPECT_TRUE(client.answers.empty());
}

TEST_F(McpListening, DoesNotHideWhatTheOnlyCallCauses) {
  client.events.clear();
  FakeClient other(bench.callers);
  bench.send_modern(other, request("1", "tools/call", R"("name":"t")",
                                   meta("{}", R"(,"io.modelcontextprotocol/logLevel":"info")")));
  child.say(note("message", R"({"level":"info","data":1})"));
  EXPECT_EQ(other.events.size(), 1U);
  EXPECT_TRUE(client.events.empty());
}

TEST_F(McpListening, LeavesNoDoubtBehind) {
  bench.leave(client);
  EXPECT_NE(child.take_line().find("notifications/cancelled"), std::string::npos);
  FakeClient other(bench.callers);
  bench.send_modern(other, request("1", "tools/call", R"("name":"t")",
                                   meta("{}", R"(,"io.modelcontextprotocol/logLevel":"info")")));
  child.say(note("message", R"({"level":"info","data":1})"));
  EXPECT_EQ(other.events.size(), 1U);
}

// --- A legacy child

class McpLegacyChild : public testing::Test {
 public:
  std::string answer_of(const std::string& method, const std::string& answer) {
    bench.send_modern(client, request("1", method, R"("name":"t")"));
    child.say(R"({"jsonrpc":"2.0","id":)" + child.take_ids().at(0) + "," + answer + "}");
    const std::string text = client.texts().back();
    return text.substr(std::string_view(R"({"jsonrpc":"2.0","id":1,)").size());
  }

  ModernBench bench{config::Revision::automatic, config::Isolation::shared};
  FakeChild& child = bench.begin(0, kGreeting);
  FakeClient client{bench.callers};
};

// The progress token between the removed members is rewritten. The rule holds whether the child's
// era is known or not.
TEST(McpLegacyChildren, GetNothingOfTheModernEra) {
  for (const bool is_known : {true, false}) {
    ModernBench bench(config::Revision::automatic, config::Isolation::shared);
    FakeChild& child = is_known ? bench.begin(0, kGreeting) : bench.child(0);
    FakeClient client{bench.callers};
    bench.send_modern(client, request("1", "tools/call", R"("name":"t")",
                                      meta("{}", R"(,"progressToken":"p","a":1)")));
    if (!is_known) {
      child.start();
      child.answer(child.take_ids().at(0), std::string(kGreeting));
    }
    const std::string line = child.take_lines().back();
    const std::string id = parse_asked(line).id;
    EXPECT_EQ(line, R"({"jsonrpc":"2.0","id":)" + id +
                        R"(,"method":"tools/call","params":{"name":"t","_meta":)" +
                        R"({"progressToken":)" + id + R"(,"a":1}}})");
  }
}

TEST_F(McpLegacyChild, DiscoveryComesFromItsGreeting) {
  bench.send_modern(client, request("1", "server/discover"));
  EXPECT_EQ(client.texts(),
            Texts{R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",)"
                  R"("supportedVersions":["2026-07-28"],)"
                  R"("capabilities":{"tools":{"listChanged":true},"prompts":{},)"
                  R"("resources":{"subscribe":true,"listChanged":true}},"instructions":"do",)"
                  R"("ttlMs":0,"cacheScope":"private","_meta":{)"
                  R"("io.modelcontextprotocol/serverInfo":{"name":"old","version":"1"}}}})"});
  EXPECT_TRUE(child.take_lines().empty());
}

TEST_F(McpLegacyChild, ResultsGetWhatTheModernEraDemands) {
  struct Case {
    std::string method;
    std::string result;
    std::string expected;
  };
  const std::string hints = R"("ttlMs":0,"cacheScope":"private")";
  const std::vector<Case> cases = {
      {"tools/call", R"({"content":[]})", R"({"resultType":"complete","content":[]})"},
      {"tools/call", "{ }", R"({"resultType":"complete" })"},
      {"tools/call", R"({"resultType":"x"})", R"({"resultType":"x"})"},
      {"tools/list", R"({"tools":[]})", R"({"resultType":"complete",)" + hints + R"(,"tools":[]})"},
      {"tools/list", R"({"ttlMs":5})", R"({"resultType":"complete","ttlMs":5})"},
      {"resources/read", "{}", R"({"resultType":"complete",)" + hints + "}"},
      {"tools/call", "[1]", "[1]"},
  };
  for (const auto& [method, result, expected] : cases) {
    EXPECT_EQ(answer_of(method, R"("result":)" + result), R"("result":)" + expected + "}")
        << method << result;
  }
}

TEST_F(McpLegacyChild, AMissingResourceIsAnInvalidParameter) {
  EXPECT_EQ(answer_of("resources/read", R"("error":{"message":"no","code":-32002,"data":{}})"),
            R"("error":{"message":"no","code":-32602,"data":{}}})");
  EXPECT_EQ(answer_of("resources/read", R"("error":{"code":-32603,"message":"no"})"),
            R"("error":{"code":-32603,"message":"no"}})");
}

TEST_F(McpLegacyChild, ClientsThatItCouldAskAreSentAway) {
  for (const char* capability : {"sampling", "elicitation", "roots"}) {
    bench.send_modern(client, request("1", "server/discover", "",
                                      meta(R"({")" + std::string(capability) + R"(":{}})")));
    EXPECT_NE(client.texts().back().find(R"("code":-32022)"), std::string::npos) << capability;
    EXPECT_NE(client.texts().back().find(R"("supported":["2025-11-25")"), std::string::npos);
  }
  EXPECT_TRUE(child.take_lines().empty());
}

TEST_F(McpLegacyChild, TheGatewayListensForItsClients) {
  const std::string wishes =
      R"("notifications":{"toolsListChanged":true,"promptsListChanged":true})";
  bench.send_modern(client, request("\"s\"", "subscriptions/listen", wishes));
  EXPECT_TRUE(child.take_lines().empty());
  EXPECT_EQ(events_of(client),
            Texts{note("subscriptions/acknowledged",
                       tagged("\"s\"", R"(,"notifications":{"toolsListChanged":true})"))});
  client.events.clear();
  child.say(note("tools/list_changed", "{}"));
  child.say(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
  child.say(note("resources/list_changed", "{}"));
  ASSERT_EQ(client.events.size(), 2U);
  EXPECT_EQ(events_of(client)[0], note("tools/list_changed", tagged("\"s\"")));
  EXPECT_NE(events_of(client)[1].find(tagged("\"s\"")), std::string::npos);
  bench.leave(client);
  EXPECT_TRUE(child.take_lines().empty()) << "the child knows nothing of it";
}

TEST_F(McpLegacyChild, TheGatewaySubscribesForItsClients) {
  const auto listen = [&](const std::string& id, const std::string& uris) {
    bench.send_modern(client, request(id, "subscriptions/listen",
                                      R"("notifications":{"resourceSubscriptions":)" + uris + "}"));
  };
  const std::string asks = R"(,"method":"resources/subscribe","params":{"uri":"f:a"}})";
  listen("1", R"(["f:a","f:a",7])");
  EXPECT_EQ(events_of(client),
            Texts{note("subscriptions/acknowledged",
                       tagged("1", R"(,"notifications":{"resourceSubscriptions":["f:a"]})"))});
  const std::string line = child.take_line();
  EXPECT_THAT(line, HasSubstr(asks));
  child.answer(parse_asked(line).id, "{}");
  listen("2", R"(["f:a"])");
  client.events.clear();
  child.say(note("resources/updated", R"({"uri":"f:a"})"));
  child.say(note("resources/updated", R"({"uri":"f:b"})"));
  EXPECT_EQ(events_of(client), (Texts{note("resources/updated", tagged("1", R"(,"uri":"f:a")")),
                                      note("resources/updated", tagged("2", R"(,"uri":"f:a")"))}));
  EXPECT_TRUE(child.take_lines().empty()) << "one subscription serves both";
  bench.leave(client);
  EXPECT_THAT(child.take_line(), HasSubstr(R"("method":"resources/unsubscribe")"));
}

TEST_F(McpLegacyChild, WhatIsTooMuchIsNotPromised) {
  std::string uris = "[\"" + std::string(session::Subscriptions::kMaxKey + 1, 'x') + "\"";
  for (size_t i = 0; i <= session::Subscriptions::kMaxPerSession; ++i) {
    uris.append(",\"u").append(std::to_string(i)).append("\"");
  }
  bench.send_modern(client, request("1", "subscriptions/listen",
                                    R"("notifications":{"resourceSubscriptions":)" + uris + "]}"));
  const std::string honored = events_of(client).at(0);
  EXPECT_THAT(honored, HasSubstr(R"("resourceSubscriptions":["u0",)"));
  EXPECT_THAT(honored, HasSubstr(R"("u255"]})"));
}

// Listening clients and sessions do not take each other's places.
TEST(McpLegacyWatches, HavePlacesOfTheirOwn) {
  backend::BackendOptions options =
      ModernBench::options_of(config::Revision::legacy, config::Isolation::shared);
  options.config.pool.sessions = 2;
  ModernBench bench(options);
  bench.begin(0, kGreeting);
  FakeClient client(bench.callers);
  for (const char* const id : {"1", "2", "3", "4"}) {
    bench.send_modern(client, request(id, "subscriptions/listen",
                                      R"("notifications":{"resourceSubscriptions":["f:a"]})"));
  }
  const Texts begun = events_of(client);
  ASSERT_EQ(begun.size(), 4U);
  EXPECT_THAT(begun[1], HasSubstr(R"("resourceSubscriptions":["f:a"])"));
  EXPECT_THAT(begun[2], Not(HasSubstr("f:a"))) << "one more than there may be is not promised it";
  EXPECT_EQ(bench.status().watches, 2U);
  EXPECT_EQ(bench.status().sessions, 0U);
  FakeSession one(bench.callers);
  FakeSession two(bench.callers);
  FakeSession three(bench.callers);
  EXPECT_FALSE(bench.open(one).has_value());
  EXPECT_FALSE(bench.open(two).has_value());
  EXPECT_TRUE(bench.open(three).has_value()) << "its limit is that of sessions";
  bench.leave(client);
  EXPECT_EQ(bench.status().watches, 0U);
  bench.send_modern(client, request("5", "subscriptions/listen",
                                    R"("notifications":{"resourceSubscriptions":["f:a"]})"));
  EXPECT_THAT(events_of(client).back(), HasSubstr(R"("resourceSubscriptions":["f:a"])"));
}

// The next child receives the subscriptions, and no client notices.
TEST_F(McpLegacyChild, UpdatesGoOnWhenItIsReplaced) {
  bench.send_modern(client, request("1", "subscriptions/listen",
                                    R"("notifications":{"resourceSubscriptions":["f:a"]})"));
  child.answer(parse_asked(child.take_line()).id, "{}");
  client.events.clear();
  child.exit(1);
  bench.advance(seconds(10));
  FakeChild& next = bench.child(1);
  next.start();
  next.answer(next.take_ids().at(0), std::string(kGreeting));
  EXPECT_TRUE(client.events.empty());
  EXPECT_THAT(next.take_lines(), testing::Contains(HasSubstr(R"("uri":"f:a")")));
  next.say(note("resources/updated", R"({"uri":"f:a"})"));
  EXPECT_EQ(events_of(client), Texts{note("resources/updated", tagged("1", R"(,"uri":"f:a")"))});
}

// The level is set once, before the first call, and not with each call.
TEST(McpLegacyChildren, AreSetToTheLowestLevelThatCallsWant) {
  const std::string greeting = R"({"protocolVersion":"2025-11-25","serverInfo":{"name":"s"},)"
                               R"("capabilities":{"tools":{})";
  for (const bool logs : {true, false}) {
    ModernBench bench(config::Revision::automatic, config::Isolation::shared);
    FakeChild& child = bench.begin(0, greeting + (logs ? R"(,"logging":{}}})" : "}}"));
    FakeClient client{bench.callers};
    const auto lines_of_call = [&](const std::string& level) {
      const std::string wish = R"(,"io.modelcontextprotocol/logLevel":")" + level + "\"";
      bench.send_modern(client, request("1", "tools/call", R"("name":"t")", meta("{}", wish)));
      Texts lines = child.take_lines();
      for (const std::string& line : lines) child.answer(parse_asked(line).id, "{}");
      return lines;
    };
    const Texts first = lines_of_call("debug");
    ASSERT_EQ(first.size(), logs ? 2U : 1U);
    const std::string told = logs ? R"("params":{"level":"debug"})" : "tools/call";
    EXPECT_THAT(first.front(), HasSubstr(told));
    EXPECT_EQ(parse_asked(first.back()).method, "tools/call");
    EXPECT_EQ(lines_of_call("error").size(), 1U);
    EXPECT_EQ(lines_of_call("debug").size(), 1U);
  }
}

TEST_F(McpLegacyChild, PlainRequestsAreNotStamped) {
  bench.send(client, R"({"jsonrpc":"2.0","id":7,"method":"m"})");
  EXPECT_EQ(child.take_line().find("_meta"), std::string::npos);
}

// The era of the children is not known yet.
class McpUnknownEra : public testing::Test {
 public:
  ModernBench bench{config::Revision::automatic, config::Isolation::session};
  FakeClient client{bench.callers};
};

TEST_F(McpUnknownEra, RequestsWaitForTheAnswer) {
  bench.send_modern(client, request("1", "tools/call", R"("name":"t")"));
  bench.send(client, R"({"jsonrpc":"2.0","id":2,"method":"m"})");
  FakeChild& child = bench.child(0);
  child.start();
  const Asked probe = parse_asked(child.take_line());
  child.answer(probe.id, std::string(kDiscovery));
  EXPECT_EQ(parse_asked(child.take_line()).method, "tools/call");
  EXPECT_NE(child.take_line().find("clientCapabilities"), std::string::npos);
}

TEST_F(McpUnknownEra, ALegacyChildThatSessionsHaveToThemselvesIsNotShared) {
  bench.services.states = nullptr;  // no call can wait for its client
  bench.send_modern(client, request("1", "server/discover"));
  bench.send(client, R"({"jsonrpc":"2.0","id":2,"method":"m"})");
  FakeChild& child = bench.child(0);
  child.start();
  const Asked probe = parse_asked(child.take_line());
  child.say(R"({"jsonrpc":"2.0","id":)" + probe.id + R"(,"error":{"code":-32601,"message":"no"}})");
  child.answer(child.take_ids().at(0), std::string(kGreeting));
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_NE(client.texts()[0].find(R"("code":-32022)"), std::string::npos);
  EXPECT_EQ(bench.observer.records.back().outcome, "other_era") << "it negotiates";
  child.take_line();
  EXPECT_EQ(child.take_line().find("_meta"), std::string::npos) << "not stamped";
  bench.send_modern(client, request("3", "tools/list"));
  EXPECT_EQ(client.answers.size(), 2U);
  EXPECT_EQ(bench.observer.records.back().outcome, "error");
  EXPECT_TRUE(child.take_lines().empty());
}

}  // namespace
}  // namespace stdgate::test
