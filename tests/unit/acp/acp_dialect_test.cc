// AcpDialect: what ACP adds to JSON-RPC, by tables.

#include "gateway/acp/acp_dialect.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/rpc_texts.h"

namespace stdgate {
namespace {

using Kind = call::ClientIntent::Kind;
using Message = test::ParsedText;

const acp::AcpDialect& dialect() {
  static const acp::AcpDialect kDialect;
  return kDialect;
}

TEST(AcpDialect, ReadsWhatClientsSend) {
  struct Case {
    std::string text;
    Kind kind = Kind::forward;
    std::string cancelled{};
    bool introduces = false;
    std::string refusal{};
  };
  const Case cases[] = {
      {.text = R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})", .introduces = true},
      {.text = R"({"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{}})"},
      {.text = R"({"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}})"},
      {.text = R"({"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}})",
       .kind = Kind::cancel,
       .cancelled = "7"},
      {.text = R"({"jsonrpc":"2.0","method":"$/cancel_request"})", .kind = Kind::cancel},
      {.text = R"({"jsonrpc":"2.0","method":"$/cancel_request",)"
               R"("params":{"requestId":7,"requestId":8}})",
       .refusal = "params name requestId twice"},
      // A request of this method cancels nothing.
      {.text = R"({"jsonrpc":"2.0","id":1,"method":"$/cancel_request","params":{"requestId":7}})"},
  };
  for (const Case& c : cases) {
    const Message message(c.text);
    const auto intent =
        dialect().read_client(message.envelope, message.method(), {config::Isolation::session});
    ASSERT_EQ(intent.has_value(), c.refusal.empty()) << c.text;
    if (!intent) {
      EXPECT_EQ(intent.error(), c.refusal);
      continue;
    }
    EXPECT_EQ(intent->kind, c.kind) << c.text;
    EXPECT_EQ(intent->cancelled_id, c.cancelled) << c.text;
    EXPECT_EQ(intent->introduces, c.introduces) << c.text;
  }
}

TEST(AcpDialect, CancelsInBothDirections) {
  EXPECT_EQ(dialect().cancel(5, pool::CancelReason::deadline),
            R"({"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":5}})");
  const Message cancel(
      R"({"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"a"}})");
  EXPECT_EQ(dialect().cancelled_by_child(cancel.envelope, cancel.method()), "\"a\"");
  const Message update(R"({"jsonrpc":"2.0","method":"session/update","params":{"requestId":1}})");
  EXPECT_EQ(dialect().cancelled_by_child(update.envelope, update.method()), "");
  EXPECT_FALSE(dialect().traits().cancel_ends_call);
}

TEST(AcpDialect, KnowsAnAgentByItsGreeting) {
  const Message answer(
      R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,)"
      R"("agentInfo":{"name":"a","version":"2"},"agentCapabilities":{"loadSession":true}}})");
  const pool::ChildFacts facts = dialect().facts(answer.envelope, "initialize").value();
  EXPECT_EQ(facts.protocol_version, "1");
  EXPECT_EQ(facts.server_name, "a");
  EXPECT_EQ(facts.server_version, "2");
  EXPECT_EQ(facts.capabilities, R"({"loadSession":true})");
  const Message empty(R"({"jsonrpc":"2.0","id":1,"result":null})");
  EXPECT_EQ(dialect().facts(empty.envelope, "initialize"), pool::ChildFacts());
}

TEST(AcpDialect, TellsHowAPromptHasEnded) {
  const std::pair<std::string, Outcome> cases[] = {
      {R"({"stopReason":"end_turn"})", Outcome::ok()},
      {R"({"stopReason":"cancelled"})", Outcome::cancelled()},
      {R"({"stopReason":"refusal"})", Outcome::refusal()},
      {R"({"stopReason":"max_tokens"})", Outcome::max_tokens()},
      {R"({"stopReason":"max_turn_requests"})", Outcome::max_turn_requests()},
      {R"({"stopReason":"_another"})", Outcome::ok()},
      {R"({"stopReason":7})", Outcome::ok()},
      {"null", Outcome::ok()},
      {"[]", Outcome::ok()},
  };
  for (const auto& [result, outcome] : cases) {
    const Message answer(R"({"jsonrpc":"2.0","id":1,"result":)" + result + "}");
    EXPECT_EQ(dialect().outcome(answer.envelope, "session/prompt"), outcome) << result;
    EXPECT_EQ(dialect().outcome(answer.envelope, "session/new"), Outcome::ok()) << result;
  }
  const Message error(R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}})");
  EXPECT_EQ(dialect().outcome(error.envelope, "session/prompt"), Outcome::error());
}

TEST(AcpDialect, TellsTheAuditWhatAMessageIsAbout) {
  struct Case {
    std::string text;
    std::string_view session{};
    std::string_view title{};
    std::string_view option{};
    std::string_view method = "session/request_permission";  // of the message that is answered
  };
  const Case cases[] = {
      {.text = R"({"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s"}})",
       .session = "s"},
      {.text = R"({"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":)"
               R"({"sessionId":"s","toolCall":{"title":"rm \"x\""}}})",
       .session = "s",
       .title = R"(rm \"x\")"},
      {.text = R"({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s",)"
               R"("update":{"sessionUpdate":"tool_call","title":"ls"}}})",
       .session = "s",
       .title = "ls"},
      {.text = R"({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s",)"
               R"("update":{"sessionUpdate":"tool_call_update","title":"ls"}}})",
       .session = "s"},
      {.text = R"({"jsonrpc":"2.0","id":1,"result":{"outcome":{"optionId":"yes"}}})",
       .option = "yes"},
      {.text = R"({"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"cancelled"}}})"},
      {.text = R"({"jsonrpc":"2.0","id":1,"result":{"outcome":{"optionId":"yes"}}})",
       .method = "fs/read_text_file"},
      {.text = R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}})"},
      {.text = R"({"jsonrpc":"2.0","id":1,"method":"logout"})"},
      {.text = R"({"jsonrpc":"2.0","id":1,"method":"m","params":["sessionId"]})"},
      {.text = R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"sessionId":7}})"},
  };
  for (const Case& c : cases) {
    const Message message(c.text);
    const bool is_answer = message.envelope.method.empty();
    const std::string method(is_answer ? c.method : std::string_view(message.method()));
    const call::Particulars found = dialect().particulars(message.envelope, method);
    EXPECT_EQ(found.session, c.session) << c.text;
    EXPECT_EQ(found.title, c.title) << c.text;
    EXPECT_EQ(found.option, c.option) << c.text;
  }
}

TEST(AcpDialect, LetsClientsBeginAndStop) {
  for (const char* method : {"initialize", "session/cancel", "$/cancel_request"}) {
    EXPECT_TRUE(dialect().is_lifecycle(method)) << method;
  }
  for (const char* method : {"session/prompt", "session/new", "authenticate"}) {
    EXPECT_FALSE(dialect().is_lifecycle(method)) << method;
  }
  EXPECT_FALSE(dialect().traits().shares_children);
}

}  // namespace
}  // namespace stdgate
