// A virtual server over members in memory: which member a request is sent to, and what happens when
// that member fails.
#include "gateway/servers/virtual_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/servers/server_bench.h"

namespace stdgate::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char* kNoSuch = R"("error":{"code":-32002,"message":"Resource not found"})";
constexpr const char* kHere = R"("result":{"contents":[{"uri":"x:1","text":"HERE"}]})";

std::string read_params(const std::string& uri) { return R"({"uri":")" + uri + "\"}"; }

std::string use(ServerBench& bench, const std::string& tool) {
  return bench.ask("tools/call", R"({"name":")" + tool + R"(","arguments":{}})");
}

// --- The chain -----------------------------------------------------------------------------------

TEST(VirtualServerChain, HasTheFiltersOfEveryUpstreamInTheirOrder) {
  config::ServerConfig own;
  own.calls.in_flight = 5;
  EXPECT_THAT(ServerBench({"a"}, own).server->filters(),
              ElementsAre("names", "capacity", "quota", "rules", "trace", "members"));
  EXPECT_THAT(ServerBench({"a"}).server->filters(),
              ElementsAre("names", "capacity", "rules", "trace", "members"));
}

TEST(VirtualServerChain, ANotificationWithTheMethodOfARequestReachesNoMember) {
  ServerBench bench({"own"});
  bench.member(0).script = with_tool("t");
  FakeSession session(bench.callers);
  bench.open(session);
  const std::string named = R"("params":{"name":"own_t","arguments":{}}})";
  bench.send(session, R"({"jsonrpc":"2.0","id":2,"method":"tools/call",)" + named);
  for (int i = 0; i < 10; ++i) bench.advance(Duration{0});
  bench.send(session, R"({"jsonrpc":"2.0","method":"tools/call",)" + named);
  bench.send(session, R"({"jsonrpc":"2.0","method":"notifications/roots/list_changed"})");
  EXPECT_THAT(bench.member(0).notes, Contains(HasSubstr("roots/list_changed")));
  EXPECT_THAT(bench.member(0).notes, Not(Contains(HasSubstr("tools/call"))));
}

// --- Resources -----------------------------------------------------------------------------------

TEST(VirtualServerResources, AMemberThatFailsDoesNotHideThoseAfterIt) {
  ServerBench bench({"bad", "good"});
  bench.member(0).script = [&](const auto& asked) {
    if (asked.method != "resources/read") return with_tool("t")(asked);
    bench.member(0).fail(asked);
    return std::string();
  };
  bench.member(1).script = with_tool("t", {{"resources/read", kHere}});
  EXPECT_THAT(bench.ask("resources/read", read_params("x:1")), HasSubstr("HERE"));
  // If no other member knows the resource, the failed member may have it.
  bench.member(1).script = with_tool("t", {{"resources/read", kNoSuch}});
  EXPECT_THAT(bench.ask("resources/read", read_params("x:1")), Not(HasSubstr("not found")));
}

TEST(VirtualServerResources, AMemberWithoutResourcesIsNotAsked) {
  ServerBench bench({"none", "good"});
  bench.member(0).script = with_tool(
      "t",
      {{"initialize", R"("result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},)"
                      R"("serverInfo":{"name":"m","version":"1"}})"}});
  bench.member(1).script = with_tool("t", {{"resources/read", kHere}});
  bench.ask("tools/list");  // also asks for the members' capabilities
  EXPECT_THAT(bench.ask("resources/read", read_params("x:1")), HasSubstr("HERE"));
  EXPECT_THAT(bench.member(0).methods(), Not(Contains("resources/read")));
}

