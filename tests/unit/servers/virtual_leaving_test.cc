// What becomes of calls at members when their client leaves, the member is replaced, or the server
// ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "tests/unit/servers/server_bench.h"

namespace stdgate::test {
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
      with_tool("t", {{"tools/call", ""}, {"subscriptions/listen", ""}});  // they stay open
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

// Over WebSocket, a connection that is a session may send calls of the modern era too.
TEST(VirtualServerLeaving, ASessionTakesModernCallsOfItsConnectionAlong) {
  ServerBench bench({"a"});
  bench.member(0).script =
      with_tool("t", {{"tools/call", ""}, {"subscriptions/listen", ""}});  // they stay open
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

// Their caller goes with the server, and a backend that a reload has replaced may go later.
TEST(VirtualServerOwnCalls, TheyEndAtABackendThatIsReplaced) {
  ServerBench bench({"a"});
  bench.ask("tools/list");  // which is not answered
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
