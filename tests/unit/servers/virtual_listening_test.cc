// Clients of the modern era that listen at a virtual server, and the members at which the server
// listens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "gateway/servers/listening.h"
#include "gateway/servers/member.h"
#include "tests/unit/servers/server_bench.h"

namespace stdgate::test {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// `client` listens for updates of the resource x:1.
void listen(ServerBench& bench, FakeClient& client) {
  bench.send(
      client,
      R"({"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":)"
      R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"notifications":{)"
      R"("resourceSubscriptions":["x:1"]}}})",
      PeerKind::stateless);
  bench.advance(milliseconds(1));
}

ScriptedMember::Script member_with_resource() {
  return with_tool("t",
                   {{"subscriptions/listen", ""},
                    {"resources/list", R"("result":{"resources":[{"name":"x","uri":"x:1"}]})"}});
}

TEST(VirtualServerListening, AsksTheMemberThatHasTheResource) {
  ServerBench bench({"a", "b"});
  bench.member(0).script = with_tool("t", {{"subscriptions/listen", ""}});
  bench.member(1).script = member_with_resource();
  FakeClient client(bench.callers);
  listen(bench, client);
  EXPECT_THAT(bench.member(0).methods(), Not(Contains("subscriptions/listen")));
  EXPECT_THAT(bench.member(1).methods(), Contains("subscriptions/listen"));
  bench.server->cancel_calls_of(client.caller());
}

TEST(VirtualServerListening, IsACallInFlight) {
  ServerBench bench({"a"});
  bench.member(0).script = member_with_resource();
  FakeClient of_lists(bench.callers);
  FakeClient of_resource(bench.callers);
  bench.send(of_lists,
             R"({"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{},)"
             R"("notifications":{"toolsListChanged":true}}})",
             PeerKind::stateless);
  EXPECT_EQ(bench.server->status().in_flight, 1U);
  listen(bench, of_resource);
  EXPECT_EQ(bench.server->status().in_flight, 2U);
  bench.server->cancel_calls_of(of_lists.caller());
  bench.server->cancel_calls_of(of_resource.caller());
  EXPECT_EQ(bench.server->status().in_flight, 0U);
}

TEST(VirtualServerListening, HearsOfAsManyResourcesAsTheLimit) {
  ServerBench bench({"a"});
  bench.member(0).script =
      with_tool("t", {{"subscriptions/listen", ""},
                      {"resources/templates/list",
                       R"("result":{"resourceTemplates":[{"name":"x","uriTemplate":"x:{id}"}]})"}});
  FakeClient client(bench.callers);
  std::string uris = R"("x:)" + std::string(servers::Listening::kMaxUri, 'x') + "\"";
  for (size_t i = 0; i <= servers::Listening::kMaxUris; ++i) {
    uris += R"(,"x:)" + std::to_string(i) + "\"";
  }
  bench.send(client,
             R"({"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{},)"
             R"("notifications":{"resourceSubscriptions":[)" +
                 uris + "]}}}",
             PeerKind::stateless);
  bench.advance(milliseconds(1));
  const std::string& asked = bench.member(0).asked.back().params;
  EXPECT_THAT(asked, HasSubstr(R"("x:0")"));
  EXPECT_THAT(asked, HasSubstr(R"("x:255")"));
  EXPECT_THAT(asked, Not(HasSubstr(R"("x:256")")));
  EXPECT_THAT(asked, Not(HasSubstr("xxxx")));
  bench.server->cancel_calls_of(client.caller());
  EXPECT_EQ(bench.account->used(), 0U);
}

TEST(VirtualServerListening, GoesOnWhenAMemberHasLostItsEnd) {
  ServerBench bench({"a"});
  bench.member(0).script = member_with_resource();
  FakeClient client(bench.callers);
  listen(bench, client);
  const auto listens = [&] {
    return std::ranges::count(bench.member(0).methods(), "subscriptions/listen");
  };
  ASSERT_EQ(listens(), 1);
  bench.member(0).fail(*std::ranges::find(bench.member(0).asked, "subscriptions/listen",
                                          &ScriptedMember::Asked::method));
  bench.advance(seconds(10));
  EXPECT_EQ(listens(), 2);
  bench.server->cancel_calls_of(client.caller());
  bench.advance(seconds(60));
  EXPECT_EQ(listens(), 2);
}

