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
