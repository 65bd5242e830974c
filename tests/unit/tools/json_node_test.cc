// TOML as clients write it, and JSON with the extensions that editors allow.
#include "gateway/tools/json_node.h"

#include <gtest/gtest.h>

#include "gateway/tools/listing.h"

namespace stdgate::tools {

namespace {

std::string json_of(std::string_view toml) {
  const auto root = read_toml(toml);
  return root ? root->json() : "error: " + root.error();
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
      {"x", "error: it is no TOML: line 1: a '=' is missing"},
      {"\n= 1", "error: it is no TOML: line 2: a key is missing"},
      {"a = ", "error: it is no TOML: line 1: a value is missing"},
      {"a = \"x", "error: it is no TOML: line 1: a text has no end"},
      {"a = 1 2", "error: it is no TOML: line 1: something stands behind the value"},
      {"a = 1\na = 2", "error: it is no TOML: line 2: a occurs twice"},
      {"a = 1\n[a]", "error: it is no TOML: line 2: a is no table"},
      {"[a", "error: it is no TOML: line 1: a table's name has no end"},
      {"a = [1", "error: it is no TOML: line 1: an array has no end"},
      {"a = {b=1", "error: it is no TOML: line 1: a table between braces has no end"},
      {"a = \"\\ud800\"", "error: it is no TOML: line 1: a wrong escape"},
      {"a = \"\\", "error: it is no TOML: line 1: a wrong escape"},
  };
  for (const Case& one : cases) EXPECT_EQ(json_of(one.toml), one.json) << one.toml;
}

TEST(Toml, NestingHasALimit) {
  const auto nested = [](size_t depth) {
    return "a = " + std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(json_of(nested(kMaxTomlDepth + 1)).starts_with('{'));
  EXPECT_EQ(json_of(nested(kMaxTomlDepth + 2)), "error: it is no TOML: line 1: too deep");
  EXPECT_EQ(json_of(nested(100000)), "error: it is no TOML: line 1: too deep");
}

TEST(Toml, DottedKeysHaveTheSameLimit) {
  const auto dotted = [](size_t parts) {
    std::string key = "a";
    for (size_t i = 1; i < parts; ++i) key += ".a";
    return key;
  };
  EXPECT_TRUE(json_of("[" + dotted(kMaxTomlDepth) + "]").starts_with('{'));
  EXPECT_EQ(json_of("[" + dotted(kMaxTomlDepth + 1) + "]"),
            "error: it is no TOML: line 1: too deep");
  EXPECT_EQ(json_of(dotted(100000) + " = 1"), "error: it is no TOML: line 1: too deep");
}

// Where servers stand in the text of a client, that it can be changed there.
TEST(Toml, ValuesKnowTheirPlaces) {
  const std::string text =
      "\xEF\xBB\xBF# \u00e9\r\n[s.\"a \u00e9\"] # one\r\n  args = ['\u00e9', \"x\"] # two\n"
      "b . \"c\".d = {e = 1}\n";
  const auto root = read_toml(text);
  ASSERT_TRUE(root);
  const JsonNode& table = *root->find("s")->find("a \u00e9");
  ASSERT_EQ(table.headers.size(), 1U);
  EXPECT_EQ(table.headers[0].of(text), "[s.\"a \u00e9\"]");
  EXPECT_EQ(table.find("args")->value.of(text), "['\u00e9', \"x\"]");
  EXPECT_EQ(table.find("args")->pair.of(text), "args = ['\u00e9', \"x\"]");
  const JsonNode& inner = *table.find("b")->find("c")->find("d");
  EXPECT_EQ(inner.pair.of(text), "b . \"c\".d = {e = 1}");
  EXPECT_EQ(inner.find("e")->pair.of(text), "e = 1");
}

TEST(Json, MayHaveCommentsAndCommasAtEnds) {
  struct Case {
    const char* text;
    const char* json;
  };
  const Case cases[] = {
      {"\xEF\xBB\xBF{ } // end", "{}"},
      {"/* a */ [1, /* , */ 2.50,\n] ", "[1,2.50]"},
      {"{\"a\": {\"b//\": [true, null, {}], }, // c\n \"\\u0064\": \"\\n\",}",
       "{\"a\":{\"b//\":[true,null,{}]},\"d\":\"\\n\"}"},
      {"", "error: it is no JSON: line 1: a value is missing"},
      {"{\n1", "error: it is no JSON: line 2: a key is missing"},
      {"{\"a\" 1}", "error: it is no JSON: line 1: a colon is missing"},
      {"[1 2]", "error: it is no JSON: line 1: a comma is missing"},
      {"[1", "error: it is no JSON: line 1: a comma is missing"},
      {"[\"a\n\"]", "error: it is no JSON: line 1: a text has no end"},
      {"[\"\\u00g0\"]", "error: it is no JSON: line 1: an escape is no JSON"},
      {"[] /*", "error: it is no JSON: line 1: a comment has no end"},
      {"[] []", "error: it is no JSON: line 1: something stands behind the end"},
      {"[yes]", "error: it is no JSON"},
  };
  for (const Case& one : cases) {
    const auto root = read_json(one.text);
    EXPECT_EQ(root ? root->json() : "error: " + root.error(), one.json) << one.text;
  }
}

TEST(Json, NestingHasALimit) {
  const std::string two = "[[]]";
  EXPECT_TRUE(read_json(two, 1).has_value());
  EXPECT_EQ(read_json(two, 0).error(), "it is no JSON: line 1: too deep");
}

TEST(Json, ValuesAreReadByKind) {
  const auto root =
      read_json(R"({"text": "\u0061", "yes": true, "number": 1.5, "list": [1, "b"]})");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->text_at("text"), "a");
  EXPECT_EQ(root->text_at("number"), "");
  EXPECT_TRUE(root->is_true("yes"));
  EXPECT_FALSE(root->is_true("text"));
  EXPECT_EQ(root->number_at("number"), 1.5);
  EXPECT_EQ(root->number_at("text"), 0);
  EXPECT_EQ(root->list_at("list").size(), 2U);
  EXPECT_TRUE(root->list_at("yes").empty());
  EXPECT_EQ(root->find("number")->literal(), "1.5");
  EXPECT_EQ(root->find("none"), nullptr);
}

}  // namespace

// The layout of JSON for people.

namespace {

TEST(JsonLayout, OneMemberALine) {
  EXPECT_EQ(laid_out(R"({"a":[1, 2.50],"b":{},"c":[ ],"d":{"e":null}})"), R"({
  "a": [
    1,
    2.50
  ],
  "b": {},
  "c": [],
  "d": {
    "e": null
  }
})");
}

TEST(JsonLayout, ValuesStayAsTheyAreSpelled) {
  for (const char* const value :
       {"12345678901234567890", "-0.0e+00", R"("a,b:{c}\"\u00e9")", "true", "[]", "\"\""}) {
    EXPECT_EQ(laid_out(value), value);
  }
}

TEST(JsonLayout, WhatATerminalWouldObeyIsMadeVisible) {
  EXPECT_EQ(laid_out("\"a\xc2\x9b"
                     "b\""),
            "\"a\\u009bb\"");
}

}  // namespace

}  // namespace stdgate::tools