TEST(VirtualServerListening, AsksTheMembersThatHaveGivenTheTasks) {
  ServerBench bench({"a", "b"});
  for (const size_t i : {0, 1}) {
    bench.member(i).script =
        with_tool("t", {{"subscriptions/listen", ""},
                        {"tools/call", R"("result":{"task":{"taskId":"1","status":"working"}})"}});
  }
  bench.ask("tools/call", R"({"name":"a_t"})", PeerKind::stateless);
  bench.ask("tools/call", R"({"name":"b_t"})", PeerKind::stateless);
  FakeClient client(bench.callers);
  bench.send(client,
             R"({"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{},)"
             R"("notifications":{"taskIds":["1.b","never",7]}}})",
             PeerKind::stateless);
  bench.advance(milliseconds(1));
  ASSERT_EQ(client.events.size(), 1U);
  EXPECT_THAT(client.events[0].second, HasSubstr(R"("notifications":{"taskIds":["1.b"]})"));
  EXPECT_THAT(bench.member(0).methods(), Not(Contains("subscriptions/listen")));
  EXPECT_THAT(bench.member(1).asked.back().params,
              HasSubstr(R"("notifications":{"taskIds":["1"]})"));
  bench.member(1).say_of(
      "subscriptions/listen",
      R"({"jsonrpc":"2.0","method":"notifications/tasks","params":{"_meta":)"
      R"({"io.modelcontextprotocol/subscriptionId":1},"taskId":"1","status":"completed"}})");
  ASSERT_EQ(client.events.size(), 2U);
  EXPECT_THAT(client.events[1].second, HasSubstr(R"("taskId":"1.b","status":"completed")"));
  bench.server->cancel_calls_of(client.caller());
  EXPECT_EQ(bench.server->calls(), 0U);
  EXPECT_EQ(bench.account->used(), 0U);
}

TEST(VirtualServerListening, TasksThatReadersCouldSeeDifferentlyAreRefused) {
  ServerBench bench({"a"});
  bench.member(0).script = with_tool("t");
  EXPECT_THAT(bench.ask("subscriptions/listen",
                        R"({"_meta":{},"notifications":{"taskIds":["1"],"task\u0049ds":["2"]}})",
                        PeerKind::stateless),
              HasSubstr("-32602"));
}

// A member of the modern era reports changes only to a client that listens.
TEST(VirtualServerListening, AMemberThatDiedIsListenedToAgain) {
  ServerBench bench({"a"});
  bench.member(0).script = with_tool("t", {{"subscriptions/listen", ""}});
  bench.member(0).peer_kind = PeerKind::stateless;
  FakeSession session(bench.callers);
  bench.open(session);
  bench.send(session, R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  bench.advance(milliseconds(1));
  const auto listens = [&] {
    return std::ranges::count(bench.member(0).methods(), "subscriptions/listen");
  };
  ASSERT_EQ(listens(), 1);
  const auto fail = [&] {
    bench.member(0).fail(*std::ranges::find(bench.member(0).asked.rbegin(),
                                            bench.member(0).asked.rend(), "subscriptions/listen",
                                            &ScriptedMember::Asked::method));
  };
  fail();
  bench.advance(servers::Member::kRest - milliseconds(1));
  EXPECT_EQ(listens(), 1);
  bench.advance(milliseconds(1));
  EXPECT_EQ(listens(), 2);
  bench.server->close_session(session.id, {});
  bench.advance(seconds(60));
  EXPECT_EQ(listens(), 2);
}

// An open session alone does not keep a server running.
TEST(VirtualServerListening, AMemberSleepsWhileNoClientListens) {
  ServerBench bench({"a"});
  ScriptedMember& member = bench.member(0);
  member.script = with_tool("t", {{"subscriptions/listen", ""}});
  member.peer_kind = PeerKind::stateless;
  member.is_asleep = true;
  FakeSession session(bench.callers);
  bench.open(session);
  bench.send(session, R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  bench.advance(milliseconds(1));
  const auto listens = [&] { return std::ranges::count(member.methods(), "subscriptions/listen"); };
  EXPECT_EQ(listens(), 0);
  member.is_asleep = false;
  member.watches().tell_awake();
  EXPECT_EQ(listens(), 1);
  EXPECT_EQ(member.watches().resting(), 1U);
  member.watches().tell_sleep();
  EXPECT_EQ(member.watches().resting(), 0U);
  bench.advance(seconds(60));
  EXPECT_EQ(listens(), 1);

  member.is_asleep = true;
  FakeClient client(bench.callers);
  bench.send(client,
             R"({"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{},)"
             R"("notifications":{"toolsListChanged":true}}})",
             PeerKind::stateless);
  bench.advance(milliseconds(1));
  EXPECT_EQ(listens(), 2);
  EXPECT_EQ(member.watches().resting(), 0U);
  member.is_asleep = false;
  bench.server->cancel_calls_of(client.caller());
  bench.advance(Duration{0});
  EXPECT_EQ(member.watches().resting(), 0U) << "it rests since it was told to";
}

}  // namespace

