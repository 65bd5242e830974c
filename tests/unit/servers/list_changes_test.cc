// Which clients of a virtual server are told that lists have changed, and how often.
#include "gateway/servers/list_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "gateway/servers/virtual_server.h"
#include "tests/unit/servers/server_bench.h"

namespace stdgate::test {
namespace {

using servers::ListChanges;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char* kToolsChanged =
    R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";
constexpr uint8_t kTools = 1;

size_t told(FakeSession& session) {
  return static_cast<size_t>(std::ranges::count(session.take(), kToolsChanged));
}

// Lets all changes of the beginning be reported, and takes the reports.
void settle(ServerBench& bench, FakeSession& session) {
  bench.advance(ListChanges::kQuiet * 3);
  session.take();
}

// Sends a change every 25 ms for 5 s.
void flood(ServerBench& bench, const std::function<void()>& change) {
  for (int i = 0; i < 200; ++i) {
    change();
    bench.advance(milliseconds(25));
  }
}

TEST(ListChanges, AFloodIsToldOnceASecondAndItsEndIsNotLost) {
  ServerBench bench({"a", "b"});
  FakeSession session(bench.callers);
  bench.open(session);
  settle(bench, session);
  bench.member(0).change_lists(kTools);
  bench.advance(ListChanges::kGather);
  EXPECT_EQ(told(session), 1U);  // the first change at once
  flood(bench, [&] { bench.member(0).change_lists(kTools); });
  const size_t count = told(session);
  EXPECT_GE(count, 4U);
  EXPECT_LE(count, 6U);
  bench.member(0).change_lists(kTools);
  bench.advance(ListChanges::kQuiet);
  EXPECT_GE(told(session), 1U);
  bench.advance(seconds(10));
  EXPECT_EQ(told(session), 0U);
}

TEST(ListChanges, AFloodOfOneMemberDelaysNoOtherOne) {
  ServerBench bench({"a", "b"});
  FakeSession session(bench.callers);
  bench.open(session);
  settle(bench, session);
  bench.member(0).change_lists(kTools);
  bench.advance(ListChanges::kGather);
  EXPECT_EQ(told(session), 1U);
  bench.member(0).change_lists(kTools);
  bench.advance(ListChanges::kGather);
  EXPECT_EQ(told(session), 0U);
  bench.member(1).change_lists(kTools);
  bench.advance(ListChanges::kGather);
  EXPECT_EQ(told(session), 1U);
}

// The child of one session floods that session only.
TEST(ListChanges, AFloodOfASessionsOwnChildIsTheSessionsAlone) {
  ServerBench bench({"own"});
  bench.member(0).script = with_tool("t");
  FakeSession ada(bench.callers);
  FakeSession bob(bench.callers);
  bench.open(ada);
  bench.open(bob);
  bench.send(ada, R"({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"own_t"}})");
  settle(bench, ada);
  bob.take();
  flood(bench, [&] { bench.member(0).say(kToolsChanged); });
  bench.advance(ListChanges::kQuiet);
  const size_t count = told(ada);
  EXPECT_GE(count, 5U);
  EXPECT_LE(count, 7U);
  EXPECT_EQ(told(bob), 0U);
}

// Lists that differ each time and must not be kept are a change each time.
TEST(ListChanges, AMemberThatLiesMakesNoClientListAllTheTime) {
  ServerBench bench({"a"});
  int count = 0;
  bench.member(0).script = [&](const ScriptedMember::Asked& asked) {
    if (asked.method != "tools/list") return with_tool("t")(asked);
    return R"("result":{"ttlMs":0,"tools":[{"name":"t)" + std::to_string(++count) +
           R"(","inputSchema":{"type":"object"}}]})";
  };
  FakeSession session(bench.callers);
  bench.open(session);
  const std::string list = R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})";
  bench.send(session, list);
  settle(bench, session);
  const int before = count;
  bench.send(session, list);
  for (int i = 0; i < 400; ++i) {
    bench.advance(milliseconds(25));
    if (told(session) > 0) bench.send(session, list);
  }
  EXPECT_GE(count - before, 5);
  EXPECT_LE(count - before, 12);
}

// --- Principals ----------------------------------------------------------------------------------

