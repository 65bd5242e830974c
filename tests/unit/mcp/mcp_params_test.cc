#include "gateway/mcp/mcp_params.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/rpc_texts.h"

namespace stdgate {

namespace {

using mcp::McpParams;
using mcp::MetaMemory;

std::vector<rpc::Member> all_of(const McpParams& read) {
  return {read.meta,
          read.name,
          read.arguments,
          read.uri,
          read.task_id,
          read.request_state,
          read.input_responses,
          read.of_meta.version,
          read.of_meta.capabilities,
          read.of_meta.client_info,
          read.of_meta.log_level,
          read.of_meta.progress_token};
}

std::string meta_with(const std::string& more) {
  return R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
         R"("io.modelcontextprotocol/clientCapabilities":{"roots":{}})" +
         more + "}";
}

TEST(McpParams, EachMemberIsFound) {
  MetaMemory memory;
  const std::string text =
      R"({ "name" : "n" ,"arguments": {"a":[1]} ,"uri":"u","taskId":3,"requestState":"s","inputResponses":{},)" +
      meta_with(R"(,"io.modelcontextprotocol/clientInfo":{"name":"c"},"progressToken":7,)"
                R"("io.modelcontextprotocol\/logLevel":"info")") +
      "}";
  const McpParams read = mcp::read_params(text, memory);
  EXPECT_EQ(read.name, R"("n")");
  EXPECT_EQ(read.arguments, R"({"a":[1]})");
  EXPECT_EQ(read.uri, R"("u")");
  EXPECT_EQ(read.task_id, "3");
  EXPECT_EQ(read.request_state, R"("s")");
  EXPECT_EQ(read.input_responses, "{}");
  EXPECT_EQ(read.of_meta.version, R"("2026-07-28")");
  EXPECT_EQ(read.of_meta.capabilities, R"({"roots":{}})");
  EXPECT_EQ(read.of_meta.client_info, R"({"name":"c"})");
  EXPECT_EQ(read.of_meta.log_level, R"("info")");
  EXPECT_EQ(read.of_meta.progress_token, "7");
}

// Some readers ignore case, with the case folding of Unicode.
TEST(McpParams, KeysThatResembleOthersAreNoted) {
  const struct {
    const char* key;
    int similar;
  } cases[] = {
      {R"("name")", 0},
      {R"("\u006eame")", 0},  // the name itself
      {R"("names")", 0},
      {R"("nam")", 0},
      {R"("Name")", mcp::kNameParam},
      {R"("n\u0041me")", mcp::kNameParam},
      {R"("ARGUMENTS")", mcp::kArgumentsParam},
      {"\"argument\u017f\"", mcp::kArgumentsParam},  // a long s
      {"\"tas\u212aId\"", mcp::kTaskIdParam},        // the kelvin sign
      {R"("uRi")", mcp::kUriParam},
      {R"("_Meta")", mcp::kMetaParam},
      {R"("requeststate")", mcp::kStateParam},
      {R"("inputresponses")", mcp::kResponsesParam},
      {R"("a key of more bytes than any")", 0},
      {R"("")", 0},
  };
  for (const auto& [key, similar] : cases) {
    const McpParams read = mcp::read_params("{" + std::string(key) + R"(:{"name":1}})");
    EXPECT_EQ(read.similar, similar) << key;
    EXPECT_EQ(read.name.has_value(), similar == 0 && std::string(key).ends_with("ame\"")) << key;
  }
}

TEST(McpParams, AKeyThatIsThereTwiceHasNoValue) {
  const McpParams read =
      mcp::read_params(R"({"name":"a","arguments":{},"n\u0061me":"b","arguments":{}})");
  EXPECT_EQ(read.name, tl::unexpected(rpc::MemberError::duplicate));
  EXPECT_EQ(read.arguments, tl::unexpected(rpc::MemberError::duplicate));
  EXPECT_TRUE(rpc::is_absent(read.uri));
}

// The result does not depend on texts that were read before, and the views point into the present
// text.
TEST(McpParams, WhatIsRememberedChangesNoAnswer) {
  const std::string large(2 * MetaMemory::kMaxText, 'x');
  const std::string texts[] = {
      "{" + meta_with("") + R"(,"name":"a"})",
      "{" + meta_with("") + R"(,"name":"b","arguments":{"_meta":1}})",
      R"({"name":"c",)" + meta_with("") + " }",
      "{" + meta_with("") + R"(  , "_meta":{}})",
      "{" + meta_with("") + "," + meta_with("") + "}",
      "{" + meta_with(R"(,"progressToken":1)") + "}",
      "{" + meta_with(R"(,"progressToken":2)") + "}",
      "{" + meta_with(R"(,"progressToken":1,"progressToken":1)") + "}",
      "{" + meta_with(R"(,"x":")" + large + "\"") + "}",
      R"({"_meta":{}})",
      R"({"_meta":1})",
      R"({"_meta":[]})",
      R"({"name":)" + meta_with("").substr(8) + "}",
      "{}",
      "[]",
      "",
  };
  MetaMemory memory;
  for (const std::string& before : texts) {
    for (const std::string& text : texts) {
      MetaMemory none;
      mcp::read_params(before, memory);
      const auto found = all_of(mcp::read_params(text, memory));
      EXPECT_EQ(found, all_of(mcp::read_params(text, none))) << before << text;
      for (const rpc::Member& member : found) {
        if (!member) continue;
        EXPECT_GE(member->data(), text.data());
        EXPECT_LE(member->data() + member->size(), text.data() + text.size());
      }
    }
  }
}

// Members that the parser has noted are not searched again. The result is the same.
TEST(McpParams, NotedMembersAreReadAlike) {
  std::string many = "{";
  for (int i = 0; i < 20; ++i) many += "\"k" + std::to_string(i) + "\":1,";
  const std::string params[] = {
      R"({"name":"a","arguments":{"x":[1,"}"]}})",
      R"({ "arguments" : {} , "n\u0061me" : "b" , "Uri":1 })",
      R"({"name":"a","name":"b",)" + meta_with(R"(,"progressToken":1)") + "}",
      "{" + meta_with("") + R"(  , "_meta":{}})",
      many + R"("name":"a"})",
      "{}",
      "[]",
  };
  for (const std::string& one : params) {
    std::string text = R"({"jsonrpc":"2.0","id":1,"method":"m","params":)" + one + "}";
    rpc::EnvelopeParser parser({.notes_params = true});
    const auto document = parser.parse(text);
    ASSERT_TRUE(document && document->messages[0].ok()) << text;
    MetaMemory memory;
    const std::string_view params_text = document->messages[0].envelope.params;
    const McpParams expected = mcp::read_params(params_text);
    for (MetaMemory* const used : {static_cast<MetaMemory*>(nullptr), &memory}) {
      const McpParams read = mcp::read_params(params_text, parser.params(), used);
      EXPECT_EQ(all_of(read), all_of(expected)) << text;
      EXPECT_EQ(read.similar, expected.similar) << text;
    }
  }
}

TEST(McpParams, ALongMetaIsNotKept) {
  MetaMemory memory;
  mcp::read_params("{" + meta_with("") + "}", memory);
  EXPECT_EQ(memory.text(), meta_with("").substr(8));
  const std::string large(MetaMemory::kMaxText, 'x');
  mcp::read_params("{" + meta_with(R"(,"x":")" + large + "\"") + "}", memory);
  EXPECT_EQ(memory.text(), meta_with("").substr(8));
  memory.forget();
  EXPECT_EQ(memory.text(), "");
}

}  // namespace

}  // namespace stdgate

namespace stdgate::test {

// Which tools, resources and prompts MCP messages are about, and how requests for unknown ones are
// answered.

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
