// The era of a backend's children: what the gateway asks the first child, and what the answer means
// for the others.

#include "tests/unit/mcp/shared_bench.h"

namespace stdgate::test {
namespace {

using std::chrono::seconds;

constexpr std::string_view kDiscovery =
    R"({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},)"
    R"("_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"3"}}})";
constexpr std::string_view kInitialized = R"({"protocolVersion":"2025-11-25"})";

backend::BackendOptions era_options(config::Revision revision) {
  backend::BackendOptions options = shared_mcp_options(1);
  options.config.isolation = config::Isolation::session;  // a shared child serves calls without one
  options.config.pool.max = 2;
  options.config.revision = revision;
  options.config.pool.max_in_flight = 1;  // room for one request of the gateway
  options.config.pool.start_timeout = seconds(30);
  return options;
}

// A backend whose first child runs.
class McpEra : public testing::Test {
 public:
  explicit McpEra(config::Revision revision = config::Revision::automatic)
      : bench(era_options(revision), std::make_unique<mcp::McpDialect>("1")) {
    bench.child(0).start();
  }

  // The method of the child's only new request; empty if there is no request. Keeps the request's
  // id.
  std::string asked(size_t index) {
    std::string method;
    for (std::string& line : bench.child(index).take_lines()) {
      const Asked request = parse_asked(line);
      if (request.id.empty()) continue;
      EXPECT_EQ(method, "") << line;
      method = request.method;
      id = request.id;
    }
    return method;
  }
  void answer(size_t index, std::string_view result) {
    bench.child(index).answer(id, std::string(result));
  }
  void refuse(size_t index, int code) {
    bench.child(index).say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"error":{"code":)" +
                           std::to_string(code) + R"(,"message":"no"}})");
  }
  // Starts the child that replaces an ended one.
  void start_next() {
    bench.advance(seconds(1));
    bench.start_child();
  }
  [[nodiscard]] std::string revision() {
    const auto children = bench.status().children;
    return children.empty() ? "" : children.front().facts.protocol_version;
  }
  [[nodiscard]] bool ready() const { return bench.status().ready; }

  BackendBench bench;
  std::string id;
};

TEST_F(McpEra, AModernChildAnswersAndIsReady) {
  EXPECT_EQ(asked(0), "server/discover");
  EXPECT_FALSE(ready());
  answer(0, kDiscovery);
  EXPECT_TRUE(ready());
  EXPECT_EQ(revision(), "2026-07-28");
  EXPECT_EQ(bench.status().children.front().facts.server_name, "s");
  EXPECT_EQ(bench.status().children.front().facts.server_version, "3");
  EXPECT_EQ(asked(0), "") << "a modern child is not initialized";
}

TEST_F(McpEra, AnErrorMakesItALegacyChildInTheSameProcess) {
  for (const int code : {-32601, -32602, -32022, 0}) {
    BackendBench other(era_options(config::Revision::automatic),
                       std::make_unique<mcp::McpDialect>("1"));
    FakeChild& child = other.child(0);
    child.start();
    const Asked probe = parse_asked(child.take_line());
    child.say(R"({"jsonrpc":"2.0","id":)" + probe.id + R"(,"error":{"code":)" +
              std::to_string(code) + R"(,"message":"no"}})");
    const Asked greeting = parse_asked(child.take_line());
    EXPECT_EQ(greeting.method, "initialize") << code;
    child.answer(greeting.id, std::string(kInitialized));
    EXPECT_TRUE(other.status().ready) << code;
    EXPECT_EQ(other.launcher.launched(), 1U) << code;
  }
}

TEST_F(McpEra, AResultWithoutTheVersionMakesItALegacyChild) {
  asked(0);
  answer(0, R"({"supportedVersions":["2025-11-25"],"capabilities":{}})");
  EXPECT_EQ(asked(0), "initialize");
}

