// The JSON-Schema-Test-Suite: its required part of drafts 2020-12 and 7.
//
// It is where tests/schema-suite has put it, or in the folder that STDGATE_SCHEMA_SUITE names, as
// in its repository: tests/draft7/*.json. Without it the test is skipped.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "gateway/schema/schema_check.h"

namespace stdgate {
namespace {

using schema::Draft;
using schema::JsonTree;
using schema::ValueId;

std::filesystem::path suite_folder() {
  if (const char* const named = std::getenv("STDGATE_SCHEMA_SUITE")) return named;
  return {};
}

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
  for (const auto& entry : std::filesystem::directory_iterator(suite_folder() / folder)) {
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
  if (suite_folder().empty()) GTEST_SKIP() << "STDGATE_SCHEMA_SUITE names no folder";
  const Counts counts = run_draft("tests/draft2020-12", Draft::v2020);
  EXPECT_GT(counts.passed, 1000);
  EXPECT_LT(counts.foreign, 40);
}

TEST(SchemaSuite, Draft7) {
  if (suite_folder().empty()) GTEST_SKIP() << "STDGATE_SCHEMA_SUITE names no folder";
  const Counts counts = run_draft("tests/draft7", Draft::v7);
  EXPECT_GT(counts.passed, 800);
  EXPECT_LT(counts.foreign, 30);
}

}  // namespace
}  // namespace stdgate
