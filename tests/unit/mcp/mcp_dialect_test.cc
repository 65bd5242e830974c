// McpDialect: what MCP adds to JSON-RPC, by tables.

#include "gateway/mcp/mcp_dialect.h"

#include <gtest/gtest.h>

#include <vector>

#include "gateway/rpc/json_reader.h"
#include "tests/support/rpc_texts.h"

namespace stdgate {
namespace {

using Kind = call::ClientIntent::Kind;
using Message = test::ParsedText;

struct Read {
  Kind kind = Kind::forward;
  std::string cancelled_id{};
  std::string token{};
  bool refused = false;
};

Read read(const std::string& text) {
  const Message message(text);
  std::string scratch;
  const auto intent = mcp::McpDialect("1").read_client(
      message.envelope, rpc::decode_string(message.envelope.method, scratch),
      {config::Isolation::shared});
  if (!intent) return {Kind::forward, {}, {}, true};
  return {intent->kind, std::string(intent->cancelled_id), std::string(intent->progress_token),
          false};
}

void expect_read(const std::string& text, const Read& expected) {
  const Read got = read(text);
  EXPECT_EQ(got.kind, expected.kind) << text;
  EXPECT_EQ(got.cancelled_id, expected.cancelled_id) << text;
  EXPECT_EQ(got.token, expected.token) << text;
  EXPECT_EQ(got.refused, expected.refused) << text;
}

TEST(McpDialect, FindsProgressTokens) {
  struct Case {
    std::string params;
    Read expected;
  };
  const std::vector<Case> cases = {
      {R"({"_meta":{"progressToken":1}})", {Kind::forward, "", "1"}},
      {R"({"_meta":{"progressToken":"t"}})", {Kind::forward, "", "\"t\""}},
      {R"({"_meta":{"progressToken":-0.5e3}})", {Kind::forward, "", "-0.5e3"}},
      {R"({"_meta":{"progressToken":12345678901234567890}})",
       {Kind::forward, "", "12345678901234567890"}},
      {R"({ "a" : [1] , "_meta" : { "x":{} , "progressToken" : "\u00e9" } })",
       {Kind::forward, "", R"("\u00e9")"}},
      {R"({"_meta":{"progress\u0054oken":5}})", {Kind::forward, "", "5"}},
      {R"({"_m\u0065ta":{"progressToken":5}})", {Kind::forward, "", "5"}},
      {R"({"\u005fmeta":{"\u0070rogressToken":5}})", {Kind::forward, "", "5"}},
      {R"({"_meta":{"progressToken":1,"progressToken":1}})", {Kind::forward, "", "", true}},
      {R"({"_meta":{"progressToken":1,"progress\u0054oken":2}})", {Kind::forward, "", "", true}},
      {R"({"_meta":{"progressToken":1},"_meta":{}})", {Kind::forward, "", "", true}},
      {R"({"_meta":{},"_m\u0065ta":{"progressToken":1}})", {Kind::forward, "", "", true}},
      {R"({"_meta":{"progressToken":null}})", {Kind::forward, "", "", true}},
      {R"({"_meta":{"progressToken":true}})", {Kind::forward, "", "", true}},
      {R"({"_meta":{"progressToken":{}}})", {Kind::forward, "", "", true}},
      {R"({"_meta":{"progressToken":[1]}})", {Kind::forward, "", "", true}},
      {R"({"progressToken":1})", {}},
      {R"({"arguments":{"_meta":{"progressToken":1}}})", {}},
      {R"({"_meta":["progressToken",1]})", {}},
      {R"({"_meta":"progressToken"})", {}},
      {R"({"_meta":{}})", {}},
      {R"(["_meta",{"progressToken":1}])", {}},
      {R"({"a":"progressToken","b":"\u0041"})", {}},
  };
  for (const Case& c : cases) {
    expect_read(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":)" + c.params + "}",
                c.expected);
  }
  expect_read(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})", {});
}

TEST(McpDialect, FindsTheToolOfACall) {
  struct Case {
    std::string method;
    std::string params;
    std::string tool;
    bool refused = false;
  };
  const std::vector<Case> cases = {
      {"tools/call", R"({"name":"echo","arguments":{"name":"x"}})", "echo"},
      {"tools/call", R"({"arguments":{"name":"x"}, "name" : "a b" })", "a b"},
      {"tools/call", R"({"n\u0061me":"\u0065cho"})", R"(\u0065cho)"},
      {"tools/call", R"({"name":"echo","_meta":{"progressToken":1}})", "echo"},
      {"tools/call", R"({"name":""})", ""},
      {"tools/call", R"({"name":1})", ""},
      {"tools/call", R"({"name":null})", ""},
      {"tools/call", R"({"arguments":{"name":"x"}})", ""},
      {"tools/call", R"(["name","echo"])", ""},
      {"tools/call", R"({"name":"a","name":"a"})", "", true},
      {"tools/call", R"({"name":"a","n\u0061me":"b"})", "", true},
      {R"(tools\/call)", R"({"name":"echo"})", "echo"},
      {"prompts/get", R"({"name":"echo"})", ""},
      {"prompts/get", R"({"name":"a","name":"b"})", ""},
      {"tools/list", R"({"name":"echo"})", ""},
  };
  for (const Case& c : cases) {
    const Message message(R"({"jsonrpc":"2.0","id":1,"method":")" + c.method + R"(","params":)" +
                          c.params + "}");
    std::string scratch;
    const std::string_view method = rpc::decode_string(message.envelope.method, scratch);
    for (const config::Isolation isolation :
         {config::Isolation::shared, config::Isolation::session}) {
      const auto intent = mcp::McpDialect("1").read_client(message.envelope, method, {isolation});
      EXPECT_EQ(!intent, c.refused) << c.params;
      EXPECT_EQ(intent ? intent->tool : "", c.tool) << c.params;
    }
  }
}

TEST(McpDialect, FindsWhatIsSubscribedTo) {
  struct Case {
    std::string method;
    std::string params;
    Kind kind;
    std::string key;
    std::string token;
    bool refused = false;
  };
  const std::string meta = R"("_meta":{"progressToken":1})";
  const std::vector<Case> cases = {
      {"resources/subscribe", R"({"uri":"a:/b"})", Kind::subscribe, "a:/b", ""},
      {"resources/unsubscribe", R"({"uri":"a:/b"})", Kind::unsubscribe, "a:/b", ""},
      {R"(resources\/subscribe)", R"({ "ur\u0069" : "\u0061" })", Kind::subscribe, R"(\u0061)", ""},
      {"resources/subscribe", R"({"uri":"u",)" + meta + "}", Kind::subscribe, "u", "1"},
      {"resources/subscribe", R"({"uri":""})", Kind::forward, "", ""},
      {"resources/subscribe", R"({"uri":null})", Kind::forward, "", ""},
      {"resources/subscribe", R"({"x":{"uri":"u"}})", Kind::forward, "", ""},
      {"resources/subscribe", R"(["uri","u"])", Kind::forward, "", ""},
      {"resources/unsubscribe", R"({"uri":"u","uri":"u"})", Kind::forward, "", "", true},
      {"resources/read", R"({"uri":"u"})", Kind::forward, "", ""},
      {"resources/read", R"({"uri":"u","uri":"v"})", Kind::forward, "", ""},
  };
  for (const Case& c : cases) {
    const Message message(R"({"jsonrpc":"2.0","id":1,"method":")" + c.method + R"(","params":)" +
                          c.params + "}");
    std::string scratch;
    const std::string_view method = rpc::decode_string(message.envelope.method, scratch);
    const mcp::McpDialect dialect("1");
    const auto intent = dialect.read_client(message.envelope, method, {config::Isolation::shared});
    EXPECT_EQ(!intent, c.refused) << c.params;
    if (!intent) continue;
    EXPECT_EQ(intent->kind, c.kind) << c.params;
    EXPECT_EQ(intent->key, c.key) << c.params;
    EXPECT_EQ(intent->progress_token, c.token) << c.params;
    const auto own = dialect.read_client(message.envelope, method, {config::Isolation::session});
    EXPECT_EQ(own->kind, Kind::forward) << "a child of its own: " << c.params;
    EXPECT_EQ(own->key, "");
  }
}

TEST(McpDialect, SubscribesItself) {
  const mcp::McpDialect dialect("1");
  EXPECT_EQ(dialect.subscribe(7, "a\"\xc3\xa9\n", true),
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"resources/subscribe\","
            "\"params\":{\"uri\":\"a\\\"\xc3\xa9\\n\"}}");
  EXPECT_EQ(dialect.subscribe(8, "u", false),
            R"({"jsonrpc":"2.0","id":8,"method":"resources/unsubscribe","params":{"uri":"u"}})");
}

TEST(McpDialect, SaysWhoIsToHearOfANotification) {
  using Audiences = pool::Audience::Kind;
  struct Case {
    std::string method;
    std::string params;
    Audiences kind;
    std::string key;
  };
  const std::vector<Case> cases = {
      {"notifications/tools/list_changed", "{}", Audiences::everybody, ""},
      {"notifications/prompts/list_changed", "{}", Audiences::everybody, ""},
      {"notifications/resources/list_changed", "{}", Audiences::everybody, ""},
      {"notifications/resources/updated", R"({"uri":"\u0061"})", Audiences::subscribers,
       R"(\u0061)"},
      {"notifications/resources/updated", R"({"uri":1})", Audiences::subscribers, ""},
      {"notifications/resources/updated", R"({"uri":"a","uri":"b"})", Audiences::subscribers, ""},
      {"notifications/resources/updated", "{}", Audiences::subscribers, ""},
      {"notifications/message", R"({"uri":"a"})", Audiences::caller, ""},
      {"notifications/elicitation/complete", "{}", Audiences::caller, ""},
      {"notifications/tasks/status", "{}", Audiences::caller, ""},
      {"notifications/roots/list_changed", "{}", Audiences::caller, ""},
      {"x", "{}", Audiences::caller, ""},
  };
  for (const Case& c : cases) {
    const Message message(R"({"jsonrpc":"2.0","method":")" + c.method + R"(","params":)" +
                          c.params + "}");
    const pool::Audience audience = mcp::McpDialect("1").audience(message.envelope, c.method);
    EXPECT_EQ(audience.kind, c.kind) << c.method;
    EXPECT_EQ(audience.key, c.key) << c.method;
  }
}

TEST(McpDialect, WalksFromAPartToWhatItIsAPartOf) {
  const mcp::McpDialect dialect("1");
  std::vector<std::string_view> walk;
  for (std::string_view at = "file:///a/b?q#f"; !at.empty(); at = dialect.enclosing(at)) {
    walk.push_back(at);
  }
  const std::vector<std::string_view> expected = {
      "file:///a/b?q#f", "file:///a/b?q#", "file:///a/b?q", "file:///a/b?",
      "file:///a/b",     "file:///a/",     "file:///a",     "file:///",
      "file://",         "file:/",         "file:"};
  EXPECT_EQ(walk, expected);
}

TEST(McpDialect, KnowsTheMessagesOfTheLifecycle) {
  const std::string head = R"({"jsonrpc":"2.0","method":)";
  struct Case {
    std::string text;
    Read expected;
  };
  const std::vector<Case> cases = {
      {head + R"("initialize","id":1,"params":{}})", {Kind::handshake}},
      {head + R"("initiali\u007ae","id":1})", {Kind::handshake}},
      {head + R"("initialize"})", {Kind::forward}},
      {head + R"("ping","id":1})", {Kind::forward}},
      {head + R"("notifications/initialized"})", {Kind::swallow}},
      {head + R"("notifications/initialized","id":1})", {Kind::forward}},
      {head + R"("notifications/roots/list_changed"})", {Kind::forward}},
      {head + R"("notifications/cancelled","params":{"requestId":1,"reason":"r"}})",
       {Kind::cancel, "1"}},
      {head + R"("notifications/cancelled","params":{"request\u0049d":"x"}})",
       {Kind::cancel, "\"x\""}},
      {head + R"("notifications\/cancelled","params":{"requestId":1.0}})", {Kind::cancel, "1.0"}},
      {head + R"("notifications/cancelled","params":{"requestId":1,"requestId":2}})",
       {Kind::forward, "", "", true}},
      {head + R"("notifications/cancelled","params":{"id":1}})", {Kind::cancel}},
      {head + R"("notifications/cancelled"})", {Kind::cancel}},
      {head + R"("notifications/cancelled","id":3,"params":{"requestId":1}})", {Kind::forward}},
  };
  for (const Case& c : cases) expect_read(c.text, c.expected);
}

TEST(McpDialect, GreetsAsAClientWithoutCapabilities) {
  const Message hello(mcp::McpDialect("1.2\"3").greet(4096, std::nullopt));
  EXPECT_EQ(hello.envelope.kind, rpc::MessageKind::request);
  EXPECT_EQ(hello.envelope.id, "4096");
  EXPECT_EQ(hello.envelope.method, "initialize");
  EXPECT_EQ(hello.envelope.params, R"({"protocolVersion":"2025-11-25","capabilities":{},)"
                                   R"("clientInfo":{"name":"stdgate","version":"1.2\"3"}})");
}

