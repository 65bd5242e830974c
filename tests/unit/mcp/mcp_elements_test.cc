// Which tools, resources and prompts messages of MCP are about, and what the unknown ones answer.

#include <gtest/gtest.h>

#include <string>

#include "gateway/mcp/mcp_params.h"
#include "tests/support/parsed_text.h"

namespace stdgate::test {
namespace {

using policy::ElementKind;

std::string request(const std::string& method, const std::string& params) {
  return R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":)" + params + "}";
}

tl::expected<call::UsedElement, const char*> element(const ParsedText& text) {
  return mcp::used_element(text.envelope, text.method());
}

TEST(McpElements, AreNamedInParams) {
  struct Case {
    std::string method;
    std::string params;
    ElementKind kind;
    std::string name;
    std::string use = {};
  };
  const Case cases[] = {
      {"tools/call", R"({"name":"t","arguments":{"name":"x"}})", ElementKind::tool, "t"},
      {"tools/call", R"({"n\u0061me":"\u0074"})", ElementKind::tool, R"(\u0074)"},
      {"tools/call", "{}", ElementKind::tool, ""},
      {"tools/call", "[]", ElementKind::tool, ""},
      {"tools/call", R"({"name":5})", ElementKind::tool, ""},
      {"resources/read", R"({"uri":"u"})", ElementKind::resource, "u"},
      {"resources/subscribe", R"({"uri":"u"})", ElementKind::resource, "u", "resources/read"},
      {"resources/unsubscribe", R"({"uri":"u"})", ElementKind::resource, "u", "resources/read"},
      {"prompts/get", R"({"name":"p"})", ElementKind::prompt, "p"},
      {"completion/complete", R"({"ref":{"type":"ref/prompt","name":"p"}})", ElementKind::prompt,
       "p", "prompts/get"},
      {"completion/complete", R"({"ref":{"type":"ref/resource","uri":"u","name":"n"}})",
       ElementKind::resource, "u", "resources/read"},
      {"completion/complete", R"({"ref":{"type":"ref/other","uri":"u"}})", ElementKind::resource,
       "", "resources/read"},
      {"completion/complete", "{}", ElementKind::resource, "", "resources/read"},
      {"tools/list", "{}", ElementKind::none, ""},
      {"whatever", R"({"name":"t"})", ElementKind::none, ""},
  };
  for (const Case& c : cases) {
    const ParsedText text(request(c.method, c.params));
    const auto found = element(text);
    ASSERT_TRUE(found) << c.method << c.params;
    EXPECT_EQ(found->kind, c.kind) << c.method << c.params;
    EXPECT_EQ(found->name, c.name) << c.method << c.params;
    if (c.kind != ElementKind::none) {
      EXPECT_EQ(found->use, c.use.empty() ? c.method : c.use);
    }
  }
}

TEST(McpElements, AreSeveralWhereUpdatesAreAskedFor) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"notifications":{"resourceSubscriptions":["a","b"]}})", R"(["a","b"])"},
      {R"({"notifications":{"resourceSubscriptions":[]}})", "[]"},
      {R"({"notifications":{"resourceSubscriptions":7}})", "7"},
      {R"({"notifications":{"toolsListChanged":true}})", ""},
      {"{}", ""},
  };
  for (const auto& [params, names] : cases) {
    const ParsedText text(request("subscriptions/listen", params));
    const auto found = element(text);
    ASSERT_TRUE(found) << params;
    EXPECT_EQ(found->names, names) << params;
    EXPECT_EQ(found->kind, *names == 0 ? ElementKind::none : ElementKind::resource) << params;
  }
}

TEST(McpElements, WhatReadersCouldReadDifferentlyIsRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"tools/call", R"({"name":"a","name":"b"})"},
      {"tools/call", R"({"name":"a","n\u0061me":"b"})"},
      {"tools/call", R"({"name":"a","Name":"b"})"},
      {"tools/call", R"({"NAME":"b"})"},
      {"resources/read", R"({"uri":"a","URI":"b"})"},
      {"resources/subscribe", R"({"uri":"a","uri":"b"})"},
      {"prompts/get", R"({"name":"a","name":"b"})"},
      {"completion/complete", R"({"ref":{},"ref":{}})"},
      {"subscriptions/listen", R"({"notifications":{},"notifications":{}})"},
      {"subscriptions/listen", R"({"Notifications":{}})"},
      {"subscriptions/listen",
       R"({"notifications":{"resourceSubscriptions":[],"resourceSubscriptions":["u"]}})"},
      {"completion/complete", R"({"ref":{"type":"ref/prompt","type":"ref/resource"}})"},
      {"completion/complete", R"({"ref":{"type":"ref/prompt","name":"a","nAme":"b"}})"},
      {"completion/complete", R"({"ref":{"type":"ref/resource","uri":"a","uri":"b"}})"},
  };
  for (const auto& [method, params] : cases) {
    const ParsedText text(request(method, params));
    EXPECT_FALSE(element(text)) << method << params;
  }
}

TEST(McpElements, ListsHaveTheirShapes) {
  for (const char* method :
       {"tools/list", "resources/list", "resources/templates/list", "prompts/list"}) {
    const call::ListShape* const shape = mcp::list_shape(method);
    ASSERT_NE(shape, nullptr) << method;
    EXPECT_NE(shape->kind, ElementKind::none);
  }
  EXPECT_EQ(mcp::list_shape("tools/call"), nullptr);
  EXPECT_EQ(mcp::list_shape(""), nullptr);
}

TEST(McpElements, UnknownOnesAreAnsweredAsServersDo) {
  const auto check = [](const char* method, ElementKind kind, int code, const char* message) {
    const call::Absence absence = mcp::absence(method, kind, "n", PeerKind::stateful);
    EXPECT_EQ(rpc::rpc_error_code(absence.error), code);
    EXPECT_EQ(absence.message, message);
    return absence.data;
  };
  EXPECT_EQ(check("tools/call", ElementKind::tool, -32602, "Unknown tool: n"), "");
  EXPECT_EQ(check("prompts/get", ElementKind::prompt, -32602, "Unknown prompt: n"), "");
  EXPECT_EQ(check("resources/read", ElementKind::resource, -32002, "Resource not found"),
            R"({"uri":"n"})");
  EXPECT_EQ(check("completion/complete", ElementKind::resource, -32602, "Unknown resource: n"), "");
  EXPECT_EQ(check("tasks/list", ElementKind::none, -32601, "Method not found"), "");
  const auto modern =
      mcp::absence("resources/read", ElementKind::resource, "n", PeerKind::stateless);
  EXPECT_EQ(rpc::rpc_error_code(modern.error), -32602);
}

}  // namespace
}  // namespace stdgate::test
