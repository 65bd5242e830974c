// The schemas of real MCP servers (tests/schema-servers) can be compiled, and take what they
// should.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>

#include "gateway/rpc/json_reader.h"
#include "gateway/schema/json_schema.h"
#include "gateway/schema/schema_check.h"

namespace stdgate::schema {
namespace {

struct Found {
  size_t servers = 0;
  size_t schemas = 0;
};

void compile(std::string_view server, std::string_view tool, std::string_view member,
             Found& found) {
  const std::string_view text = rpc::member_or_empty(tool, member);
  if (!text.starts_with('{')) return;
  ++found.schemas;
  const auto schema = JsonSchema::compile(text);
  const std::string_view name = rpc::member_or_empty(tool, "name");
  ASSERT_TRUE(schema) << server << " " << name << " " << member << ": " << schema.error();
  // Each is of objects.
  SchemaCheck check;
  EXPECT_EQ(check.check(*schema, "[]"), Fit::differs) << server << " " << name;
}

TEST(SchemasOfServers, AreCompiled) {
  std::ifstream file(STDGATE_SOURCE_DIR "/tests/unit/schema/servers.jsonl");
  ASSERT_TRUE(file);
  Found found;
  for (std::string line; std::getline(file, line);) {
    ++found.servers;
    const std::string_view server = rpc::member_or_empty(line, "server");
    rpc::JsonCursor cursor(rpc::member_or_empty(line, "tools"));
    ASSERT_TRUE(cursor.take('[')) << server;
    if (cursor.take(']')) continue;
    do {
      const std::string_view tool = cursor.take_value();
      compile(server, tool, "inputSchema", found);
      compile(server, tool, "outputSchema", found);
    } while (cursor.take(','));
  }
  EXPECT_GE(found.servers, 55U);
  RecordProperty("servers", static_cast<int>(found.servers));
  RecordProperty("schemas", static_cast<int>(found.schemas));
}

}  // namespace
}  // namespace stdgate::schema