// A link does not take reads from the member whose template covers the URI.
TEST(VirtualServerResources, ALinkTakesNothingFromAnotherMembersTemplate) {
  ServerBench bench({"liar", "owner"});
  const auto link = [](const std::string& uri) {
    return R"("result":{"content":[{"type":"resource_link","name":"x","uri":")" + uri + "\"}]}";
  };
  bench.member(0).script = with_tool("t", {{"tools/call", link("x:1")}, {"resources/read", kHere}});
  bench.member(1).script =
      with_tool("t", {{"resources/templates/list",
                       R"("result":{"resourceTemplates":[{"name":"x","uriTemplate":"x:{id}"}]})"},
                      {"resources/read", R"("result":{"contents":[{"uri":"x:1","text":"OWN"}]})"}});
  use(bench, "liar_t");
  EXPECT_THAT(bench.ask("resources/read", read_params("x:1")), HasSubstr("OWN"));
  // A URI that no other member has belongs to the member that links to it.
  bench.member(0).script = with_tool("t", {{"tools/call", link("y:1")}, {"resources/read", kHere}});
  use(bench, "liar_t");
  EXPECT_THAT(bench.ask("resources/read", read_params("y:1")), HasSubstr("HERE"));
}

TEST(VirtualServerResources, LinksAreKeptUpToALength) {
  ServerBench bench({"a"});
  bench.member(0).script = [&](const auto& asked) {
    if (asked.method != "tools/call") return with_tool("t")(asked);
    return R"("result":{"content":[{"type":"resource_link","name":"x","uri":"x:)" +
           std::string(size_t{1} << 20, 'x') + std::to_string(bench.member(0).asked.size()) +
           "\"}]}";
  };
  use(bench, "a_t");
  const size_t before = bench.account->used();
  for (int i = 0; i < 100; ++i) use(bench, "a_t");
  EXPECT_EQ(bench.account->used(), before);
  EXPECT_LT(bench.services.payer_of(BackendId{0}).held->total(), size_t{1} << 16);
}

// --- Names ---------------------------------------------------------------------------------------

// The rules and pins of a member know the member's own names only.
TEST(VirtualServerNames, ARefusalNamesWhatTheClientHasNamed) {
  ServerBench bench({"a"});
  bench.member(0).script =
      with_tool("t", {{"prompts/list", R"("result":{"prompts":[{"name":"p"}]})"},
                      {"tools/call", R"("error":{"code":-32602,"message":"Unknown tool: t"})"},
                      {"prompts/get", R"("error":{"code":-32602,"message":"Unknown prompt: p"})"}});
  EXPECT_THAT(use(bench, "a_t"), HasSubstr(R"("message":"Unknown tool: a_t")"));
  EXPECT_THAT(bench.ask("prompts/get", R"({"name":"a_p"})"),
              HasSubstr(R"("message":"Unknown prompt: a_p")"));
}

TEST(VirtualServerNames, ACallWithoutANameIsToldSo) {
  ServerBench bench({"a"});
  bench.member(0).script = with_tool("t");
  EXPECT_THAT(bench.ask("tools/call"),
              HasSubstr(R"("message":"params.name is missing: the tool to call")"));
}

// --- Tasks ---------------------------------------------------------------------------------------

TEST(VirtualServerTasks, TheSameIdOfTwoMembersIsEachSessionsOwn) {
  ServerBench bench({"a", "b"});
  const std::string task = R"("result":{"task":{"taskId":"1","status":"working"}})";
  for (const size_t i : {0, 1}) {
    bench.member(i).script = with_tool(
        "t", {{"tools/call", task},
              {"tasks/get", R"("result":{"taskId":"1","of":")" + bench.member(i).name() + "\"}"}});
  }
  FakeSession ada(bench.callers);
  FakeSession bob(bench.callers);
  bench.open(ada);
  bench.open(bob);
  const auto say = [&](FakeSession& session, const std::string& method, const std::string& params) {
    bench.send(session,
               R"({"jsonrpc":"2.0","id":5,"method":")" + method + R"(","params":)" + params + "}");
    bench.advance(milliseconds(1));
    return session.take();
  };
  say(ada, "tools/call", R"({"name":"a_t","arguments":{}})");
  say(bob, "tools/call", R"({"name":"b_t","arguments":{}})");
  EXPECT_THAT(say(ada, "tasks/get", R"({"taskId":"1"})"), Contains(HasSubstr(R"("of":"a")")));
  EXPECT_THAT(say(bob, "tasks/get", R"({"taskId":"1"})"), Contains(HasSubstr(R"("of":"b")")));
  EXPECT_THAT(say(bob, "tasks/get", R"({"taskId":"2"})"), Contains(HasSubstr("Task not found")));
  EXPECT_THAT(say(bob, "tasks/list", "{}"), Contains(HasSubstr("-32601")));
}

