// Sessions of legacy clients at children of MCP's modern era, which the sessions share.

#include <gmock/gmock.h>

#include "tests/unit/mcp/modern_bench.h"

namespace stdgate::test {
namespace {

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
  // The line with which the child gets a call of this session.
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
  EXPECT_THAT(line_of(session), Not(HasSubstr(kLevel)));
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
