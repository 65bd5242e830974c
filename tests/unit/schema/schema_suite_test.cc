// The JSON-Schema-Test-Suite: its required part for drafts 2020-12 and 7.
//
// tests/schema-suite installs the suite. Without the suite the test is skipped.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "gateway/rpc/json_reader.h"
#include "gateway/schema/json_schema.h"
#include "gateway/schema/schema_check.h"

namespace stdgate {

namespace {

using schema::Draft;
using schema::JsonTree;
using schema::ValueId;

const std::filesystem::path kSuite = STDGATE_SOURCE_DIR "/build/schema-suite/tests";
constexpr const char* kAbsent = "the suite is not there: tests/schema-suite gets it";

struct Counts {
  size_t passed = 0;
  size_t foreign = 0;  // schemas that refer to other documents
};

bool refers_elsewhere(std::string_view text) {
  return text.find("localhost:1234") != std::string_view::npos ||
         text.find("\"$ref\": \"http") != std::string_view::npos ||
         text.find("\"$ref\":\"http") != std::string_view::npos;
}

void run_group(const JsonTree& file, ValueId group, Draft draft, Counts& counts) {
  std::string scratch;
  const std::string name(file.string(*file.find(group, "description"), scratch));
  const std::string_view text = file.raw(*file.find(group, "schema"));
  const auto compiled = schema::JsonSchema::compile(text, {}, draft);
  if (!compiled) {
    EXPECT_TRUE(refers_elsewhere(text)) << name << ": " << compiled.error();
    ++counts.foreign;
    return;
  }
  const ValueId tests = *file.find(group, "tests");
  schema::SchemaCheck check;
  for (ValueId test = tests + 1; test < file.next(tests); test = file.next(test)) {
    const bool is_valid = file.is_true(*file.find(test, "valid"));
    const std::string_view data = file.raw(*file.find(test, "data"));
    const schema::Fit fit = check.check(*compiled, data);
    EXPECT_EQ(fit, is_valid ? schema::Fit::fits : schema::Fit::differs)
        << name << ": " << file.string(*file.find(test, "description"), scratch) << "\n"
        << text << "\n"
        << data;
    ++counts.passed;
  }
}

Counts run_draft(std::string_view folder, Draft draft) {
  Counts counts;
  for (const auto& entry : std::filesystem::directory_iterator(kSuite / folder)) {
    if (entry.path().extension() != ".json") continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const std::string content = text.str();
    JsonTree file;
    EXPECT_TRUE(file.read(content));
    for (ValueId group = 1; group < file.next(0); group = file.next(group)) {
      SCOPED_TRACE(entry.path().filename().string());
      run_group(file, group, draft, counts);
    }
  }
  return counts;
}

TEST(SchemaSuite, Draft2020) {
  if (!std::filesystem::exists(kSuite)) GTEST_SKIP() << kAbsent;
  const Counts counts = run_draft("draft2020-12", Draft::v2020);
  EXPECT_GT(counts.passed, 1000);
  EXPECT_LT(counts.foreign, 40);
}

TEST(SchemaSuite, Draft7) {
  if (!std::filesystem::exists(kSuite)) GTEST_SKIP() << kAbsent;
  const Counts counts = run_draft("draft7", Draft::v7);
  EXPECT_GT(counts.passed, 800);
  EXPECT_LT(counts.foreign, 30);
}

}  // namespace

}  // namespace stdgate

namespace stdgate::schema {

// The schemas of real MCP servers (tests/schema-servers) can be compiled, and judge values as
// expected.

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
  // Each of the schemas describes an object.
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
