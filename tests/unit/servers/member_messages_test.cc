// Messages of a virtual server's members beside their answers, and the resources of MCP Apps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "gateway/servers/virtual_server.h"
#include "tests/unit/servers/server_bench.h"

namespace stdgate::test {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ScriptedMember::Script with_resource(const std::string& uri) {
  return with_tool(
      "t", {{"resources/list", R"("result":{"resources":[{"name":"x","uri":")" + uri + R"("}]})"},
            {"subscriptions/listen", ""},
            {"resources/unsubscribe", R"("result":{})"}});
}

// A session that has used one of the members.
class MemberMessages : public testing::Test {
 protected:
  MemberMessages() {
    bench_.member(0).script = with_resource("x:1");
    bench_.member(1).script = with_resource("y:1");
    bench_.open(session_);
    use("a_t");
  }

  std::vector<std::string> say(const std::string& method, const std::string& params) {
    bench_.send(session_,
                R"({"jsonrpc":"2.0","id":5,"method":")" + method + R"(","params":)" + params + "}");
    bench_.advance(milliseconds(1));
    return session_.take();
  }
  void use(const std::string& tool) { say("tools/call", R"({"name":")" + tool + "\"}"); }
  std::string heard(size_t member, const std::string& text) {
    bench_.member(member).say(text);
    const std::vector<std::string> received = session_.take();
    return received.empty() ? "" : received.back();
  }

  ServerBench bench_{{"a", "b"}};
  FakeSession session_{bench_.callers};
};

// --- Logs ----------------------------------------------------------------------------------------

TEST_F(MemberMessages, LogsNameTheMemberBeforeItsLogger) {
  EXPECT_EQ(
      heard(0, R"({"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}})"),
      R"({"jsonrpc":"2.0","method":"notifications/message","params":{"logger":"a","data":1}})");
  EXPECT_EQ(heard(0, R"({"jsonrpc":"2.0","method":"notifications/message","params":)"
                     R"({"logger":"watcher","data":1}})"),
            R"({"jsonrpc":"2.0","method":"notifications/message","params":)"
            R"({"logger":"a/watcher","data":1}})");
}

// A client without a session receives the log as events of its call.
TEST_F(MemberMessages, LogsOfACallNameTheMemberToo) {
  bench_.member(1).script = with_tool("t", {{"tools/call", ""}});
  FakeClient client(bench_.callers);
  bench_.send(client, R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b_t"}})",
              PeerKind::stateless, 7);
  bench_.advance(milliseconds(1));
  bench_.member(1).say_of("tools/call", R"({"jsonrpc":"2.0","method":"notifications/message",)"
                                        R"("params":{"logger":"l","data":1}})");
  ASSERT_EQ(client.events.size(), 1U);
  EXPECT_EQ(client.events[0].first, 7U);
  EXPECT_THAT(client.events[0].second, HasSubstr(R"("logger":"b/l")"));
  bench_.server->cancel_calls_of(client.caller());
}

TEST_F(MemberMessages, ALevelReachesAllMembersAlsoLaterOnes) {
  say("logging/setLevel", R"({"level":"error"})");
  EXPECT_EQ(bench_.member(0).asked.back().method, "logging/setLevel");
  EXPECT_EQ(bench_.member(0).asked.back().params, R"({"level":"error"})");
  EXPECT_THAT(bench_.member(1).methods(), Not(Contains("logging/setLevel")));
  use("b_t");
  EXPECT_THAT(bench_.member(1).methods(), Contains("logging/setLevel"));
}

// --- Updates -------------------------------------------------------------------------------------

constexpr const char* kUpdated =
    R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"y:1"}})";

TEST_F(MemberMessages, AnUpdateReachesItsSubscriber) {
  EXPECT_THAT(say("resources/subscribe", R"({"uri":"y:1"})"), Contains(HasSubstr("result")));
  EXPECT_THAT(bench_.member(0).methods(), Not(Contains("resources/subscribe")));
  EXPECT_EQ(bench_.member(1).asked.back().params, R"({"uri":"y:1"})");
  EXPECT_EQ(heard(1, kUpdated), kUpdated);
}

// The member gets a new session, which the client does not notice.
TEST_F(MemberMessages, ASubscriptionOutlivesTheSessionAtTheMember) {
  say("resources/subscribe", R"({"uri":"y:1"})");
  const auto subscribed = [&] {
    return std::ranges::count(bench_.member(1).methods(), "resources/subscribe");
  };
  EXPECT_EQ(subscribed(), 1);
  bench_.member(1).lose_sessions();
  bench_.advance(milliseconds(1));
  use("b_t");
  EXPECT_EQ(subscribed(), 2);
  EXPECT_EQ(heard(1, kUpdated), kUpdated);
  say("resources/unsubscribe", R"({"uri":"y:1"})");
  bench_.member(1).lose_sessions();
  bench_.advance(milliseconds(1));
  use("b_t");
  EXPECT_EQ(subscribed(), 2);
}