// Two members that number their tasks in the same way.
TEST(VirtualServerTasks, TheSameIdOfTwoMembersIsTwoTasks) {
  ServerBench bench({"a", "b"});
  for (const size_t i : {0, 1}) {
    bench.member(i).script = with_tool(
        "t", {{"tools/call", R"("result":{"task":{"taskId":"1","status":"working"}})"},
              {"tasks/get", R"("result":{"taskId":"1","of":")" + bench.member(i).name() + "\"}"},
              {"tasks/result",
               R"("result":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"1"}}})"}});
  }
  FakeSession session(bench.callers);
  bench.open(session);
  const auto say = [&](const std::string& method, const std::string& params) {
    bench.send(session,
               R"({"jsonrpc":"2.0","id":5,"method":")" + method + R"(","params":)" + params + "}");
    bench.advance(milliseconds(1));
    return session.take();
  };
  EXPECT_THAT(say("tools/call", R"({"name":"a_t"})"), Contains(HasSubstr(R"("taskId":"1")")));
  EXPECT_THAT(say("tools/call", R"({"name":"b_t"})"), Contains(HasSubstr(R"("taskId":"1.b")")));
  EXPECT_THAT(say("tasks/get", R"({"taskId":"1"})"),
              Contains(HasSubstr(R"({"taskId":"1","of":"a"})")));
  EXPECT_THAT(say("tasks/get", R"({"taskId":"1.b"})"),
              Contains(HasSubstr(R"({"taskId":"1.b","of":"b"})")));
  EXPECT_EQ(bench.member(1).asked.back().params, R"({"taskId":"1"})");
  EXPECT_THAT(say("tasks/result", R"({"taskId":"1.b"})"),
              Contains(HasSubstr(R"(related-task":{"taskId":"1.b"})")));
  bench.member(1).say(
      R"({"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"1"}})");
  EXPECT_THAT(session.take(), Contains(HasSubstr(R"("params":{"taskId":"1.b"})")));
}

// Without sessions, only the principal tells the clients' tasks apart.
TEST(VirtualServerTasks, AreTheirPrincipalsOwn) {
  ServerBench bench({"a"});
  bench.member(0).script =
      with_tool("t", {{"tools/call", R"("result":{"task":{"taskId":"1","status":"working"}})"},
                      {"tasks/get", R"("result":{"taskId":"1"})"}});
  const auto as = [&](const char* name) {
    policy::Principal principal;
    principal.name = name;
    bench.principal = std::make_shared<const policy::Principal>(principal);
  };
  as("ada");
  bench.ask("tools/call", R"({"name":"a_t"})", PeerKind::stateless);
  EXPECT_THAT(bench.ask("tasks/get", R"({"taskId":"1"})", PeerKind::stateless),
              HasSubstr("result"));
  as("bob");
  EXPECT_THAT(bench.ask("tasks/get", R"({"taskId":"1"})", PeerKind::stateless),
              HasSubstr("Task not found"));
  bench.principal = nullptr;
  EXPECT_THAT(bench.ask("tasks/get", R"({"taskId":"1"})", PeerKind::stateless),
              HasSubstr("Task not found"));
}

TEST(VirtualServerTasks, NoListOfTasksIsPromised) {
  ServerBench bench({"a"});
  bench.member(0).script = with_tool(
      "t", {{"initialize",
             R"("result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":)"
             R"({"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},)"
             R"("serverInfo":{"name":"m","version":"1"}})"}});
  bench.ask("tools/list");
  const std::string greeting = bench.ask("initialize", R"({"protocolVersion":"2025-11-25"})");
  EXPECT_THAT(greeting, HasSubstr(R"("tasks":{"cancel":{},"requests":{"tools":{"call":{}}}})"));
}

// --- Questions -----------------------------------------------------------------------------------

