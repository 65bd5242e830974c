// TOML as clients write it.
#include "gateway/tools/toml_json.h"

#include <gtest/gtest.h>

namespace stdgate::tools {
namespace {

std::string json_of(std::string_view toml) {
  const auto json = toml_as_json(toml);
  return json ? *json : "error: " + json.error();
}

TEST(Toml, BecomesJson) {
  struct Case {
    const char* toml;
    const char* json;
  };
  const Case cases[] = {
      {"", "{}"},
      {"# nothing\n\n", "{}"},
      {"\xEF\xBB\xBF"
       "a = 1",
       R"({"a":"1"})"},
      {"a = 1\nb = true # yes\r\nc=\"x\"", R"({"a":"1","b":true,"c":"x"})"},
      {"[a]\nx = \"1\"\n[a.b]\ny = 2\n[c]\n", R"({"a":{"x":"1","b":{"y":"2"}},"c":{}})"},
      {"[mcp_servers.\"my server\"]\nurl = 'http://a\\b'",
       R"({"mcp_servers":{"my server":{"url":"http://a\\b"}}})"},
      {"a.b.c = 1\na.b.d = 2", R"({"a":{"b":{"c":"1","d":"2"}}})"},
      {"args = [\"-y\", 'x', # comment\n  \"z\",\n]\n", R"({"args":["-y","x","z"]})"},
      {"env = { A = \"1\", \"B C\" = \"2\" }", R"({"env":{"A":"1","B C":"2"}})"},
      {"[[a]]\nx=1\n[[a]]\nx=2\n[a.b]\ny=3", R"({"a":[{"x":"1"},{"x":"2","b":{"y":"3"}}]})"},
      {"a = \"\"\"\none\\\n   two\"\"\"\nb = '''x'y'''", "{\"a\":\"onetwo\",\"b\":\"x'y\"}"},
      {R"(a = "q\"\\\u00e9\U0001f600\t")", "{\"a\":\"q\\\"\\\\\u00e9\U0001f600\\t\"}"},
      {"d = 2026-11-24T10:00:00Z", R"({"d":"2026-11-24T10:00:00Z"})"},
      {"a = [[1, 2], []]", R"({"a":[["1","2"],[]]})"},
      {"x", "error: line 1: a '=' is missing"},
      {"\n= 1", "error: line 2: a key is missing"},
      {"a = ", "error: line 1: a value is missing"},
      {"a = \"x", "error: line 1: a text has no end"},
      {"a = 1 2", "error: line 1: something stands behind the value"},
      {"a = 1\na = 2", "error: line 2: a occurs twice"},
      {"a = 1\n[a]", "error: line 2: a is no table"},
      {"[a", "error: line 1: a table's name has no end"},
      {"a = [1", "error: line 1: an array has no end"},
      {"a = {b=1", "error: line 1: a table between braces has no end"},
      {"a = \"\\ud800\"", "error: line 1: a wrong escape"},
      {"a = \"\\", "error: line 1: a wrong escape"},
  };
  for (const Case& one : cases) EXPECT_EQ(json_of(one.toml), one.json) << one.toml;
}

TEST(Toml, NestingHasALimit) {
  const auto nested = [](size_t depth) {
    return "a = " + std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(json_of(nested(kMaxTomlDepth + 1)).starts_with('{'));
  EXPECT_EQ(json_of(nested(kMaxTomlDepth + 2)), "error: line 1: too deep");
  EXPECT_EQ(json_of(nested(100000)), "error: line 1: too deep");
}

}  // namespace
}  // namespace stdgate::tools
