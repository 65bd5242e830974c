// Arguments that clients repeat in header fields: which arguments the list of tools marks, and what
// must be equal. See MCP 2026-07-28, transports: custom headers from tool parameters.
#include "gateway/mcp/param_headers.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "gateway/rpc/message_text.h"

namespace stdgate {
namespace {

std::optional<mcp::ToolPage> page_of(const std::string& result) {
  const rpc::KnownMessage known(R"({"jsonrpc":"2.0","id":1,"result":)" + result + "}");
  return mcp::read_tool_page(known.envelope());
}

mcp::MarkedTool tool_of(const std::string& schema) {
  const auto page = page_of(R"({"tools":[{"name":"t","inputSchema":)" + schema + "}]}");
  EXPECT_TRUE(page && page->tools.size() == 1) << schema;
  return page->tools.at(0);
}

// The marked arguments as text, such as "Region=region Zone=place.zone".
std::string marks_of(const std::string& schema) {
  std::string text;
  for (const mcp::MarkedArgument& argument : tool_of(schema).arguments) {
    text += (text.empty() ? "" : " ") + argument.field + "=";
    for (const std::string& key : argument.path) {
      text += (text.back() == '=' ? "" : ".") + key;
    }
  }
  return text;
}

std::string properties(const std::string& members) {
  return R"({"type":"object","properties":{)" + members + "}}";
}

std::string marked(const std::string& key, const std::string& mark,
                   const std::string& type = "string") {
  return '"' + key + R"(":{"type":")" + type + R"(","x-mcp-header":)" + mark + "}";
}

TEST(ParamHeaders, AListSaysWhichArgumentsAreRepeated) {
  const std::string region = marked("region", R"("Region")");
  const std::string deep =
      R"("place":{"type":"object","properties":{)" + marked("zone", R"("Zone")", "integer") + "}}";
  const std::pair<std::string, std::string> cases[] = {
      {properties(""), ""},
      {"{}", ""},
      {"true", ""},
      {properties(R"("query":{"type":"string"})"), ""},
      {properties(region), "Region=region"},
      {properties(R"("query":{"type":"string"},)" + region + "," + deep),
       "Region=region Zone=place.zone"},
      {properties(marked("flag", R"("F!#")", "boolean")), "F!#=flag"},
      {properties(R"("a\u0062":{"type":"string","x-mcp-h\u0065ader":"A"})"), "A=ab"},
      // Marks count only where keys of `properties` lead to them.
      {R"({"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}})", ""},
      {R"({"anyOf":[)" + properties(region) + "]}", ""},
      // If a mark breaks a rule, clients must ignore the tool.
      {properties(region + "," + marked("b", R"("")")), ""},
      {properties(region + "," + marked("b", R"("a b")")), ""},
      {properties(region + "," + marked("b", R"("a:")")), ""},
      {properties(region + "," + marked("b", R"("a\n")")), ""},
      {properties(region + "," + marked("b", "1")), ""},
      {properties(region + "," + marked("b", R"("rEGION")")), ""},
      {properties(region + "," + marked("b", R"("B")", "number")), ""},
      {properties(region + "," + marked("b", R"("B")", "object")), ""},
      {properties(region + R"(,"b":{"x-mcp-header":"B"})"), ""},
      {properties(region + R"(,"b":{"type":"string","x-mcp-header":"B","x-mcp-header":"C"})"), ""},
  };
  for (const auto& [schema, expected] : cases) EXPECT_EQ(marks_of(schema), expected) << schema;
}

TEST(ParamHeaders, OnlySoManyKeysLeadToAnArgument) {
  const auto nested = [](size_t depth) {
    std::string text = properties(marked("a", R"("A")"));
    for (size_t i = 1; i < depth; ++i) text = properties(R"("a":)" + text);
    return text;
  };
  EXPECT_EQ(tool_of(nested(mcp::kMaxPath)).arguments.size(), 1U);
  EXPECT_EQ(tool_of(nested(mcp::kMaxPath + 1)).arguments.size(), 0U);
}

TEST(ParamHeaders, AListComesInParts) {
  const auto page = page_of(R"({"tools":[{"name":"a"},{},{"name":"\u0062"}],"nextCursor":"x\"y"})");
  ASSERT_TRUE(page.has_value());
  ASSERT_EQ(page->tools.size(), 2U);
  EXPECT_EQ(page->tools[1].name, "b");
  EXPECT_EQ(page->cursor, R"("x\"y")");
  EXPECT_EQ(mcp::list_request(mcp::kToolList, page->cursor, R"("v":1)"),
            R"({"jsonrpc":"2.0","id":0,"method":"tools/list","params":{"cursor":"x\"y",)"
            R"("_meta":{"v":1}}})");
  EXPECT_EQ(mcp::list_request(mcp::kToolList, {}, R"("v":1)"),
            R"({"jsonrpc":"2.0","id":0,"method":"tools/list","params":{"_meta":{"v":1}}})");
  for (const char* const result : {"{}", "[]", "1", R"({"tools":{}})"}) {
    EXPECT_FALSE(page_of(result).has_value()) << result;
  }
  EXPECT_TRUE(page_of(R"({"tools":[]})").has_value());
}