TEST_F(McpEra, AnAnswerThatCannotBeReadMakesItALegacyChild) {
  asked(0);
  bench.child(0).say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"what":1})");
  EXPECT_EQ(asked(0), "initialize");
}

TEST_F(McpEra, SilenceMakesItALegacyChildAfterAPartOfTheStartTimeout) {
  asked(0);
  bench.advance(seconds(5) - std::chrono::milliseconds(1));
  EXPECT_EQ(asked(0), "");
  bench.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(asked(0), "initialize");
  answer(0, kInitialized);
  EXPECT_TRUE(ready());
  EXPECT_EQ(bench.launcher.launched(), 1U);
}

TEST_F(McpEra, TheWholeStartTimeoutIsNotExceeded) {
  asked(0);
  bench.advance(seconds(29));
  EXPECT_TRUE(bench.child(0).ends().empty());
  bench.advance(seconds(1));
  EXPECT_FALSE(bench.child(0).ends().empty());
}

TEST_F(McpEra, AChildThatCannotBearTheQuestionIsReplacedAtOnce) {
  asked(0);
  bench.child(0).exit(1);
  EXPECT_EQ(bench.status().failures, 0U);
  ASSERT_EQ(bench.launcher.launched(), 2U);
  bench.child(1).start();
  EXPECT_EQ(asked(1), "initialize") << "the verdict is kept";
  answer(1, kInitialized);
  EXPECT_TRUE(ready());
}

TEST_F(McpEra, AChildThatCannotBearAnythingHasFailedFromTheFirstStartOn) {
  backend::BackendOptions options = era_options(config::Revision::automatic);
  options.config.pool.breaker_failures = 3;
  BackendBench other(options, std::make_unique<mcp::McpDialect>("1"));
  for (const size_t failures : {0U, 2U, 3U}) {
    EXPECT_FALSE(other.status().breaker_open);
    other.start_child().exit(1);
    EXPECT_EQ(other.status().failures, failures);
    other.advance(seconds(1));
  }
  EXPECT_EQ(other.launcher.launched(), 4U) << "the trial";
  EXPECT_EQ(std::ranges::count_if(other.log.lines,
                                  [](const std::string& line) {
                                    return line.starts_with("breaker opened") &&
                                           line.find(" failures=3 ") != std::string::npos;
                                  }),
            1);
}

TEST_F(McpEra, AVerdictThatAStartContradictsIsForgotten) {
  asked(0);
  bench.child(0).exit(1);
  bench.child(1).start();
  EXPECT_EQ(asked(1), "initialize");
  refuse(1, -32022);
  bench.child(1).die(9);
  EXPECT_EQ(bench.status().failures, 1U);
  start_next();
  EXPECT_EQ(asked(2), "server/discover");
}

TEST_F(McpEra, AVerdictIsKeptForTheNextChild) {
  asked(0);
  answer(0, kDiscovery);
  bench.child(0).exit(1);
  start_next();
  EXPECT_EQ(asked(1), "server/discover");
  bench.advance(seconds(20));
  EXPECT_EQ(asked(1), "") << "a modern child may take the whole start timeout";
  refuse(1, -32601);
  EXPECT_FALSE(bench.child(1).ends().empty());
  bench.child(1).die(9);
  EXPECT_EQ(bench.status().failures, 1U) << "the server is another one now, and fails nothing";
  start_next();
  EXPECT_EQ(asked(2), "server/discover");
  refuse(2, -32601);
  EXPECT_EQ(asked(2), "initialize") << "it is asked anew";
}

TEST_F(McpEra, ASlowModernChildIsBegunWithAnew) {
  asked(0);
  const std::string probe = id;
  bench.advance(seconds(6));
  EXPECT_EQ(asked(0), "initialize");
  bench.child(0).answer(probe, std::string(kDiscovery));
  EXPECT_FALSE(bench.child(0).ends().empty());
  bench.child(0).die(9);
  EXPECT_EQ(bench.status().failures, 0U);
  start_next();
  EXPECT_EQ(asked(1), "server/discover");
  bench.advance(seconds(20));
  answer(1, kDiscovery);
  EXPECT_TRUE(ready());
}

