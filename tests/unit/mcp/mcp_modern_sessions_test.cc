// Sessions of legacy clients at children of MCP's modern era, which the sessions share.

#include <gmock/gmock.h>

#include "gateway/mcp/bridge/session_listening.h"
#include "tests/unit/mcp/modern_bench.h"

namespace stdgate::test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kInfo = R"("io.modelcontextprotocol/clientInfo":)";
constexpr std::string_view kLevel = R"("io.modelcontextprotocol/logLevel":)";

class McpModernSessions : public testing::Test {
 public:
  static std::string greeting(const std::string& name, const std::string& capabilities = "{}",
                              const std::string& revision = "2025-06-18") {
    return R"({"protocolVersion":")" + revision + R"(","capabilities":)" + capabilities +
           R"(,"clientInfo":{"name":")" + name + R"(","version":"1"}})";
  }
  // Sends a call of this session. Returns the line that the child receives.
  std::string line_of(SharedClient& of, const std::string& method = "tools/call") {
    of.request(method, R"({"name":"t"})", "8");
    return child.take_line();
  }

  ModernBench bench{config::Revision::modern, config::Isolation::shared};
  FakeChild& child = bench.begin(0, kDiscovery);
  SharedClient session{bench};
};

TEST_F(McpModernSessions, TheRevisionIsTheClientsWhereItIsKnown) {
  const std::pair<std::string, std::string> cases[] = {
      {"2024-11-05", "2024-11-05"}, {"2025-06-18", "2025-06-18"}, {"2099-01-01", "2025-11-25"}};
  for (const auto& [asked, expected] : cases) {
    SharedClient other(bench);
    other.request("initialize", greeting("ada", "{}", asked));
    EXPECT_THAT(other.take().at(0), HasSubstr(R"("protocolVersion":")" + expected + "\""));
  }
}

TEST_F(McpModernSessions, EachRequestNamesTheClientOfItsSession) {
  SharedClient other(bench);
  session.request("initialize", greeting("ada"));
  other.request("initialize", greeting("bob"));
  EXPECT_THAT(line_of(session), HasSubstr(std::string(kInfo) + R"({"name":"ada","version":"1"})"));
  EXPECT_THAT(line_of(other), HasSubstr(std::string(kInfo) + R"({"name":"bob","version":"1"})"));
  SharedClient silent(bench);
  EXPECT_THAT(line_of(silent), HasSubstr(std::string(kInfo) + R"({"name":"stdgate")"));
}

TEST_F(McpModernSessions, ALongGreetingIsNotRepeated) {
  session.request("initialize", greeting(std::string(pool::SessionMemory::kMaxGreeting, 'a')));
  EXPECT_THAT(line_of(session), HasSubstr(std::string(kInfo) + R"({"name":"stdgate")"));
}

TEST_F(McpModernSessions, TheLogLevelGoesWithEachRequest) {
  session.request("initialize", greeting("ada"));
  session.take();
  EXPECT_THAT(line_of(session), HasSubstr(std::string(kLevel) + "\"info\""))
      << "which is what a legacy server logs by itself";
  session.request("logging/setLevel", R"({"level":"notice"})");
  EXPECT_EQ(session.take(), Texts{empty_result()});
  EXPECT_TRUE(child.take_lines().empty()) << "a modern child does not know the method";
  EXPECT_THAT(line_of(session), HasSubstr(std::string(kLevel) + "\"notice\""));
  SharedClient other(bench);
  EXPECT_THAT(line_of(other), Not(HasSubstr(kLevel)));
}

TEST_F(McpModernSessions, LogMessagesReachTheSessionFromItsLevelOn) {
  session.request("logging/setLevel", R"({"level":"error"})");
  session.take();
  line_of(session);
  child.say(note("message", R"({"level":"info","data":1})"));
  EXPECT_TRUE(session.take().empty());
  const std::string loud = note("message", R"({"level":"error","data":1})");
  child.say(loud);
  EXPECT_EQ(session.take(), Texts{loud});
}

TEST_F(McpModernSessions, WhatNoModernChildKnowsIsAnsweredHere) {
  session.request("ping", "{}");
  EXPECT_EQ(session.take(), Texts{empty_result()});
  session.send(note("roots/list_changed", "{}"));
  session.send(note("initialized", "{}"));
  EXPECT_TRUE(child.take_lines().empty());
}