TEST(VirtualServerQuestions, NameTheMemberInBothEras) {
  ServerBench bench({"a"});
  bench.member(0).script = with_tool(
      "t",
      {{"tools/call",
        R"("result":{"resultType":"input_required","requestState":"s","inputRequests":{)"
        R"("one":{"method":"roots/list"},)"
        R"("two":{"method":"elicitation/create","params":{"_meta":{"x":1},"message":"?"}}}})"}});
  const std::string answer =
      bench.ask("tools/call",
                R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},)"
                R"("name":"a_t","arguments":{}})",
                PeerKind::stateless);
  EXPECT_THAT(answer, HasSubstr(R"("one":{"method":"roots/list",)"
                                R"("params":{"_meta":{"stdgate/member":"a"}}})"));
  EXPECT_THAT(answer,
              HasSubstr(R"("params":{"_meta":{"x":1,"stdgate/member":"a"},"message":"?"})"));

  FakeSession session(bench.callers);
  bench.open(session);
  bench.member(0).script = with_tool("t");
  bench.send(session, R"({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a_t"}})");
  bench.advance(milliseconds(1));
  session.take();
  bench.member(0).say(R"({"jsonrpc":"2.0","id":77,"method":"roots/list"})");
  EXPECT_THAT(session.take(), Contains(HasSubstr(R"("_meta":{"stdgate/member":"a"})")));
  bench.send(session, R"({"jsonrpc":"2.0","id":1,"result":{"roots":[]}})");
  EXPECT_THAT(bench.member(0).notes,
              Contains(R"({"jsonrpc":"2.0","id":77,"result":{"roots":[]}})"));
}

// --- Sessions ------------------------------------------------------------------------------------

// A session that began in another process passes its client's settings on to its parts.
TEST(VirtualServerSessions, AnAdoptedSessionTellsItsPartsTheLevel) {
  ServerBench bench({"a"});
  bench.member(0).script = with_tool("t");
  FakeSession session(bench.callers);
  bench.open(session, {R"({"protocolVersion":"2025-11-25","capabilities":{}})", "2025-11-25", {}});
  bench.send(session,
             R"({"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}})");
  bench.send(session, R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a_t"}})");
  bench.advance(milliseconds(1));
  EXPECT_THAT(bench.member(0).methods(), Contains("logging/setLevel"));
}

TEST(VirtualServerSessions, CallsThatWaitForAPartAreCharged) {
  ServerBench bench({"own"});
  bench.member(0).script = with_tool("t", {{"initialize", ""}});
  bench.ask("tools/list");
  FakeSession session(bench.callers);
  bench.open(session);
  const size_t before = bench.account->used();
  bench.send(session, R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"own_t",)"
                      R"("arguments":{"x":")" +
                          std::string(100'000, 'x') + R"("}}})");
  bench.advance(milliseconds(1));
  EXPECT_GT(bench.account->used(), before + 100'000);
  bench.server->close_session(session.id, {});
  EXPECT_LE(bench.account->used(), before);
}

// --- Subscriptions -------------------------------------------------------------------------------

class VirtualServerSubscriptions : public testing::Test {
 protected:
  VirtualServerSubscriptions() {
    bench_.member(0).script =
        with_tool("t", {{"resources/templates/list",
                         R"("result":{"resourceTemplates":[{"name":"x","uriTemplate":"x:{id}"}]})"},
                        {"resources/subscribe", R"("result":{})"},
                        {"resources/unsubscribe", R"("result":{})"}});
    bench_.open(session_);
    subscribe("x:0");
  }

  std::string subscribe(const std::string& uri, const std::string& what = "subscribe") {
    bench_.send(session_, R"({"jsonrpc":"2.0","id":5,"method":"resources/)" + what +
                              R"(","params":{"uri":")" + uri + R"("}})");
    bench_.advance(milliseconds(1));
    std::string all;
    for (const std::string& text : session_.take()) all += text + "\n";
    return all;
  }

  ServerBench bench_{{"a"}};
  FakeSession session_{bench_.callers};
};