TEST(McpDialect, JudgesTheAnswerToTheGreeting) {
  struct Case {
    std::string answer;
    std::string refusal;  // empty: the answer is accepted
  };
  const auto of_revision = [](const std::string& revision) {
    return R"("result":{"capabilities":{},"protocolVersion":)" + revision + "}";
  };
  const std::string no_version = "the answer to initialize names no protocolVersion";
  const std::vector<Case> cases = {
      {of_revision(R"("2024-11-05")"), ""},
      {of_revision(R"("2025-03-26")"), ""},
      {of_revision(R"("2025-06-18")"), ""},
      {of_revision(R"("2025-11-25")"), ""},
      {of_revision(R"("2026-07-28")"), "it speaks the unknown MCP revision 2026-07-28"},
      {of_revision(R"("2025-11-2")"), "it speaks the unknown MCP revision 2025-11-2"},
      {of_revision(R"("")"), "it speaks the unknown MCP revision "},
      {of_revision("20251125"), no_version},
      {of_revision("null"), no_version},
      {of_revision(R"({"a":1})"), no_version},
      {R"("result":{})", no_version},
      {R"("result":null)", no_version},
      {R"("result":{"protocolVersion":"2025-11-25","protocolVersion":"2025-11-25"})", no_version},
      {R"("error":{"code":1,"message":"no"})",
       R"(initialize was answered with the error {"code":1,"message":"no"})"},
  };
  for (const Case& c : cases) {
    const Message answer(R"({"jsonrpc":"2.0","id":1,)" + c.answer + "}");
    const auto verdict = mcp::McpDialect("1").finish_handshake(answer.envelope);
    if (c.refusal.empty()) {
      ASSERT_TRUE(verdict.has_value()) << c.answer;
      EXPECT_EQ(*verdict, R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
    } else {
      ASSERT_FALSE(verdict.has_value()) << c.answer;
      EXPECT_EQ(verdict.error(), c.refusal);
    }
  }
}

TEST(McpDialect, WritesCancels) {
  struct Case {
    pool::CancelReason reason;
    std::string text;
  };
  const std::vector<Case> cases = {
      {pool::CancelReason::client_cancelled, "cancelled by the client"},
      {pool::CancelReason::client_left, "the client has left"},
      {pool::CancelReason::deadline, "deadline exceeded"}};
  for (const Case& c : cases) {
    const Message cancel(mcp::McpDialect("1").cancel(70, c.reason));
    EXPECT_EQ(cancel.envelope.kind, rpc::MessageKind::notification);
    EXPECT_EQ(cancel.envelope.method, "notifications/cancelled");
    EXPECT_EQ(cancel.envelope.params, R"({"requestId":70,"reason":")" + c.text + "\"}");
  }
}

