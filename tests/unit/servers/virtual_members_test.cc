// Members of a virtual server that start slowly, stay down, or are added and removed by a reload.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "gateway/servers/members.h"
#include "tests/support/fake_client.h"
#include "tests/support/fake_session.h"
#include "tests/unit/servers/server_bench.h"

namespace stdgate::test {

namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kToolsList = R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})";

// The session's last answer.
std::string answer_to(const FakeSession& session) {
  const auto found = std::find_if(
      session.received.rbegin(), session.received.rend(),
      [](const std::string& text) { return text.find(R"("id":)") != std::string::npos; });
  return found == session.received.rend() ? "" : *found;
}

int64_t changes_told(const FakeSession& session) {
  return std::ranges::count_if(session.received, [](const std::string& text) {
    return text.find("tools/list_changed") != std::string::npos;
  });
}

// --- Sessions ------------------------------------------------------------------------------------

TEST(VirtualServerSessions, AreCountedWhileTheyAreOpen) {
  ServerBench bench({"a"});
  bench.member(0).script = with_tool("t");
  {
    FakeSession one(bench.callers);
    FakeSession other(bench.callers);
    bench.open(one);
    bench.open(other, {.greeting = R"({"protocolVersion":"2025-11-25"})"});
    EXPECT_EQ(bench.observer.sessions, 2);
    bench.server->close_session(one.id, {});
    bench.server->close_session(one.id, {});
    EXPECT_EQ(bench.observer.sessions, 1);
    bench.server->close_session(other.id, {});
  }
  EXPECT_EQ(bench.observer.sessions, 0);
}

// --- Members that start slowly, or stay down -----------------------------------------------------

class StartingMember : public testing::Test {
 public:
  void SetUp() override {
    bench.member(0).script = with_tool("t");
    bench.member(1).script = with_tool("t", {{"tools/list", ""}});
    bench.member(1).backend_state = pool::BackendState::starting;
  }
  // Requests a list. Returns the time until the answer.
  Duration list_of(FakeSession& session) {
    session.take();
    bench.send(session, kToolsList);
    for (Duration waited{0};; waited += seconds(1)) {
      bench.advance(seconds(1));
      if (!answer_to(session).empty()) return waited;
    }
  }

  ServerBench bench{{"good", "slow"}};
};

TEST_F(StartingMember, TheFirstListOfAClientWaitsForIt) {
  FakeSession first(bench.callers);
  bench.open(first);
  EXPECT_EQ(list_of(first), seconds(14));
  EXPECT_THAT(answer_to(first), HasSubstr(R"("stdgate/missing":["slow"])"));
  EXPECT_EQ(bench.log.find("member is down"), nullptr);
  EXPECT_NE(bench.log.find("lists do without a member that is starting"), nullptr);
  EXPECT_TRUE(bench.server->status().members.at(1).is_starting);
  EXPECT_EQ(list_of(first), seconds(0)) << "it knows that the member is missing";
  bench.send(first, R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow_t"}})");
  bench.advance(milliseconds(1));
  EXPECT_THAT(answer_to(first), HasSubstr("the server 'slow' is still starting"));
  FakeSession second(bench.callers);
  bench.open(second);
  EXPECT_EQ(list_of(second), seconds(14));
  bench.advance(seconds(60));
  FakeSession third(bench.callers);
  bench.open(third);
  EXPECT_EQ(list_of(third), seconds(0)) << "too long after the first question";
  const auto& asked = bench.member(1).asked;
  bench.member(1).answer(*std::ranges::find(asked, "tools/list", &ScriptedMember::Asked::method),
                         R"("result":{"tools":[]})");
  bench.advance(milliseconds(1));
  EXPECT_EQ(list_of(third), seconds(0));
  EXPECT_THAT(answer_to(third), Not(HasSubstr("stdgate/missing")));
  EXPECT_EQ(std::ranges::count_if(bench.log.lines,
                                  [](const std::string& line) {
                                    return line.starts_with("lists do without a member");
                                  }),
            1);
}

// `timeout` of a server is for its handshakes with members.
TEST_F(StartingMember, IsWaitedForBeyondTheTimeoutOfTheServer) {
  config::ServerConfig own;
  own.timeout = seconds(2);
  ServerBench of_two({"good", "slow"}, own);
  of_two.member(0).script = with_tool("t");
  of_two.member(1).script = with_tool("t", {{"tools/list", ""}});
  of_two.member(1).backend_state = pool::BackendState::starting;
  FakeSession session(of_two.callers);
  of_two.open(session);
  of_two.send(session, kToolsList);
  of_two.advance(seconds(14));
  EXPECT_THAT(answer_to(session), IsEmpty());
  of_two.advance(seconds(2));
  EXPECT_THAT(answer_to(session), HasSubstr(R"("stdgate/missing":["slow"])"));
}