// The server is of both eras: the session's greeting has made this process a legacy one.
TEST(McpOwnChildren, GetAllOfTheirSession) {
  ModernBench bench(config::Revision::automatic, config::Isolation::session);
  FakeClient modern(bench.callers);
  bench.send_modern(modern, request("1", "tools/list"));
  bench.begin(0, kDiscovery);
  ASSERT_EQ(bench.backend.status().peer_kind, PeerKind::stateless);
  SharedClient session(bench);
  session.request("initialize", McpModernSessions::greeting("ada"));
  FakeChild& own = bench.child(1);
  own.start();
  const Asked greeting = parse_asked(own.take_line());
  EXPECT_EQ(greeting.method, "initialize");
  own.answer(greeting.id, std::string(kGreeting));
  EXPECT_THAT(session.take().at(0), HasSubstr("protocolVersion"));
  session.send(note("initialized", "{}"));
  EXPECT_THAT(own.take_line(), HasSubstr("notifications/initialized"));
  session.send(note("roots/list_changed", "{}"));
  EXPECT_THAT(own.take_line(), HasSubstr("notifications/roots/list_changed"));
  session.request("ping", "{}", "2");
  EXPECT_EQ(parse_asked(own.take_line()).method, "ping");
}

TEST_F(McpModernSessions, RequestsOfTheChildReachNoClient) {
  session.request("initialize", greeting("ada", R"({"sampling":{}})"));
  session.take();
  line_of(session);
  child.say(R"({"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{}})");
  EXPECT_TRUE(session.take().empty());
  EXPECT_THAT(child.take_line(), HasSubstr(R"("id":5,"error":{"code":-32601)"));
  EXPECT_EQ(bench.observer.dropped[DropReason::no_listener], 1);
}

// --- Changes and updates

// A modern child that reports changes, with two sessions.
class McpListeningSessions : public testing::Test {
 public:
  McpListeningSessions() {
    for (SharedClient* const client : {&ada, &bob}) {
      client->request("initialize", McpModernSessions::greeting("c"));
      client->take();
    }
    bench.settle();
  }
  // The gateway's requests to listen. The child acknowledges each of them.
  std::vector<Asked> listens() {
    std::vector<Asked> found;
    lines = child.take_lines();
    for (const std::string& line : lines) {
      const Asked asked = parse_asked(line);
      if (asked.method != "subscriptions/listen") continue;
      found.push_back(asked);
      child.say(note("subscriptions/acknowledged", tag(asked.id)));
    }
    return found;
  }
  static std::string tag(const std::string& id, const std::string& more = "") {
    return R"({"_meta":{"io.modelcontextprotocol/subscriptionId":)" + id + "}" + more + "}";
  }

  ModernBench bench{config::Revision::modern, config::Isolation::shared};
  FakeChild& child = bench.begin(
      0, R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},)"
         R"("resources":{"subscribe":true}}})");
  SharedClient ada{bench};
  SharedClient bob{bench};
  Texts lines;
};