// Calls at members when their client leaves, the member is replaced, or the server ends.

namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;

TEST(VirtualServerLeaving, EndsCallsAndListeningWhereEachPrincipalHasItsOwn) {
  ServerBench bench({"each"});
  policy::Principal ada;
  ada.name = "ada";
  bench.principal = std::make_shared<const policy::Principal>(ada);
  bench.member(0).script =
      with_tool("t", {{"tools/call", ""}, {"subscriptions/listen", ""}});  // both stay open
  const auto cancelled = [&] {
    return std::ranges::count_if(bench.member(0).notes, [](const std::string& note) {
      return note.find("notifications/cancelled") != std::string::npos;
    });
  };
  EXPECT_EQ(bench.ask("tools/call", R"({"name":"each_t"})"), "");
  EXPECT_THAT(bench.member(0).methods(), Contains("tools/call"));
  EXPECT_EQ(cancelled(), 1);
  EXPECT_EQ(
      bench.ask("subscriptions/listen", R"({"notifications":{"resourceSubscriptions":["x:1"]}})",
                PeerKind::stateless),
      "");
  EXPECT_THAT(bench.member(0).methods(), Contains("subscriptions/listen"));
  EXPECT_EQ(cancelled(), 2);
}

// Over WebSocket, a connection that is a session may also send calls of the modern era.
TEST(VirtualServerLeaving, ASessionTakesModernCallsOfItsConnectionAlong) {
  ServerBench bench({"a"});
  bench.member(0).script =
      with_tool("t", {{"tools/call", ""}, {"subscriptions/listen", ""}});  // both stay open
  FakeSession session(bench.callers);
  session.listens = true;
  bench.open(session);
  const auto send = [&](std::string text) {
    rpc::EnvelopeParser parser(bench.server->envelope_limits());
    call::CallContext context;
    context.caller = session.caller();
    context.peer_kind = PeerKind::stateless;
    context.arrived = bench.clock.now();
    context.wants_events = true;
    bench.server->accept(parser.parse(text).value().messages[0], context);
    for (int i = 0; i < 10; ++i) bench.advance(Duration{0});
  };
  const size_t ended = bench.observer.records.size();
  send(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a_t"}})");
  send(R"({"jsonrpc":"2.0","id":8,"method":"subscriptions/listen","params":)"
       R"({"notifications":{"resourceSubscriptions":["x:1"]}}})");
  EXPECT_EQ(bench.observer.records.size(), ended);
  bench.server->close_session(session.id, {});
  EXPECT_EQ(bench.observer.records.size(), ended + 2);
  EXPECT_EQ(bench.server->calls(), 0U);
}

// The calls' caller ends with the server. A backend that a reload has replaced may end later.
TEST(VirtualServerOwnCalls, TheyEndAtABackendThatIsReplaced) {
  ServerBench bench({"a"});
  bench.ask("tools/list");  // the request is not answered
  ScriptedMember& former = bench.member(0);
  ASSERT_THAT(former.methods(), Contains("tools/list"));
  const backend::Upstreams none;
  bench.server->attach(none, bench.config);
  EXPECT_THAT(former.left, Contains(former.asked.front().caller));
}

TEST(VirtualServerOwnCalls, AServerThatEndsMakesNoNewOnes) {
  ServerBench bench({"a"});
  bench.ask("tools/list");
  bench.server->drain();
  ScriptedMember& member = bench.member(0);
  EXPECT_THAT(member.left, Contains(member.asked.front().caller));
  const size_t asked = member.asked.size();
  bench.advance(seconds(60));
  EXPECT_THAT(bench.ask("prompts/list"), HasSubstr("shutting down"));
  EXPECT_EQ(member.asked.size(), asked);
}

}  // namespace

}  // namespace stdgate::test
