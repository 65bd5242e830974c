// The facts in a child's greeting belong to the child, whichever client greets it.

#include "gateway/pool/child_facts.h"

#include <gtest/gtest.h>

#include <string>

#include "gateway/lsp/lsp_dialect.h"
#include "gateway/mcp/mcp_dialect.h"
#include "tests/support/backend_bench.h"

namespace stdgate {
namespace {

using test::BackendBench;
using test::FakeChild;
using test::FakeSession;

pool::ChildFacts facts_in(const pool::Dialect& dialect, const std::string& result) {
  std::string text = R"({"jsonrpc":"2.0","id":1,"result":)" + result + "}";
  rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
  return dialect.facts(parser.parse(text).value().messages[0].envelope, "initialize").value();
}

pool::ChildFacts facts(std::string version, std::string name, std::string server_version,
                       std::string capabilities, bool logs = false) {
  return {std::move(version), std::move(name), std::move(server_version), std::move(capabilities),
          logs};
}

TEST(ChildFacts, AreReadFromTheAnswer) {
  const mcp::McpDialect mcp("1");
  struct Row {
    std::string result;
    pool::ChildFacts expected;
  };
  const std::string large = R"({"a":")" + std::string(pool::ChildFacts::kMaxRawBytes, 'x') + "\"}";
  const Row rows[] = {
      {R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}},)"
       R"("serverInfo":{"version":"1.2","name":"s"},"instructions":"x"})",
       facts("2025-06-18", "s", "1.2", R"({"tools":{}})")},
      {R"({"protocolVersion":"2025-06-18","capabilities":{"logging":{}}})",
       facts("2025-06-18", "", "", R"({"logging":{}})", true)},
      {R"({"protocolVersion":"2025-06-18","serverInfo":{"name":"\u00e9\n"}})",
       facts("2025-06-18", "\u00e9\n", "", "")},
      {R"({"protocolVersion":7,"serverInfo":[],"capabilities":null})", facts("", "", "", "null")},
      {R"({"serverInfo":{"name":"a","name":"b"}})", facts("", "", "", "")},
      {"true", facts("", "", "", "")},
      {R"({"serverInfo":{"name":")" + std::string(300, 'n') + R"("},"capabilities":)" + large + "}",
       facts("", std::string(pool::ChildFacts::kMaxNameBytes, 'n'), "", "")},
  };
  for (const Row& row : rows) EXPECT_EQ(facts_in(mcp, row.result), row.expected) << row.result;
  EXPECT_EQ(facts_in(lsp::LspDialect(), R"({"capabilities":{},"serverInfo":{"name":"clangd"}})"),
            facts("", "clangd", "", "{}"));
}

constexpr std::string_view kOld =
    R"({"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"old","version":"1"}})";
constexpr std::string_view kNew =
    R"({"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"new","version":"2"}})";

TEST(ChildFacts, OfTwoChildrenOfOneBackendMayDiffer) {
  backend::BackendOptions options = test::plain_options();
  options.config.pool.min = options.config.pool.max = 2;
  BackendBench bench(options, std::make_unique<mcp::McpDialect>("1"));
  for (const size_t i : {0U, 1U}) {
    FakeChild& child = bench.child(i);
    child.start();
    EXPECT_EQ(bench.status().children.at(i).facts, pool::ChildFacts()) << "nothing is known yet";
    child.answer(child.take_ids().at(0), std::string(i == 0 ? kOld : kNew));
  }
  const auto children = bench.status().children;
  EXPECT_EQ(children.at(0).facts.protocol_version, "2024-11-05");
  EXPECT_EQ(children.at(0).facts.server_name, "old");
  EXPECT_EQ(children.at(1).facts.protocol_version, "2025-06-18");
  EXPECT_EQ(children.at(1).facts.server_version, "2");
}

TEST(ChildFacts, OfASessionsChildAreInTheAnswerToItsClient) {
  BackendBench bench(test::session_options(2), std::make_unique<mcp::McpDialect>("1"));
  FakeSession session(bench.callers);
  bench.open(session);
  const std::string greeting = R"({"jsonrpc":"2.0","id":"i","method":"initialize"})";
  bench.send(session, greeting);
  FakeChild& child = bench.start_child();
  child.say(R"({"jsonrpc":"2.0","id":)" + child.take_ids().at(0) +
            R"(,"error":{"code":1,"message":"no"}})");
  EXPECT_EQ(bench.status().children.at(0).facts, pool::ChildFacts());
  bench.send(session, greeting);
  child.answer(child.take_ids().at(0), std::string(kOld));
  EXPECT_EQ(bench.status().children.at(0).facts.server_name, "old");
  EXPECT_EQ(session.take().size(), 2U) << "it passes all the same";
}

TEST(ChildFacts, OfALanguageServerToo) {
  BackendBench bench(test::session_options(2), std::make_unique<lsp::LspDialect>());
  FakeSession session(bench.callers);
  bench.open(session);
  FakeChild& child = bench.start_child();
  bench.send(session, R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})");
  child.answer(child.take_ids().at(0), R"({"capabilities":{},"serverInfo":{"name":"ls"}})");
  EXPECT_EQ(bench.status().children.at(0).facts.server_name, "ls");
}

}  // namespace
}  // namespace stdgate