TEST(McpDialect, ReadsTheTokenOfProgress) {
  struct Case {
    std::string method;
    std::string params;
    std::string token;
  };
  const std::vector<Case> cases = {
      {"notifications/progress", R"({"progressToken":7,"progress":1})", "7"},
      {"notifications/progress", R"({"progress\u0054oken":"7"})", "\"7\""},
      {"notifications/progress", R"({"progress":1})", ""},
      {"notifications/progress", R"({"progressToken":7,"progressToken":8})", ""},
      {"notifications/progress", R"([7])", ""},
      {"notifications/message", R"({"progressToken":7})", ""},
  };
  for (const Case& c : cases) {
    const Message message(R"({"jsonrpc":"2.0","method":")" + c.method + R"(","params":)" +
                          c.params + "}");
    EXPECT_EQ(mcp::McpDialect("1").progress_token(message.envelope, c.method), c.token) << c.params;
  }
}

TEST(McpDialect, TellsToolErrorsFromResults) {
  struct Case {
    std::string method;
    std::string answer;
    Outcome outcome;
  };
  const std::vector<Case> cases = {
      {"tools/call", R"("result":{"content":[],"isError":true})", Outcome::tool_error()},
      {"tools/call", R"("result":{"is\u0045rror":true})", Outcome::tool_error()},
      {"tools/call", R"("result":{"isError":false})", Outcome::ok()},
      {"tools/call", R"("result":{"isError":"true"})", Outcome::ok()},
      {"tools/call", R"("result":{"content":[{"isError":true}]})", Outcome::ok()},
      {"tools/call", R"("result":{"text":"isError"})", Outcome::ok()},
      {"tools/call", R"("result":[])", Outcome::ok()},
      {"tools/call", R"("error":{"code":1,"message":"isError"})", Outcome::error()},
      {"tools/list", R"("result":{"isError":true})", Outcome::ok()},
      {"tools/list", R"("error":{"code":1,"message":"m"})", Outcome::error()},
  };
  for (const Case& c : cases) {
    const Message answer(R"({"jsonrpc":"2.0","id":1,)" + c.answer + "}");
    EXPECT_EQ(mcp::McpDialect("1").outcome(answer.envelope, c.method), c.outcome) << c.answer;
  }
}

TEST(McpDialect, AnswersPingAlone) {
  EXPECT_EQ(mcp::McpDialect("1").answer_child("ping"), "{}");
  EXPECT_EQ(mcp::McpDialect("1").answer_child("roots/list"), "");
  EXPECT_EQ(mcp::McpDialect("1").codes(), rpc::CodeSet::mcp);
}

}  // namespace
}  // namespace stdgate
