#include "gateway/mcp/mcp_revision.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace stdgate {
namespace {

TEST(McpRevision, HasANameEach) {
  struct Case {
    std::string text;
    std::optional<mcp::McpRevision> revision;
  };
  const std::vector<Case> cases = {
      {"2024-11-05", mcp::McpRevision::v2024_11_05},
      {"2025-03-26", mcp::McpRevision::v2025_03_26},
      {"2025-06-18", mcp::McpRevision::v2025_06_18},
      {"2025-11-25", mcp::McpRevision::v2025_11_25},
      {"2026-07-28", std::nullopt},
      {"2024-10-07", std::nullopt},
      {"2025-11-2", std::nullopt},
      {"2025-11-255", std::nullopt},
      {" 2025-11-25", std::nullopt},
      {"\"2025-11-25\"", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& [text, revision] : cases)
    EXPECT_EQ(mcp::parse_mcp_revision(text), revision) << text;
}

TEST(McpRevision, SaysWhatARevisionHas) {
  struct Case {
    mcp::McpRevision revision;
    bool batches;
    bool priming_events;
  };
  const std::vector<Case> cases = {
      {mcp::McpRevision::v2024_11_05, true, false},
      {mcp::McpRevision::v2025_03_26, true, false},
      {mcp::McpRevision::v2025_06_18, false, false},
      {mcp::McpRevision::v2025_11_25, false, true},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(mcp::has_batches(c.revision), c.batches) << static_cast<int>(c.revision);
    EXPECT_EQ(mcp::has_priming_events(c.revision), c.priming_events)
        << static_cast<int>(c.revision);
  }
}

TEST(McpRevision, TheOtherEraNamesItsVersionInEachMessage) {
  struct Case {
    std::string params;
    std::string version;
  };
  const std::string key = "io.modelcontextprotocol/protocolVersion";
  const std::vector<Case> cases = {
      {R"({"_meta":{")" + key + R"(":"2026-07-28"}})", R"("2026-07-28")"},
      {R"({ "name":"x", "_meta" : { "a":{} , ")" + key + R"(" : "new" } })", R"("new")"},
      {R"({"_meta":{")" + key + R"(":1}})", "1"},
      {R"({"_meta":{"io.modelcontextprotocol\/protocolVersion":"2026-07-28"}})", R"("2026-07-28")"},
      {R"({"_meta":{"io.modelcontextprotocol/protocol\u0056ersion":"2026-07-28"}})",
       R"("2026-07-28")"},
      {R"({"\u005fmeta":{")" + key + R"(":"2026-07-28"}})", R"("2026-07-28")"},
      {R"({"_meta":{"protocolVersion":"2026-07-28"}})", ""},
      {R"({"protocolVersion":"2025-11-25","capabilities":{}})", ""},
      {R"({")" + key + R"(":"2026-07-28"})", ""},
      {R"({"arguments":{"_meta":{")" + key + R"(":"2026-07-28"}}})", ""},
      {R"({"_meta":")" + key + R"("})", ""},
      {R"({"_meta":{"a":")" + key + R"("}})", ""},
      {R"([{"_meta":{")" + key + R"(":"2026-07-28"}}])", ""},
      {"{}", ""},
  };
  for (const auto& [params, version] : cases) {
    std::string text = R"({"jsonrpc":"2.0","id":1,"method":"m","params":)" + params + "}";
    rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
    const auto document = parser.parse(text);
    ASSERT_TRUE(document.has_value()) << params;
    EXPECT_EQ(mcp::modern_version(document->messages[0].envelope), version) << params;
  }
  EXPECT_EQ(mcp::modern_version(rpc::Envelope{}), "");
}

}  // namespace
}  // namespace stdgate