TEST_F(StartingMember, OnlySoManyCallsWaitForItsList) {
  const size_t most = config::PoolConfig().queue;
  FakeSession session(bench.callers);
  bench.open(session);
  for (size_t i = 0; i < most; ++i) bench.send(session, kToolsList);
  bench.advance(milliseconds(1));
  EXPECT_THAT(session.take(), IsEmpty());
  EXPECT_EQ(bench.server->status().queued, most);
  bench.send(session, kToolsList);
  EXPECT_THAT(session.take(), ElementsAre(HasSubstr("too many calls wait for the lists")));
  bench.advance(seconds(20));
  EXPECT_EQ(std::ranges::count_if(session.take(),
                                  [](const std::string& text) {
                                    return text.find(R"("result":)") != std::string::npos;
                                  }),
            most);
  EXPECT_EQ(bench.server->status().queued, 0U);
}

// Many lists and calls ask for the state of a member, and a whole status is much larger.
TEST_F(StartingMember, IsKnownWithoutItsWholeStatus) {
  EXPECT_THAT(bench.server->members(), ElementsAre("good", "slow"));
  EXPECT_EQ(bench.member(1).status_taken, 0U);
  FakeSession session(bench.callers);
  bench.open(session);
  list_of(session);
  const size_t before = bench.member(1).status_taken;
  bench.send(session,
             R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow_t"}})");
  bench.advance(milliseconds(1));
  EXPECT_THAT(answer_to(session), HasSubstr("the server 'slow' is still starting"));
  EXPECT_EQ(bench.member(1).status_taken, before);
}

// The gateway's own request may take as long as a start.
TEST(VirtualServerLists, AMemberThatStartsForLongIsNotCalledDown) {
  ServerBench bench({"slow"});
  bench.config.backends[0].pool.start_timeout = minutes(3);
  bench.server->attach(bench.upstreams, bench.config);
  bench.member(0).script = with_tool("t", {{"tools/list", ""}});
  FakeClient client(bench.callers);
  bench.send(client, kToolsList);
  const auto& asked = bench.member(0).asked;
  const auto list = std::ranges::find(asked, "tools/list", &ScriptedMember::Asked::method);
  ASSERT_NE(list, asked.end());
  EXPECT_EQ(list->timeout, minutes(3) + bench.config.backends[0].timeout);
}

TEST(VirtualServerMembers, OneThatStaysDownIsAskedLessAndLess) {
  ServerBench bench({"good", "down"});
  bench.member(0).script = with_tool("t");
  bench.member(1).script = [&](const ScriptedMember::Asked& asked) {
    return asked.method == "tools/list" ? R"("error":{"code":-32603,"message":"no database"})" : "";
  };
  FakeSession session(bench.callers);
  bench.open(session);
  bench.send(session, kToolsList);
  bench.advance(minutes(1));
  const auto questions = [&] {
    return std::ranges::count(bench.member(1).asked, "tools/list", &ScriptedMember::Asked::method);
  };
  const auto at_first = questions();
  EXPECT_GE(at_first, 3);
  bench.advance(minutes(60));
  EXPECT_LE(questions() - at_first, 12) << "every ten minutes at last";
  EXPECT_EQ(bench.server->status().members.at(1).reason, "no database");
  EXPECT_FALSE(bench.server->status().members.at(1).is_up);
}

TEST(VirtualServerMembers, ThatCallsAreRefusedForAWhileIsNotWhyOneIsDown) {
  ServerBench bench({"down"});
  bench.member(0).script = [](const ScriptedMember::Asked&) { return ""; };
  FakeClient client(bench.callers);
  const auto fail_all = [&](rpc::Fault fault) {
    for (const ScriptedMember::Asked& asked : std::vector(bench.member(0).asked)) {
      if (!bench.member(0).answered(asked)) bench.member(0).fail(asked, fault);
    }
  };
  bench.send(client, kToolsList);
  fail_all(rpc::Fault::child_failed);
  bench.advance(seconds(2));
  const std::string why = bench.server->status().members.at(0).reason;
  EXPECT_FALSE(why.empty());
  bench.send(client, kToolsList);
  fail_all(rpc::Fault::overloaded);
  bench.advance(seconds(2));
  EXPECT_EQ(bench.server->status().members.at(0).reason, why);
}