// The problem with the fields; "ok" if there is none.
std::string judged_fields(const std::string& arguments, const std::string& fields) {
  static const mcp::MarkedTool kTool = tool_of(properties(
      marked("region", R"("Region")") + "," + marked("n", R"("N")", "integer") + "," +
      marked("on", R"("On")", "boolean") + R"(,"at":)" + properties(marked("text", R"("Text")"))));
  std::string text =
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t")" + arguments + "}}";
  const rpc::KnownMessage known(text);
  const auto why = mcp::header_mismatch(kTool, known.envelope(), fields);
  if (!why) return "ok";
  EXPECT_EQ(why->find("Header mismatch: Mcp-Param-"), 0U) << *why;
  return why->substr(why->find(' ', 20) + 1);
}

TEST(ParamHeaders, WhatIsRepeatedIsTheSame) {
  const std::string missing = "is missing";
  const std::string other = "is not what the body says";
  const std::string bad = "has characters that it must not have";
  const std::string alone = "repeats an argument that the body does not have";
  const auto of = [](const std::string& members) { return R"(,"arguments":{)" + members + "}"; };
  struct Case {
    std::string arguments, fields, expected;
  };
  const Case cases[] = {
      {of(""), "", "ok"},
      {"", "", "ok"},
      {"", "Region:us\n", alone},
      {of(R"("region":"us-west1")"), "Region:us-west1\n", "ok"},
      {of(R"("region":"us-west1")"), "rEGION:us-west1\n", "ok"},
      {of(R"("region":"us-west1")"), "Other:1\nRegion:us-west1\nTenant:a\n", "ok"},
      {of(R"("region":"us-\u0077est1")"), "Region:us-west1\n", "ok"},
      {of(R"("region":"us-west1")"), "Region:US-WEST1\n", other},
      {of(R"("region":"us-west1")"), "Region:\n", other},
      {of(R"("region":"")"), "Region:\n", "ok"},
      {of(R"("region":"us-west1")"), "", missing},
      {of(R"("region":"us-west1")"), "Regio:us-west1\n", missing},
      {of(R"("region":"a")"), "Region:a\nregion:a\n", "is there twice"},
      {of(R"("region":"a","region":"b")"), "Region:b\n",
       "repeats an argument that the body has twice"},
      {of(R"("region":"a")") + of(R"("region":"b")"), "Region:b\n",
       "repeats an argument that the body has twice"},
      // Null counts as a missing value.
      {of(R"("region":null)"), "", "ok"},
      {of(R"("region":null)"), "Region:null\n", alone},
      // The examples of the specification.
      {of(R"("at":{"text":"Hello, 世界"})"), "Text:=?base64?SGVsbG8sIOS4lueVjA==?=\n", "ok"},
      {of(R"("at":{"text":" padded "})"), "Text:=?base64?IHBhZGRlZCA=?=\n", "ok"},
      {of(R"("at":{"text":"line1\nline2"})"), "Text:=?base64?bGluZTEKbGluZTI=?=\n", "ok"},
      {of(R"("at":{"text":"=?base64?literal?="})"), "Text:=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=\n",
       "ok"},
      {of(R"("at":{"text":"Hello"})"), "Text:=?base64?SGVsbG8sIOS4lueVjA==?=\n", other},
      {of(R"("at":{"text":"a"})"), "Text:=?base64?%%%%?=\n", bad},
      {of(R"("at":{"text":"a"})"), "Text:\xC3\xA4\n", bad},
      {of(R"("at":"text")"), "", "ok"},
      // Integers are compared as numbers.
      {of(R"("n":42)"), "N:42\n", "ok"},
      {of(R"("n":42)"), "N:42.0\n", "ok"},
      {of(R"("n":42.0)"), "N:42\n", "ok"},
      {of(R"("n":-7)"), "N:-7\n", "ok"},
      {of(R"("n":100)"), "N:1e2\n", "ok"},
      {of(R"("n":42)"), "N:43\n", other},
      {of(R"("n":42)"), "N:0x2A\n", other},
      {of(R"("n":42)"), "N:+42\n", other},
      {of(R"("n":42)"), "N:42 \n", other},
      {of(R"("n":42)"), "N:\n", other},
      {of(R"("n":9007199254740991)"), "N:9007199254740991.0\n", "ok"},
      {of(R"("n":9007199254740992)"), "N:9007199254740993\n", other},
      {of(R"("n":9007199254740993)"), "N:9007199254740993\n", "ok"},
      {of(R"("n":1e999)"), "N:2e999\n", other},
      {of(R"("n":"42")"), "N:42\n", "ok"},
      {of(R"("n":"42")"), "N:42.0\n", other},
      {of(R"("on":true)"), "On:true\n", "ok"},
      {of(R"("on":false)"), "On:true\n", other},
      {of(R"("on":true)"), "On:True\n", other},
      // No other value can be repeated.
      {of(R"("region":["a"])"), "Region:[\"a\"]\n", other},
      {of(R"("region":{})"), "", missing},
  };
  for (const auto& [arguments, fields, expected] : cases) {
    EXPECT_EQ(judged_fields(arguments, fields), expected) << arguments << " " << fields;
  }
}

}  // namespace
}  // namespace stdgate