TEST_F(MemberMessages, AnUpdateReachesAClientThatListens) {
  FakeClient client(bench_.callers);
  bench_.send(
      client,
      R"({"jsonrpc":"2.0","id":"mine","method":"subscriptions/listen","params":{"_meta":{},)"
      R"("notifications":{"resourceSubscriptions":["y:1","nobody:1"]}}})",
      PeerKind::stateless, 7);
  bench_.advance(milliseconds(1));
  ASSERT_EQ(client.events.size(), 1U);
  EXPECT_THAT(client.events[0].second, AllOf(HasSubstr("acknowledged"), HasSubstr(R"("y:1")")));
  bench_.member(1).say_of(
      "subscriptions/listen",
      R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{)"
      R"("_meta":{"io.modelcontextprotocol/subscriptionId":3},"uri":"y:1"}})");
  ASSERT_EQ(client.events.size(), 2U);
  EXPECT_THAT(client.events[1].second,
              AllOf(HasSubstr(R"("uri":"y:1")"),
                    HasSubstr(R"("io.modelcontextprotocol/subscriptionId":"mine")")));
  bench_.server->cancel_calls_of(client.caller());
  EXPECT_THAT(bench_.member(1).notes, Contains(HasSubstr("notifications/cancelled")));
}

// --- MCP Apps ------------------------------------------------------------------------------------

// The first member would accept any URI.
TEST(MemberApps, AViewIsReadFromTheMemberWhoseToolNamesIt) {
  ServerBench bench({"first", "app"});
  bench.member(0).script = with_tool(
      "t", {{"resources/templates/list",
             R"("result":{"resourceTemplates":[{"name":"x","uriTemplate":"ui://{id}"}]})"},
            {"resources/read", R"("result":{"contents":[{"text":"WRONG"}]})"}});
  bench.member(1).script = with_tool(
      "t",
      {{"tools/list",
        R"("result":{"tools":[{"name":"t","inputSchema":{"type":"object"},)"
        R"("_meta":{"ui":{"resourceUri":"ui://chart"}}},)"
        R"({"name":"old","inputSchema":{"type":"object"},"_meta":{"ui/resourceUri":"ui://old"}}]})"},
       {"resources/read", R"("result":{"contents":[{"uri":"ui://chart","text":"VIEW"}]})"}});
  EXPECT_THAT(bench.ask("tools/list"),
              AllOf(HasSubstr(R"("_meta":{"ui":{"resourceUri":"ui://chart"}})"),
                    HasSubstr(R"("_meta":{"ui/resourceUri":"ui://old"})")));
  EXPECT_THAT(bench.ask("resources/read", R"({"uri":"ui://chart"})"), HasSubstr("VIEW"));
  EXPECT_THAT(bench.ask("resources/read", R"({"uri":"ui://old"})"), HasSubstr("VIEW"));
  EXPECT_THAT(bench.member(0).methods(), Not(Contains("resources/read")));
}

// A tool that a client may not see does not lead to its view.
TEST(MemberApps, AViewThatIsExcludedIsNobodys) {
  config::ServerConfig config;
  config::MemberConfig& member = config.members.emplace_back();
  member.backend = "app";
  member.prefix = "app_";
  member.resources.exclude = {"ui://*"};
  ServerBench bench({"app"}, config);
  bench.member(0).script = with_tool(
      "t", {{"tools/list", R"("result":{"tools":[{"name":"t","inputSchema":{"type":"object"},)"
                           R"("_meta":{"ui":{"resourceUri":"ui://chart"}}}]})"},
            {"resources/read", R"("result":{"contents":[{"text":"VIEW"}]})"}});
  bench.ask("tools/list");
  EXPECT_THAT(bench.ask("resources/read", R"({"uri":"ui://chart"})"), HasSubstr("error"));
  EXPECT_THAT(bench.member(0).methods(), Not(Contains("resources/read")));
}

// As with rules, another spelling of an excluded URI does not get through.
TEST(MemberResources, PatternsFitOnlyUrisInNormalForm) {
  const auto is_asked = [](const config::SelectionConfig& selection, const std::string& uri) {
    config::ServerConfig config;
    config::MemberConfig& member = config.members.emplace_back();
    member.backend = "files";
    member.resources = selection;
    ServerBench bench({"files"}, config);
    bench.member(0).script =
        with_tool("t", {{"resources/read", R"("result":{"contents":[{"text":"TEXT"}]})"}});
    bench.ask("resources/read", R"({"uri":")" + uri + R"("})");
    return std::ranges::count(bench.member(0).methods(), "resources/read") > 0;
  };
  config::SelectionConfig open;
  open.include = {"file:///open/*"};
  config::SelectionConfig most;
  most.exclude = {"file:///etc/*"};
  EXPECT_TRUE(is_asked(open, "file:///open/a"));
  EXPECT_TRUE(is_asked(most, "file:///open/a"));
  EXPECT_TRUE(is_asked({}, "file:///open/../etc/passwd")) << "nothing is left out";
  config::SelectionConfig all;
  all.include = {"*"};
  EXPECT_TRUE(is_asked(all, "file:///open/../etc/passwd"));
  for (const char* const uri : {"file:///open/../etc/passwd", "file:///open/%2e%2e/etc/passwd",
                                "file:///open/..\\\\etc/passwd", "file:///%65tc/passwd",
                                "FILE:///etc/passwd", "file:////etc/passwd", "file:///./etc/passwd",
                                "file:///etc\\\\passwd", "file:///etc/passwd"}) {
    EXPECT_FALSE(is_asked(open, uri)) << uri;
    EXPECT_FALSE(is_asked(most, uri)) << uri;
  }
}

}  // namespace
}  // namespace stdgate::test