TEST_F(VirtualServerSubscriptions, AreAsManyAsTheLimit) {
  for (size_t i = 1; i < servers::VirtualSession::kMaxSubscriptions; ++i) {
    ASSERT_THAT(subscribe("x:" + std::to_string(i)), HasSubstr(R"("result":{})")) << i;
  }
  const size_t asked = bench_.member(0).asked.size();
  EXPECT_THAT(subscribe("x:more"), HasSubstr("too many subscriptions"));
  EXPECT_EQ(bench_.member(0).asked.size(), asked);
  EXPECT_THAT(subscribe("x:7"), HasSubstr(R"("result":{})"));  // already subscribed
  EXPECT_THAT(subscribe("x:7", "unsubscribe"), HasSubstr(R"("result":{})"));
  EXPECT_THAT(subscribe("x:more"), HasSubstr(R"("result":{})"));
}

TEST_F(VirtualServerSubscriptions, AreChargedToTheClient) {
  const size_t before = bench_.account->used();
  const std::string uri = "x:" + std::string(session::Subscriptions::kMaxKey - 2, 'x');
  EXPECT_THAT(subscribe(uri), HasSubstr(R"("result":{})"));
  EXPECT_GT(bench_.account->used(), before + session::Subscriptions::kMaxKey);
  EXPECT_THAT(subscribe(uri + "x"), HasSubstr("too many subscriptions"));
  EXPECT_THAT(subscribe(uri, "unsubscribe"), HasSubstr(R"("result":{})"));
  EXPECT_EQ(bench_.account->used(), before);
  const size_t most = servers::VirtualSession::kMaxSubscriptionBytes / uri.size();
  size_t granted = 0;
  for (size_t i = 0; i < most + 10; ++i) {
    std::string one = uri;
    one.replace(2, 4, std::to_string(1000 + i));
    granted += subscribe(one).find("result") == std::string::npos ? 0 : 1;
  }
  EXPECT_EQ(granted, most - 1);  // beside the first subscription
}

// --- Search --------------------------------------------------------------------------------------

// Only the child of one session has this tool.
TEST(VirtualServerSearch, FindsWhatWhoAsksMayUse) {
  config::ServerConfig config;
  config.expose.is_search = true;
  ServerBench bench({"own"}, config);
  bench.member(0).script = [](const auto& asked) {
    return with_tool(asked.session.is_none() ? "usual" : "extra")(asked);
  };
  FakeSession session(bench.callers);
  bench.open(session);
  const auto say = [&](const std::string& name, const std::string& arguments) {
    bench.send(session, R"({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":")" +
                            name + R"(","arguments":)" + arguments + "}}");
    bench.advance(milliseconds(100));
    return session.take();
  };
  say("own_usual", "{}");  // opens the session's part
  const std::string words = R"({"query":"own usual extra"})";
  const std::string find = R"({"name":"find_tool","arguments":)" + words + "}";
  EXPECT_THAT(bench.ask("tools/call", find),
              AllOf(HasSubstr("own_usual"), Not(HasSubstr("extra"))));
  EXPECT_THAT(say("find_tool", words),
              Contains(AllOf(HasSubstr("own_extra"), Not(HasSubstr("own_usual")))));
  EXPECT_THAT(bench.ask("tools/call", find),
              AllOf(HasSubstr("own_usual"), Not(HasSubstr("extra"))));
}

// Otherwise the member would receive calls that are meant for other members.
TEST(VirtualServerSearch, AMembersToolHasNoneOfItsNames) {
  config::ServerConfig config;
  config.expose.is_search = true;
  config.members.emplace_back().backend = "a";  // without a prefix
  ServerBench bench({"a"}, config);
  bench.member(0).script = with_tool("call_tool");
  for (const char* const arguments :
       {R"({})", R"({"name":"x","name":"y"})", R"({"name":"call_tool","arguments":{}})"}) {
    EXPECT_THAT(bench.ask("tools/call",
                          R"({"name":"call_tool","arguments":)" + std::string(arguments) + "}"),
                HasSubstr("call_tool calls another tool: its argument `name` is"))
        << arguments;
  }
  EXPECT_THAT(bench.member(0).methods(), Not(Contains("tools/call")));
}

