// The revision of MCP that a client speaks, as log, metrics and spans show it.

#include <gmock/gmock.h>

#include "tests/unit/mcp/modern_bench.h"

namespace stdgate::test {
namespace {

using testing::EndsWith;

const std::string kToldGreeting = R"({"protocolVersion":"2025-03-26","capabilities":{}})";

std::vector<std::string> revisions(const BackendBench& bench) {
  std::vector<std::string> all;
  for (const auto& record : bench.observer.records) all.push_back(record.revision);
  return all;
}

// The session greets the server and calls a tool, and the child answers both.
void greet_and_call(BackendBench& bench, SharedClient& session, FakeChild& child) {
  session.request("initialize", kToldGreeting);
  for (const std::string& id : child.take_ids()) {
    child.answer(id, R"({"protocolVersion":"2025-03-26","capabilities":{}})");
  }
  session.request("tools/call", R"({"name":"t"})", "2");
  child.answer(child.take_ids().at(0));
  ASSERT_EQ(bench.observer.records.size(), 2U);
}

TEST(McpToldRevision, IsTheModernOneOfAModernClient) {
  ModernBench bench(config::Revision::modern, config::Isolation::shared);
  FakeChild& child = bench.begin(0, kDiscovery);
  FakeClient client(bench.callers);
  bench.send_modern(client, request("1", "tools/list"));
  child.answer(child.take_ids().at(0));
  EXPECT_EQ(revisions(bench), Texts{"2026-07-28"});
}

TEST(McpToldRevision, IsThatWhichTheOwnChildOfASessionHasAgreedTo) {
  backend::BackendOptions options = shared_mcp_options(1);
  options.config.isolation = config::Isolation::session;
  options.config.pool.min = 0;
  BackendBench bench(options, std::make_unique<mcp::McpDialect>("1"));
  SharedClient session(bench);
  session.request("tools/list", "{}", "0");
  FakeChild& child = bench.start_child();
  child.answer(child.take_ids().at(0));
  EXPECT_EQ(revisions(bench), Texts{""}) << "nothing is agreed on yet";
  bench.observer.records.clear();
  greet_and_call(bench, session, child);
  EXPECT_EQ(revisions(bench), (Texts{"2025-03-26", "2025-03-26"}));
}

TEST(McpToldRevision, IsThatOfASharedChild) {
  SharedBench bench(1);
  SharedClient session(bench);
  greet_and_call(bench, session, bench.child(0));
  EXPECT_EQ(revisions(bench), (Texts{"2025-11-25", "2025-11-25"})) << "as the child has said";
}

TEST(McpToldRevision, IsThatOfTheSessionAtAModernChild) {
  ModernBench bench(config::Revision::modern, config::Isolation::shared);
  FakeChild& child = bench.begin(0, kDiscovery);
  SharedClient session(bench);
  greet_and_call(bench, session, child);
  EXPECT_EQ(revisions(bench), (Texts{"2025-03-26", "2025-03-26"}));
}

TEST(McpToldRevision, ComesAlongWithASessionFromAnotherProcess) {
  SharedBench bench(1);
  FakeSession session(bench.callers);
  session.id =
      bench.backend.adopt_session(session.caller(), session, {}, {kToldGreeting, "2025-06-18"})
          .value();
  bench.call(session);
  bench.child(0).answer(bench.child(0).take_ids().at(0));
  EXPECT_EQ(revisions(bench), Texts{"2025-06-18"});
}

TEST(McpToldRevision, IsNoneOfPlainCallsAndOfUnknownOnes) {
  SharedBench bench(1);
  FakeClient plain(bench.callers);
  bench.call(plain);
  bench.child(0).answer(bench.child(0).take_ids().at(0));
  EXPECT_EQ(revisions(bench), Texts{""});
}

TEST(McpToldRevision, OfAChildIsInTheLog) {
  ModernBench modern(config::Revision::automatic, config::Isolation::session);
  modern.begin(0, kDiscovery);
  ASSERT_NE(modern.log.find("era known"), nullptr);
  EXPECT_THAT(*modern.log.find("era known"), EndsWith(" era=modern revision=2026-07-28"));
  EXPECT_THAT(*modern.log.find("backend ready"), EndsWith(" revision=2026-07-28"));
  SharedBench legacy(1);
  EXPECT_THAT(*legacy.log.find("backend ready"), EndsWith(" revision=2025-11-25"));
}

}  // namespace
}  // namespace stdgate::test
