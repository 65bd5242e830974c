// McpInput: what it reads of requests of both eras, and how it writes them.

#include "gateway/mcp/mcp_input.h"

#include <gtest/gtest.h>

#include "gateway/pool/dialect.h"

namespace stdgate::test {
namespace {

using Verdict = mcp::InputRuling::Verdict;

class McpInputTest : public testing::Test {
 public:
  rpc::Envelope parse(std::string text) {
    text_ = std::move(text);
    return parser_.parse(text_).value().messages[0].envelope;
  }
  rpc::Envelope request(const std::string& params) {
    return parse(R"({"jsonrpc":"2.0","id":"a","method":"tools/call","params":)" + params + "}");
  }
  mcp::InputRuling judge(const std::string& method, const std::string& params,
                         const std::string& capabilities) {
    const rpc::Envelope ask =
        parse(R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":)" + params + "}");
    return input.judge(ask, method, R"({"capabilities":)" + capabilities + "}");
  }

  const mcp::McpInput& input = mcp::kInput;

 protected:
  std::string text_;
  rpc::EnvelopeParser parser_{rpc::EnvelopeLimits{}};
};

TEST_F(McpInputTest, OnlyCallsNeedInput) {
  for (const char* method : {"tools/call", "prompts/get", "resources/read"}) {
    EXPECT_TRUE(input.may_need_input(method)) << method;
  }
  for (const char* method : {"tools/list", "completion/complete", "server/discover", ""}) {
    EXPECT_FALSE(input.may_need_input(method)) << method;
  }
}

TEST_F(McpInputTest, ReadsAnswers) {
  mcp::InputAnswers read =
      input.read_answers(request(R"({"requestState":"a\u0062","inputResponses":{"k":{}}})"));
  EXPECT_TRUE(read.has_state);
  EXPECT_EQ(read.state, "ab");
  EXPECT_EQ(read.answers, R"({"k":{}})");
  EXPECT_FALSE(input.read_answers(request("{}")).has_state);
  for (const char* params : {R"({"requestState":1})", R"({"requestState":"a","requestState":"b"})",
                             R"({"requestState":"a","inputResponses":[]})"}) {
    read = input.read_answers(request(params));
    EXPECT_TRUE(read.has_state && read.is_malformed) << params;
  }
}

TEST_F(McpInputTest, TheEssenceOfARequestIsWhatStaysTheSame) {
  const std::string one = input.essence(request(R"({"name":"t","arguments":{"a":1}})"));
  EXPECT_EQ(input.essence(
                request(R"({"_meta":{"x":1}, "arguments":{"a":1},"name":"t","requestState":"s",)"
                        R"("inputResponses":{}})")),
            one);
  EXPECT_NE(input.essence(request(R"({"name":"t","arguments":{"a":2}})")), one);
  EXPECT_NE(input.essence(request(R"({"name":"t","arguments":{"a":1},"more":1})")), one);
  EXPECT_NE(input.essence(parse(R"({"jsonrpc":"2.0","id":1,"method":"prompts/get","params":)"
                                R"({"name":"t","arguments":{"a":1}}})")),
            one);
}

TEST_F(McpInputTest, WithoutAnswersTheRequestIsAsAtFirst) {
  EXPECT_EQ(
      input.without_answers(
          request(R"({"requestState":"s","name":"t","inputResponses":{"a":1},"_meta":{"b":2}})")),
      R"({"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t","_meta":{"b":2}}})");
}

TEST_F(McpInputTest, AChildMayAskWhatItsClientDeclares) {
  struct Case {
    std::string method;
    std::string params;
    std::string capabilities;
    Verdict verdict;
    std::string capability;
  };
  const std::vector<Case> cases = {
      {"sampling/createMessage", "{}", R"({"sampling":{}})", Verdict::allowed, ""},
      {"sampling/createMessage", "{}", "{}", Verdict::lacks_capability, R"({"sampling":{}})"},
      {"sampling/createMessage", R"({"tools":[]})", R"({"sampling":{}})", Verdict::lacks_capability,
       R"({"sampling":{"tools":{}}})"},
      {"sampling/createMessage", R"({"tools":[]})", R"({"sampling":{"tools":{}}})",
       Verdict::allowed, ""},
      {"elicitation/create", "{}", R"({"elicitation":{}})", Verdict::allowed, ""},
      {"elicitation/create", R"({"mode":"form"})", R"({"elicitation":{"form":{}}})",
       Verdict::allowed, ""},
      {"elicitation/create", R"({"mode":"url"})", R"({"elicitation":{}})",
       Verdict::lacks_capability, R"({"elicitation":{"url":{}}})"},
      {"elicitation/create", "{}", R"({"elicitation":{"url":{}}})", Verdict::lacks_capability,
       R"({"elicitation":{"form":{}}})"},
      {"elicitation/create", R"({"mode":"url"})", R"({"elicitation":{"url":{}}})", Verdict::allowed,
       ""},
      {"roots/list", "{}", R"({"roots":{}})", Verdict::allowed, ""},
      {"roots/list", "{}", "{}", Verdict::lacks_capability, R"({"roots":{}})"},
      {"tasks/get", "{}", R"({"roots":{},"sampling":{}})", Verdict::unknown, ""},
  };
  for (const Case& each : cases) {
    const mcp::InputRuling ruling = judge(each.method, each.params, each.capabilities);
    EXPECT_EQ(ruling.verdict, each.verdict) << each.method << each.params << each.capabilities;
    if (!each.capability.empty()) {
      EXPECT_EQ(ruling.capability, each.capability);
    }
  }
}

TEST_F(McpInputTest, WhatBelongsToTheLegacyEraIsLeftOut) {
  const mcp::InputRuling ruling = judge("elicitation/create",
                                        R"({"mode":"url","elicitationId":"e","url":"u","_meta":{},)"
                                        R"("task":{},"message":"m"})",
                                        R"({"elicitation":{"url":{}}})");
  EXPECT_EQ(ruling.value,
            R"({"method":"elicitation/create","params":{"mode":"url","url":"u","message":"m"}})");
}

TEST_F(McpInputTest, WritesWhatIsRequired) {
  const mcp::InputRequest requests[] = {{"a", R"({"method":"x"})"}, {"b", "{}"}};
  EXPECT_EQ(
      input.input_required(requests, "s"),
      R"("result":{"resultType":"input_required","inputRequests":{"a":{"method":"x"},"b":{}},)"
      R"("requestState":"s"})");
}

}  // namespace
}  // namespace stdgate::test