TEST(VirtualServerSearch, ASearchForNothingIsTold) {
  config::ServerConfig config;
  config.expose.is_search = true;
  ServerBench bench({"a"}, config);
  bench.member(0).script = with_tool("t");
  EXPECT_THAT(bench.ask("tools/call", R"({"name":"find_tool","arguments":{}})"),
              HasSubstr("find_tool needs the argument `query`: some words"));
}

// The list waits only for members that may have a pinned tool.
TEST(VirtualServerSearch, TheListWaitsForThoseWithPinnedTools) {
  config::ServerConfig config;
  config.expose.is_search = true;
  config.expose.search.pin = {"good_t"};
  ServerBench bench({"good", "hung"}, config);
  bench.member(0).script = with_tool("t");
  bench.member(1).script = with_tool("t", {{"tools/list", ""}});
  const std::string list = bench.ask("tools/list");
  EXPECT_THAT(list, AllOf(HasSubstr("find_tool"), HasSubstr("good_t")));
  EXPECT_THAT(list, Not(HasSubstr("stdgate/missing")));
  EXPECT_THAT(bench.member(1).methods(), Contains("tools/list"));
  // A search needs all members.
  FakeClient client(bench.callers);
  bench.send(client, R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{)"
                     R"("name":"find_tool","arguments":{"query":"t"}}})");
  bench.advance(milliseconds(1));
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(VirtualServerSearch, TheListWaitsForAMemberThatMayHaveAPinnedTool) {
  config::ServerConfig config;
  config.expose.is_search = true;
  config.expose.search.pin = {"hung_t"};
  ServerBench bench({"good", "hung"}, config);
  bench.member(0).script = with_tool("t");
  bench.member(1).script = with_tool("t", {{"tools/list", ""}});
  EXPECT_EQ(bench.ask("tools/list"), "");
}

TEST(VirtualServerSearch, TheListWaitsForARequiredMember) {
  config::ServerConfig config;
  config.expose.is_search = true;
  config.members.emplace_back().backend = "hung";
  config.members.back().is_required = true;
  ServerBench bench({"hung"}, config);
  bench.member(0).script = with_tool("t", {{"tools/list", ""}});
  EXPECT_EQ(bench.ask("tools/list"), "");
}

// --- Memory --------------------------------------------------------------------------------------

TEST(VirtualServerMemory, ListsThatAreTheSameAreKeptOnce) {
  ServerBench bench({"own"});
  bench.member(0).script = with_tool(
      "t",
      {{"tools/list", R"("result":{"tools":[{"name":"t","description":")" +
                          std::string(100'000, 'x') + R"(","inputSchema":{"type":"object"}}]})"}});
  const auto held = [&] { return bench.services.payer_of(BackendId{0}).held->total(); };
  bench.ask("tools/list");
  EXPECT_GT(held(), 100'000U);
  const auto use_in = [&](FakeSession& session) {
    bench.open(session);
    bench.send(session,
               R"({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"own_t"}})");
    bench.advance(milliseconds(100));
    bench.send(session, R"({"jsonrpc":"2.0","id":6,"method":"tools/list"})");
    bench.advance(milliseconds(100));
  };
  FakeSession same(bench.callers);
  use_in(same);
  EXPECT_LT(held(), 150'000U);
  bench.member(0).script = with_tool(
      "t",
      {{"tools/list", R"("result":{"tools":[{"name":"t","description":")" +
                          std::string(100'000, 'y') + R"(","inputSchema":{"type":"object"}}]})"}});
  FakeSession other(bench.callers);
  use_in(other);
  EXPECT_GT(held(), 200'000U);
  EXPECT_GT(bench.account->used(), 100'000U);
  bench.server->close_session(same.id, {});
  bench.server->close_session(other.id, {});
  EXPECT_LT(held(), 150'000U);
}

// --- Late members --------------------------------------------------------------------------------

const std::string kList = R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})";

TEST(VirtualServerLists, AMemberThatHangsIsWaitedForOnce) {
  ServerBench bench({"good", "hung"});
  bench.member(0).script = with_tool("t");
  bench.member(1).script = with_tool("t", {{"tools/list", ""}});
  FakeClient client(bench.callers);
  bench.send(client, kList);
  bench.advance(seconds(14));
  EXPECT_THAT(client.answers, IsEmpty());
  bench.advance(seconds(2));
  EXPECT_THAT(client.answers, SizeIs(1));
  // The request is given up at its time and repeated, and no client waits for the repetition.
  for (const auto& asked : bench.member(1).asked) {
    if (asked.method == "tools/list") bench.member(1).fail(asked, rpc::Fault::timeout);
  }
  bench.advance(seconds(60));
  bench.send(client, kList);
  bench.advance(milliseconds(1));
  EXPECT_THAT(client.answers, SizeIs(2));
  EXPECT_THAT(client.answers.back().text, HasSubstr(R"("stdgate/missing":["hung"])"));
}

TEST(VirtualServerLists, ANameOfAMemberThatIsDownIsNotSaidToBeUnknown) {
  ServerBench bench({"good", "down"});
  bench.member(0).script = with_tool("t");
  bench.member(1).script = with_tool("t", {{"tools/list", ""}});
  FakeClient client(bench.callers);
  const auto call = [&](const char* tool) {
    bench.send(client, R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")" +
                           std::string(tool) + "\"}}");
    for (const ScriptedMember::Asked& asked : bench.member(1).asked) {
      if (asked.method == "tools/list") bench.member(1).fail(asked);
    }
    bench.advance(seconds(60));
    return client.answers.back().text;
  };
  EXPECT_THAT(call("down_t"), HasSubstr("the server 'down' cannot be asked what it has: " +
                                        rpc::faults::plain(rpc::Fault::child_failed).message));
  EXPECT_THAT(call("good_no"), HasSubstr("Unknown tool"));
  EXPECT_THAT(call("other_t"), HasSubstr("Unknown tool"));
}

TEST(VirtualServerLists, AMemberIsNotAskedForWhatItLacks) {
  ServerBench bench({"a"});
  bench.member(0).script = with_tool("t");
  bench.ask("tools/list");
  bench.advance(milliseconds(1));
  EXPECT_THAT(bench.ask("prompts/list"), HasSubstr(R"("prompts":[])"));
  EXPECT_THAT(bench.member(0).methods(), Not(Contains("prompts/list")));
  bench.ask("resources/list");
  EXPECT_THAT(bench.member(0).methods(), Contains("resources/list"));
}

TEST(VirtualServerLists, AMemberThatWasDownIsWaitedForAMoment) {
  ServerBench bench({"good", "down"});
  bench.member(0).script = with_tool("t");
  bench.member(1).script = with_tool("t", {{"tools/list", ""}});
  FakeClient client(bench.callers);
  const auto last_asked = [&] {
    const auto& asked = bench.member(1).asked;
    return *std::ranges::find(asked.rbegin(), asked.rend(), "tools/list",
                              &ScriptedMember::Asked::method);
  };
  bench.send(client, kList);
  bench.advance(seconds(9));  // the time in which npx finds that a package is missing
  bench.member(1).fail(last_asked());
  bench.advance(seconds(2));
  EXPECT_THAT(client.answers, SizeIs(1));
  bench.send(client, kList);
  bench.advance(servers::Member::kWaitIfDown - milliseconds(1));
  EXPECT_THAT(client.answers, SizeIs(1));
  bench.advance(milliseconds(1));
  EXPECT_THAT(client.answers, SizeIs(2));
  EXPECT_THAT(client.answers.back().text, HasSubstr(R"("stdgate/missing":["down"])"));
  // From then on no client waits, until the member has answered.
  bench.send(client, kList);
  bench.advance(milliseconds(1));
  EXPECT_THAT(client.answers, SizeIs(3));
  bench.member(1).answer(last_asked(), R"("result":{"tools":[]})");
  bench.advance(milliseconds(1));
  bench.send(client, kList);
  bench.advance(milliseconds(1));
  EXPECT_THAT(client.answers.back().text, Not(HasSubstr("stdgate/missing")));
}

}  // namespace
}  // namespace stdgate::test