TEST(VirtualServerMembers, ARequiredOneThatIsDownMakesTheServerUnready) {
  config::ServerConfig config;
  config::MemberConfig& must = config.members.emplace_back();
  must.backend = "must";
  must.prefix = "must_";
  must.is_required = true;
  ServerBench bench({"must"}, config);
  bench.member(0).backend_state = pool::BackendState::idle;
  bench.member(0).script = [](const ScriptedMember::Asked&) {
    return R"("error":{"code":-32603,"message":"no database"})";
  };
  EXPECT_TRUE(bench.server->status().ready) << "nobody has asked yet";
  EXPECT_THAT(bench.ask("tools/list"), HasSubstr("is required here, and is down"));
  bench.advance(seconds(30));
  EXPECT_FALSE(bench.server->status().ready);
  EXPECT_THAT(bench.server->status().reason, HasSubstr("no database"));
}

TEST(VirtualServerLists, TheSameSchemaInAnotherOrderIsNoChange) {
  ServerBench bench({"both"});
  const auto tool = [](const std::string& schema) {
    return R"("result":{"ttlMs":1,"tools":[{"name":"t","inputSchema":)" + schema + "}]}";
  };
  std::string schema = R"({"type":"object","properties":{}})";
  bench.member(0).script = with_tool("t");
  const auto usual = bench.member(0).script;
  bench.member(0).script = [&](const ScriptedMember::Asked& asked) {
    return asked.method == "tools/list" ? tool(schema) : usual(asked);
  };
  FakeSession session(bench.callers);
  bench.open(session);
  const auto told = [&] {
    session.take();
    bench.send(session, kToolsList);
    bench.advance(seconds(5));
    return changes_told(session);
  };
  told();
  EXPECT_EQ(told(), 0);
  schema = R"({"properties":{},"type":"object"})";
  EXPECT_EQ(told(), 0);
  schema = R"({"properties":{"x":{}},"type":"object"})";
  EXPECT_EQ(told(), 1);
}

TEST(VirtualServerSearch, WhatCouldNotBeSearchedIsNamed) {
  config::ServerConfig config;
  config.expose.is_search = true;
  ServerBench bench({"good", "down"}, config);
  bench.member(0).script = with_tool("t");
  bench.member(1).script = [](const ScriptedMember::Asked&) {
    return R"("error":{"code":-32603,"message":"no database"})";
  };
  const std::string found =
      bench.ask("tools/call", R"({"name":"find_tool","arguments":{"query":"t"}})");
  EXPECT_THAT(found, HasSubstr(R"("stdgate/missing":["down"])"));
  EXPECT_THAT(found, HasSubstr("These servers were not searched"));
}

// --- A reload that changes the members -----------------------------------------------------------

class OtherMembers : public testing::Test {
 public:
  void SetUp() override {
    for (ScriptedMember* const member : bench.members) member->script = with_tool("t");
    bench.open(session);
    EXPECT_THAT(call("own_t"), HasSubstr("result"));
    bench.advance(seconds(2));
    session.take();
  }
  std::string call(const std::string& tool) {
    bench.send(session, R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":")" +
                            tool + "\"}}");
    bench.advance(seconds(1));
    return answer_to(session);
  }
  std::string list() {
    bench.send(session, kToolsList);
    bench.advance(seconds(1));
    return answer_to(session);
  }
  // Gives the server these members, by a reload.
  void take(const std::vector<std::string>& names) {
    config::ServerConfig& config = bench.config.servers[0];
    config.members.clear();
    for (const std::string& name : names) {
      config::MemberConfig& member = config.members.emplace_back();
      member.backend = name;
      member.prefix = name + "_";
    }
    bench.server->take(config);
    bench.server->attach(bench.upstreams, bench.config);
    bench.advance(seconds(2));
  }

  ServerBench bench{{"own", "second", "third"}};
  FakeSession session{bench.callers};
};

TEST_F(OtherMembers, SessionsAtThoseThatStayGoOn) {
  take({"own", "second"});
  EXPECT_EQ(bench.member(0).sessions.size(), 1U) << "its process is the same";
  EXPECT_EQ(changes_told(session), 1);
  EXPECT_THAT(list(), AllOf(HasSubstr("own_t"), Not(HasSubstr("third_t"))));
  EXPECT_THAT(call("third_t"), HasSubstr("Unknown tool: third_t"));
  EXPECT_THAT(call("own_t"), HasSubstr("result"));
  EXPECT_EQ(bench.server->status().members.size(), 2U);
  take({"third", "own", "second"});
  const std::string listed = list();
  EXPECT_LT(listed.find("third_t"), listed.find("own_t")) << "in the order of the configuration";
  EXPECT_THAT(call("third_t"), HasSubstr("result"));
  EXPECT_EQ(bench.member(0).sessions.size(), 1U);
}

