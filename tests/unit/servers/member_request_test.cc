#include "gateway/servers/member_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gateway/mcp/mcp_dialect.h"
#include "tests/support/rpc_texts.h"

namespace stdgate::test {
namespace {

using testing::HasSubstr;

std::vector<rpc::Member> members_of(const mcp::McpParams& read) {
  const mcp::McpMeta& meta = read.of_meta;
  return {read.meta,         read.name,          read.arguments,       read.uri,
          read.task_id,      read.request_state, read.input_responses, meta.version,
          meta.capabilities, meta.client_info,   meta.log_level,       meta.progress_token,
          meta.related_task};
}

struct Case {
  const char* params;
  const char* own_name;  // name at the member
  bool is_filled = false;
  bool is_traced = false;
  bool is_id_last = false;
};

std::string text_of(const Case& one) {
  const std::string id = R"("id":1,)";
  const std::string rest = R"("method":"tools/call","params":)" + std::string(one.params);
  return one.is_id_last ? "{" + rest + R"(,"jsonrpc":"2.0","id":1})"
                        : R"({"jsonrpc":"2.0",)" + id + rest + "}";
}

constexpr const char* kTrace = R"("traceparent":"00-1-2-03")";

class MemberRequestTest : public testing::TestWithParam<Case> {
 protected:
  MemberRequestTest() {
    tools_.fix["own"]["mode"] = R"("safe")";
    const rpc::Envelope& message = parsed_.envelope;
    intent_ = *dialect_.read_client(message, "tools/call", {.params = &params_});
    context_.params = &params_;
    route_.name = intent_.tool;
    route_.own_name = GetParam().own_name;
    if (!intent_.tool.empty()) {
      route_.name_place = {intent_.tool.data() - 1, intent_.tool.size() + 2};
    }
    route_.tool = "own";
    if (GetParam().is_filled) route_.tools = &tools_;
    if (GetParam().is_traced) {
      insertion_ = *call::insertion_at(call::InsertionPlace::meta, message, kTrace);
    }
  }

  ParsedText parsed_{text_of(GetParam())};
  mcp::McpDialect dialect_{"1", "stdgate"};
  mcp::McpParams params_ = mcp::read_params(parsed_.envelope.params);
  call::ClientIntent intent_;
  call::CallContext context_;
  config::MemberToolsConfig tools_;
  servers::Route route_;
  call::Insertion insertion_;
};

// The noted params agree with the text of the request.
TEST_P(MemberRequestTest, SaysWhatItsTextHas) {
  const call::Request request{parsed_.envelope, "tools/call", intent_, context_};
  const std::span<const call::Insertion> insertions(&insertion_, GetParam().is_traced ? 1 : 0);
  const servers::MemberRequest own(request, route_, 7, insertions);
  ParsedText again{std::string(own.envelope().text)};
  EXPECT_EQ(again.envelope.params, own.envelope().params);
  EXPECT_EQ(again.envelope.method, own.envelope().method);
  EXPECT_EQ(again.envelope.id, own.envelope().id);
  EXPECT_EQ(again.envelope.id, "7");
  const mcp::McpParams read = mcp::read_params(own.envelope().params);
  EXPECT_EQ(read.name, "\"" + std::string(GetParam().own_name) + "\"");
  if (own.params() != nullptr) {
    EXPECT_EQ(members_of(*own.params()), members_of(read)) << own.envelope().text;
    EXPECT_EQ(own.params()->similar, read.similar);
  }
  const auto of_member =
      *dialect_.read_client(own.envelope(), "tools/call", {.params = own.params()});
  EXPECT_EQ(of_member.arguments, read.arguments.value_or("")) << own.envelope().text;
  if (GetParam().is_filled) {
    EXPECT_THAT(of_member.arguments, HasSubstr(R"("mode":"safe")"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, MemberRequestTest,
    testing::Values(
        Case{R"({"name":"a_x","arguments":{"k":1}})", "x"}, Case{R"({"name":"x"})", "x"},
        Case{R"({ "arguments" : {"k":1} , "name" : "a_x" })", "a longer name than before"},
        Case{R"({"name":"a_x","arguments":{"k":1}})", "x", false, false, true},
        Case{R"({"arguments":{},"name":"x"})", "x", false, false, true},
        Case{R"({"_meta":{"progressToken":7},"name":"a_x","arguments":{}})", "longer than before"},
        Case{R"({"name":"a_x","_meta":{"progressToken":7}})", "x", false, false, true},
        Case{R"({"name":"a_x"})", "x", true},
        Case{R"({"name":"a_x","arguments":{"mode":"wild"}})", "x", true},
        Case{R"({"name":"a_x","arguments":{"k":1}})", "x", false, true},
        Case{R"({"_meta":{"progressToken":7},"name":"a_x","arguments":{}})", "x", false, true},
        Case{R"({"name":"a_x","Name":"y","arguments":{},"_meta":{"progressToken":"t"}})", "x", true,
             true}));

}  // namespace
}  // namespace stdgate::test