// The child answers only after it has read both questions, and answers the second question first.
TEST_F(McpEra, ASlowModernChildMayRefuseTheHandshakeFirst) {
  asked(0);
  const std::string probe = id;
  bench.advance(seconds(6));
  EXPECT_EQ(asked(0), "initialize");
  refuse(0, -32022);
  EXPECT_TRUE(bench.child(0).ends().empty()) << "its other answer is still to come";
  bench.child(0).answer(probe, std::string(kDiscovery));
  EXPECT_FALSE(bench.child(0).ends().empty());
  bench.child(0).die(9);
  EXPECT_EQ(bench.status().failures, 0U);
  start_next();
  EXPECT_EQ(asked(1), "server/discover");
  answer(1, kDiscovery);
  EXPECT_TRUE(ready());
}

TEST_F(McpEra, ASlowChildThatRefusesBothHasFailed) {
  asked(0);
  const std::string probe = id;
  bench.advance(seconds(6));
  asked(0);
  refuse(0, -32603);
  id = probe;
  refuse(0, -32603);
  EXPECT_FALSE(bench.child(0).ends().empty());
}

TEST(McpEraStarts, OneChildIsAskedAtATime) {
  backend::BackendOptions options = shared_mcp_options(3);
  options.config.isolation = config::Isolation::session;
  options.config.pool.max = 4;
  options.config.revision = config::Revision::automatic;
  BackendBench bench(options, std::make_unique<mcp::McpDialect>("1"));
  ASSERT_EQ(bench.launcher.launched(), 1U);
  FakeChild& child = bench.child(0);
  child.start();
  child.answer(child.take_ids().at(0), std::string(kDiscovery));
  EXPECT_EQ(bench.launcher.launched(), 3U);
}

// With shared children, sessions of legacy clients need a legacy child.
TEST(McpEraStarts, ChildrenThatSessionsShareAreInitializedFirst) {
  backend::BackendOptions options = shared_mcp_options(1);
  options.config.revision = config::Revision::automatic;
  BackendBench bench(options, std::make_unique<mcp::McpDialect>("1"));
  bench.child(0).start();
  const Asked greeting = parse_asked(bench.child(0).take_line());
  EXPECT_EQ(greeting.method, "initialize");
  bench.child(0).say(R"({"jsonrpc":"2.0","id":)" + greeting.id +
                     R"(,"error":{"code":-32601,"message":"no"}})");
  bench.child(0).die(9);
  EXPECT_EQ(bench.status().failures, 0U);
  ASSERT_EQ(bench.launcher.launched(), 2U);
  bench.child(1).start();
  const Asked probe = parse_asked(bench.child(1).take_line());
  EXPECT_EQ(probe.method, "server/discover");
  bench.child(1).answer(probe.id, std::string(kDiscovery));
  EXPECT_TRUE(bench.status().ready);
}

class McpLegacyEra : public McpEra {
 public:
  McpLegacyEra() : McpEra(config::Revision::legacy) {}
};

TEST_F(McpLegacyEra, IsNotAsked) { EXPECT_EQ(asked(0), "initialize"); }

class McpModernEra : public McpEra {
 public:
  McpModernEra() : McpEra(config::Revision::modern) {}
};

TEST_F(McpModernEra, IsDemanded) {
  EXPECT_EQ(asked(0), "server/discover");
  refuse(0, -32601);
  EXPECT_FALSE(bench.child(0).ends().empty());
  bench.child(0).die(9);
  EXPECT_EQ(bench.status().failures, 1U);
  start_next();
  EXPECT_EQ(asked(1), "server/discover");
  bench.advance(seconds(30));
  EXPECT_FALSE(bench.child(1).ends().empty());
}

}  // namespace
}  // namespace stdgate::test