TEST_F(McpListeningSessions, ArePromisedChangesAndHearOfThem) {
  SharedClient other(bench);
  other.request("initialize", McpModernSessions::greeting("c"));
  EXPECT_THAT(other.take().at(0), HasSubstr(R"("capabilities":{"tools":{"listChanged":true},)"
                                            R"("resources":{"subscribe":true}})"));
  const auto asked = listens();
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_THAT(lines[0], HasSubstr(R"(/clientInfo":{"name":"c","version":"1"})"));
  EXPECT_THAT(lines[0], HasSubstr(R"("notifications":{"toolsListChanged":true,)"
                                  R"("promptsListChanged":true,"resourcesListChanged":true}})"));
  EXPECT_TRUE(ada.take().empty()) << "it has asked for nothing";
  child.say(note("tools/list_changed", tag(asked[0].id)));
  EXPECT_EQ(ada.take(), Texts{note("tools/list_changed", R"({"_meta":{}})")});
  EXPECT_TRUE(bob.take().empty());
}

// The gateway's own call is not reported, and takes no place of a client's call.
TEST(McpListeningSessionsAlone, AreNoCallsOfClients) {
  backend::BackendOptions options =
      ModernBench::options_of(config::Revision::modern, config::Isolation::shared);
  options.config.pool.max_in_flight = 1;
  ModernBench bench(options);
  FakeChild& child = bench.begin(0, R"({"supportedVersions":["2026-07-28"],)"
                                    R"("capabilities":{"tools":{"listChanged":true}}})");
  SharedClient ada(bench);
  ada.request("initialize", McpModernSessions::greeting("c"));
  bench.settle();
  EXPECT_EQ(parse_asked(child.take_line()).method, "subscriptions/listen");
  ada.take();
  const uint64_t started = bench.observer.started;
  ada.request("tools/call", R"({"name":"t"})");
  child.answer(parse_asked(child.take_line()).id, "{}");
  EXPECT_EQ(ada.take().size(), 1U);
  ada.close();
  EXPECT_EQ(bench.observer.started, started + 1);
  EXPECT_EQ(bench.observer.records.size(), 2U) << "initialize and the call";
}

TEST(McpListeningSessionsAlone, ThoseFromElsewhereListenToo) {
  ModernBench bench(config::Revision::modern, config::Isolation::shared);
  FakeChild& child = bench.begin(0, kDiscovery);
  FakeSession session(bench.callers);
  const std::string greeting = McpModernSessions::greeting("ada");
  ASSERT_TRUE(bench.backend.adopt_session(session.caller(), session, {}, {greeting}));
  bench.settle();
  const std::string line = child.take_line();
  EXPECT_EQ(parse_asked(line).method, "subscriptions/listen");
  EXPECT_THAT(line, HasSubstr(std::string(kInfo) + R"({"name":"ada","version":"1"})"));
}

// The gateway's request nests the greeting deeper than the greeting itself was nested.
TEST(McpListeningSessionsAlone, AGreetingMayBeAsDeepAsAllowed) {
  backend::BackendOptions options =
      ModernBench::options_of(config::Revision::modern, config::Isolation::shared);
  ModernBench bench(options);
  FakeChild& child = bench.begin(0, R"({"supportedVersions":["2026-07-28"],)"
                                    R"("capabilities":{"tools":{"listChanged":true}}})");
  const size_t depth =
      options.limits.depth - 4;  // message, params, clientInfo, and the value itself
  SharedClient ada(bench);
  ada.request("initialize",
              R"({"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a",)"
              R"("version":"1","x":)" +
                  std::string(depth, '[') + "[1]" + std::string(depth, ']') + "}}");
  EXPECT_THAT(ada.take().at(0), HasSubstr("result"));
  bench.settle();
  EXPECT_THAT(child.take_line(), HasSubstr("subscriptions/listen"));
  child.exit(1);
  bench.advance(seconds(1));
  FakeChild& next = bench.child(1);
  next.start();
  next.answer(next.take_ids().at(0), std::string(kDiscovery));
  EXPECT_THAT(next.take_line(), HasSubstr("subscriptions/listen"));
}

TEST_F(McpListeningSessions, UpdatesReachWhoHasSubscribed) {
  listens();
  ada.subscribe("f:b", "11");
  ada.subscribe("f:a", "12");
  ada.subscribe("f:a", "13");
  EXPECT_EQ(ada.take(), (Texts{empty_result("11"), empty_result("12"), empty_result("13")}));
  bench.settle();
  const auto asked = listens();
  ASSERT_EQ(asked.size(), 1U) << "once a turn";
  EXPECT_THAT(lines[0], HasSubstr("notifications/cancelled")) << "the former one";
  EXPECT_THAT(lines[1], HasSubstr(R"("resourceSubscriptions":["f:a","f:b"]}})"));
  child.say(note("resources/updated", tag(asked[0].id, R"(,"uri":"f:a")")));
  EXPECT_EQ(ada.take(), Texts{note("resources/updated", R"({"_meta":{},"uri":"f:a"})")});
  EXPECT_TRUE(bob.take().empty());
  ada.unsubscribe("f:a", "4");
  EXPECT_EQ(ada.take(), Texts{empty_result("4")});
  bench.settle();
  ASSERT_EQ(listens().size(), 1U);
  EXPECT_THAT(lines[1], HasSubstr(R"("resourceSubscriptions":["f:b"]}})"));
}

TEST_F(McpListeningSessions, TooManySubscriptionsAreRefused) {
  for (size_t i = 0; i < session::Subscriptions::kMaxPerSession; ++i) {
    ada.subscribe("u" + std::to_string(i));
  }
  ada.take();
  ada.subscribe("one more");
  EXPECT_THAT(ada.take().at(0), HasSubstr("too many subscriptions"));
  ada.subscribe(std::string(session::Subscriptions::kMaxKey + 1, 'x'));
  EXPECT_THAT(ada.take().at(0), HasSubstr("too long"));
  bob.subscribe("u1");
  EXPECT_EQ(bob.take(), Texts{empty_result()});
}

TEST_F(McpListeningSessions, StopListeningWhenTheyEnd) {
  const auto asked = listens();
  const size_t calls = bench.backend.calls();
  ada.close();
  EXPECT_THAT(child.take_lines(), testing::Contains(HasSubstr(R"("requestId":)" + asked[0].id)));
  EXPECT_EQ(bench.backend.calls(), calls - 1);
  bench.advance(seconds(10));
  EXPECT_TRUE(child.take_lines().empty());
}

TEST_F(McpListeningSessions, GoOnAtTheNextChild) {
  listens();
  child.exit(1);
  bench.advance(seconds(10));
  FakeChild& next = bench.child(1);
  next.start();
  next.answer(next.take_ids().at(0), std::string(kDiscovery));
  std::vector<Asked> asked;
  for (const std::string& line : next.take_lines()) asked.push_back(parse_asked(line));
  ASSERT_EQ(asked.size(), 2U);
  next.say(note("tools/list_changed", tag(asked[0].id)));
  EXPECT_EQ(ada.take().size() + bob.take().size(), 1U);
}

// The gateway's own request nests the client's capabilities deeper than the client's message did.
TEST_F(McpListeningSessions, TakeCapabilitiesAsDeepAsAMessageMayBe) {
  listens();
  constexpr size_t kAbove = 4;  // the message, params, capabilities, sampling
  const size_t depth = config::LimitsConfig().depth - kAbove;
  const std::string nested = std::string(depth, '[') + std::string(depth, ']');
  SharedClient deep(bench);
  deep.request("initialize",
               McpModernSessions::greeting("c", R"({"sampling":{"x":)" + nested + "}}"));
  bench.settle();
  const auto says_it = HasSubstr(R"("sampling":{"x":)" + nested);
  EXPECT_THAT(child.take_lines(), testing::ElementsAre(says_it));
  child.exit(1);
  bench.advance(seconds(10));
  FakeChild& next = bench.child(1);
  next.start();
  next.answer(next.take_ids().at(0), std::string(kDiscovery));
  EXPECT_THAT(next.take_lines(), testing::AllOf(testing::SizeIs(3), testing::Contains(says_it)));
}

// If a child has ended the stream, the gateway asks again. If a child knows no such request, the
// gateway does not.
TEST_F(McpListeningSessions, AreContentWithWhatTheChildSays) {
  const auto asked = listens();
  child.answer(asked[0].id, R"({"resultType":"complete"})");
  child.say(R"({"jsonrpc":"2.0","id":)" + asked[1].id +
            R"(,"error":{"code":-32601,"message":"no"}})");
  EXPECT_TRUE(listens().empty());
  bench.advance(std::chrono::minutes(10));
  EXPECT_EQ(listens().size(), 1U);
  EXPECT_TRUE(ada.take().empty());
}

TEST_F(McpModernSessions, ErrorsThatTheClientDoesNotKnowAreInternal) {
  for (const int code : {-32020, -32021, -32022}) {
    const std::string id = parse_asked(line_of(session)).id;
    child.say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"error":{"code":)" + std::to_string(code) +
              R"(,"message":"no"}})");
    EXPECT_EQ(session.take(),
              Texts{R"({"jsonrpc":"2.0","id":8,"error":{"code":-32603,"message":"no"}})"});
  }
  EXPECT_EQ(bench.observer.records.back().outcome, "error");
}

TEST_F(McpModernSessions, AResultThatAsksForInputIsAnError) {
  const std::string id = parse_asked(line_of(session)).id;
  child.answer(id, R"({"resultType":"input_required","requestState":"x"})");
  EXPECT_THAT(session.take().at(0), HasSubstr(R"("id":8,"error":{"code":-32603)"));
  EXPECT_EQ(bench.observer.records.back().outcome, "error");
}

}  // namespace
}  // namespace stdgate::test