policy::PrincipalRef somebody(const std::string& name) {
  auto principal = std::make_shared<policy::Principal>();
  principal->name = name;
  return principal;
}

class ListChangesOfPrincipals : public testing::Test {
 protected:
  ListChangesOfPrincipals() {
    bench_.member(0).script = with_tool("t", {{"subscriptions/listen", ""}});
    bench_.member(0).peer_kind = PeerKind::stateless;
  }

  void come(FakeSession& session, const policy::PrincipalRef& who) {
    bench_.principal = who;
    bench_.open(session);
    bench_.send(session, R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
    bench_.advance(milliseconds(1));
    session.take();
  }
  void go(FakeSession& session) {
    bench_.server->close_session(session.id, {});
    bench_.advance(milliseconds(1));
  }
  // The principals for whom the server listens.
  std::vector<std::string> heard() {
    std::vector<std::string> names;
    for (const auto& asked : bench_.member(0).asked) {
      if (asked.method == "subscriptions/listen") names.push_back(asked.principal);
    }
    return names;
  }

  const policy::PrincipalRef ada_ = somebody("ada");
  const policy::PrincipalRef bob_ = somebody("bob");
  ServerBench bench_{{"each"}};
  FakeSession of_ada_{bench_.callers};
  FakeSession of_bob_{bench_.callers};
};

TEST_F(ListChangesOfPrincipals, EachIsListenedForWhileAClientIsHere) {
  come(of_ada_, ada_);
  EXPECT_THAT(heard(), testing::ElementsAre("ada"));
  come(of_bob_, bob_);
  EXPECT_THAT(heard(), testing::ElementsAre("ada", "bob"));
  FakeSession second(bench_.callers);
  come(second, ada_);
  EXPECT_THAT(heard(), SizeIs(2));
  go(of_ada_);
  EXPECT_THAT(bench_.member(0).notes, Not(Contains(testing::HasSubstr("cancelled"))));
  go(second);
  EXPECT_THAT(bench_.member(0).notes, Contains(testing::HasSubstr(R"("requestId":"listen")")));
  EXPECT_THAT(bench_.member(0).notes, SizeIs(1));
}

TEST_F(ListChangesOfPrincipals, AChangeIsToldToItsPrincipalAlone) {
  come(of_ada_, ada_);
  come(of_bob_, bob_);
  settle(bench_, of_ada_);
  of_bob_.take();
  const size_t asked = bench_.member(0).asked.size();
  bench_.member(0).change_lists(kTools, policy::identity_of(ada_.get()));
  bench_.advance(milliseconds(100));
  EXPECT_EQ(told(of_ada_), 1U);
  EXPECT_EQ(told(of_bob_), 0U);
  // Bob's list is still valid.
  bench_.principal = bob_;
  bench_.send(of_bob_, R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})");
  bench_.advance(milliseconds(1));
  EXPECT_EQ(bench_.member(0).asked.size(), asked);
  bench_.principal = ada_;
  bench_.send(of_ada_, R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})");
  bench_.advance(milliseconds(1));
  EXPECT_EQ(bench_.member(0).asked.size(), asked + 1);
  EXPECT_EQ(bench_.member(0).asked.back().principal, "ada");
}

// A client without a session that listens.
TEST_F(ListChangesOfPrincipals, AreToldToWhoListens) {
  bench_.principal = ada_;
  bench_.ask("tools/list");
  FakeClient client(bench_.callers);
  bench_.send(client,
              R"({"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{},)"
              R"("notifications":{"toolsListChanged":true}}})",
              PeerKind::stateless);
  EXPECT_THAT(heard(), testing::ElementsAre("ada"));
  bench_.advance(ListChanges::kQuiet * 3);
  client.events.clear();
  bench_.member(0).change_lists(kTools, policy::identity_of(bob_.get()));
  bench_.advance(milliseconds(100));
  EXPECT_THAT(client.events, IsEmpty());
  bench_.member(0).change_lists(kTools, policy::identity_of(ada_.get()));
  bench_.advance(milliseconds(100));
  EXPECT_THAT(client.events, SizeIs(1));
  bench_.server->cancel_calls_of(client.caller());
}

}  // namespace
}  // namespace stdgate::test