TEST_F(OtherMembers, TheSessionAtOneThatLeavesEnds) {
  take({"second", "third"});
  EXPECT_EQ(bench.member(0).sessions.size(), 0U);
  EXPECT_THAT(call("own_t"), HasSubstr("Unknown tool: own_t"));
  EXPECT_THAT(list(), AllOf(Not(HasSubstr("own_t")), Not(HasSubstr("stdgate/missing"))));
  EXPECT_THAT(call("second_t"), HasSubstr("result"));
}

TEST_F(OtherMembers, AnotherPrefixIsShownAtOnce) {
  config::ServerConfig& config = bench.config.servers[0];
  config.members[0].prefix = "mine_";
  bench.server->take(config);
  bench.server->attach(bench.upstreams, bench.config);
  EXPECT_THAT(list(), AllOf(HasSubstr("mine_t"), Not(HasSubstr("own_t"))));
  EXPECT_THAT(call("mine_t"), HasSubstr("result"));
  EXPECT_EQ(bench.member(0).sessions.size(), 1U);
}

TEST_F(OtherMembers, ACallThatIsUnderWayAtOneThatLeavesIsAnswered) {
  bench.member(1).script = with_tool("t", {{"tools/call", ""}});
  session.take();
  bench.send(session,
             R"({"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"second_t"}})");
  bench.advance(seconds(1));
  ASSERT_THAT(session.received, IsEmpty());
  take({"own", "third"});
  const auto& asked = bench.member(1).asked;
  bench.member(1).answer(*std::ranges::find(asked.rbegin(), asked.rend(), "tools/call",
                                            &ScriptedMember::Asked::method),
                         R"("result":{"content":[]})");
  bench.advance(seconds(1));
  EXPECT_THAT(answer_to(session), AllOf(HasSubstr(R"("id":8)"), HasSubstr("result")));
}

}  // namespace

// Two members of a virtual server with the same name.

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

config::ServerConfig with_prefixes(
    const std::vector<std::pair<std::string, std::string>>& members) {
  config::ServerConfig config;
  for (const auto& [backend, prefix] : members) {
    config::MemberConfig& member = config.members.emplace_back();
    member.backend = backend;
    member.prefix = prefix;
  }
  return config;
}

std::vector<std::string> clashes_in(const RecordingLog& log) {
  std::vector<std::string> lines = log.lines;
  std::erase_if(lines, [](const std::string& line) {
    return !line.starts_with("members show the same name");
  });
  return lines;
}

TEST(NameClashes, AreToldOnceWithBothMembers) {
  ServerBench bench({"one", "two"}, with_prefixes({{"one", ""}, {"two", ""}}));
  bench.member(0).script = with_tool("read");
  bench.member(1).script = with_tool("read");
  for (int i = 0; i < 3; ++i) {
    bench.ask("tools/list");
    bench.member(1).change_lists(1);
    bench.advance(std::chrono::seconds(2));
  }
  EXPECT_THAT(clashes_in(bench.log),
              testing::ElementsAre(AllOf(HasSubstr(" element=read "), HasSubstr(" shown=one "),
                                         HasSubstr(" left_out=two "), HasSubstr("tools.rename"))));
}

TEST(NameClashes, AreNoneWherePrefixesKeepMembersApart) {
  ServerBench bench({"one", "two"});
  bench.member(0).script = with_tool("read");
  bench.member(1).script = with_tool("read");
  bench.ask("tools/list");
  EXPECT_THAT(clashes_in(bench.log), testing::IsEmpty());
}

TEST(NameClashes, ComeFromPrefixesThatContinueEachOtherToo) {
  ServerBench bench({"a", "ab"}, with_prefixes({{"a", "a_"}, {"ab", "a_b_"}}));
  bench.member(0).script = with_tool("b_read");
  bench.member(1).script = with_tool("read");
  bench.ask("tools/list");
  EXPECT_THAT(clashes_in(bench.log), testing::ElementsAre(HasSubstr(" element=a_b_read ")));
}

}  // namespace

}  // namespace stdgate::test
