// LspDialect: what LSP adds to JSON-RPC, by tables.

#include "gateway/lsp/lsp_dialect.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/support/rpc_texts.h"

namespace stdgate {
namespace {

using Kind = call::ClientIntent::Kind;
using Message = test::ParsedText;

struct Read {
  Kind kind = Kind::forward;
  std::string cancelled_id{};
  std::string refusal{};
  std::string as_forwarded{};  // the text as it is forwarded, if it changes
};

const lsp::LspDialect& dialect() {
  static const lsp::LspDialect kDialect;
  return kDialect;
}

Read read(const std::string& text) {
  const Message message(text);
  const auto intent =
      dialect().read_client(message.envelope, message.method(), {config::Isolation::session});
  if (!intent) return {Kind::forward, "", intent.error(), text};
  EXPECT_TRUE(intent->progress_token.empty()) << text;
  std::string forwarded = text;
  if (!intent->replaced.empty()) {
    const auto at = static_cast<size_t>(intent->replaced.data() - message.envelope.text.data());
    forwarded.replace(at, intent->replaced.size(), intent->replacement);
  }
  return {intent->kind, std::string(intent->cancelled_id), "", forwarded};
}

TEST(LspDialect, ReplacesTheProcessIdOfInitialize) {
  struct Case {
    std::string method;
    std::string params;
    std::string forwarded;
  };
  const std::vector<Case> cases = {
      {"initialize", R"({"processId":17})", R"({"processId":null})"},
      {"initialize", R"({"processId":0})", R"({"processId":null})"},
      {"initialize", R"({"processId":-1})", R"({"processId":null})"},
      {"initialize", R"({"processId":1.5e3})", R"({"processId":null})"},
      {"initialize", R"({ "a" : null , "processId" : 17 , "b" : {} })",
       R"({ "a" : null , "processId" : null , "b" : {} })"},
      {"initialize", R"({"process\u0049d":17})", R"({"process\u0049d":null})"},
      {"initiali\\u007ae", R"({"processId":17})", R"({"processId":null})"},
      {"initialize", R"({"clientInfo":{"processId":17},"processId":17})",
       R"({"clientInfo":{"processId":17},"processId":null})"},
  };
  for (const Case& c : cases) {
    const auto message = [&c](const std::string& params) {
      return R"({"jsonrpc":"2.0","id":17,"method":")" + c.method + R"(","params":)" + params + "}";
    };
    const Read got = read(message(c.params));
    EXPECT_EQ(got.kind, Kind::forward);
    EXPECT_EQ(got.as_forwarded, message(c.forwarded));
    EXPECT_EQ(got.refusal, "");
  }
}

TEST(LspDialect, LeavesWhatIsNoProcessId) {
  const std::string initialize = R"({"jsonrpc":"2.0","id":17,"method":"initialize")";
  for (const std::string& text : std::vector<std::string>{
           initialize + R"(,"params":{"processId":null}})",
           initialize + R"(,"params":{"processId":"17"}})",
           initialize + R"(,"params":{"processId":true}})",
           initialize + R"(,"params":{"processId":[17]}})",
           initialize + R"(,"params":{"processId":{"processId":17}}})",
           initialize + R"(,"params":{"processid":17}})",
           initialize + R"(,"params":{"clientInfo":{"processId":17}}})",
           initialize + R"(,"params":{"rootPath":"\"processId\":17"}})",
           initialize + R"(,"params":[{"processId":17}]})",
           initialize + R"(,"params":{}})",
           initialize + "}",
           R"({"jsonrpc":"2.0","id":1,"method":"initializ","params":{"processId":17}})",
           R"({"jsonrpc":"2.0","method":"initialize","params":{"processId":17}})",
           R"({"jsonrpc":"2.0","method":"initialized","params":{"processId":17}})",
       }) {
    const Read got = read(text);
    EXPECT_EQ(got.kind, Kind::forward) << text;
    EXPECT_EQ(got.as_forwarded, text);
    EXPECT_EQ(got.refusal, "") << text;
  }
}

// Two readers could read different ids.
TEST(LspDialect, RefusesTwoProcessIds) {
  for (const char* params : {
           R"({"processId":17,"processId":17})",
           R"({"processId":null,"processId":17})",
           R"({"processId":17,"process\u0049d":null})",
       }) {
    const Read got = read(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":)" +
                          std::string(params) + "}");
    EXPECT_EQ(got.refusal, "params name processId twice") << params;
  }
}

TEST(LspDialect, ReadsCancels) {
  struct Case {
    std::string text;
    Read expected;
  };
  const std::string head = R"({"jsonrpc":"2.0","method":)";
  const std::vector<Case> cases = {
      {head + R"("$/cancelRequest","params":{"id":7}})", {Kind::cancel, "7"}},
      {head + R"("$/cancelRequest","params":{"id":"a\u00e9"}})", {Kind::cancel, R"("a\u00e9")"}},
      {head + R"("$/cancelRequest","params":{"\u0069d" : 1.0 }})", {Kind::cancel, "1.0"}},
      {head + R"("$\/cancelRequest","params":{"id":null}})", {Kind::cancel, "null"}},
      {head + R"("$/cancelRequest","params":{"id":1,"i\u0064":2}})",
       {Kind::forward, "", "params name id twice"}},
      {head + R"("$/cancelRequest"})", {Kind::cancel}},
      {head + R"("$/cancelRequest","params":[1]})", {Kind::cancel}},
      {head + R"("$/cancelRequest","params":{"requestId":1}})", {Kind::cancel}},
      {head + R"("$/cancelRequest","id":1,"params":{"id":7}})", {Kind::forward}},
      {head + R"("$/cancelrequest","params":{"id":7}})", {Kind::forward}},
      {head + R"("window/workDoneProgress/cancel","params":{"token":7}})", {Kind::forward}},
  };
  for (const Case& c : cases) {
    const Read got = read(c.text);
    EXPECT_EQ(got.kind, c.expected.kind) << c.text;
    EXPECT_EQ(got.cancelled_id, c.expected.cancelled_id) << c.text;
    EXPECT_EQ(got.as_forwarded, c.text);
    EXPECT_EQ(got.refusal, c.expected.refusal) << c.text;
  }
}

TEST(LspDialect, PassesOnTokensAndTheLifecycle) {
  const std::string head = R"({"jsonrpc":"2.0",)";
  for (const char* rest : {
           R"("id":1,"method":"textDocument/references","params":{"workDoneToken":"t"}})",
           R"("id":1,"method":"workspace/symbol","params":{"partialResultToken":7}})",
           R"("method":"$/progress","params":{"token":7,"value":{}}})",
           R"("method":"initialized","params":{}})",
           R"("id":1,"method":"shutdown"})",
           R"("method":"exit"})",
       }) {
    const Read got = read(head + rest);
    EXPECT_EQ(got.kind, Kind::forward) << rest;
    EXPECT_EQ(got.as_forwarded, head + rest);
    EXPECT_EQ(got.refusal, "") << rest;
  }
}

TEST(LspDialect, WritesCancels) {
  for (const pool::CancelReason reason :
       {pool::CancelReason::client_cancelled, pool::CancelReason::client_left,
        pool::CancelReason::deadline}) {
    EXPECT_EQ(dialect().cancel(4096, reason),
              R"({"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":4096}})");
  }
  EXPECT_FALSE(dialect().traits().cancel_ends_call);
}

TEST(LspDialect, ReadsTheCancelsOfTheChild) {
  struct Case {
    std::string method;
    std::string params;
    std::string id;
  };
  const std::vector<Case> cases = {
      {"$/cancelRequest", R"({"id":7})", "7"},
      {"$/cancelRequest", R"({"i\u0064":"7"})", "\"7\""},
      {"$\\/cancelRequest", R"({"id":7})", "7"},
      {"$/cancelRequest", R"({"id":7,"id":8})", ""},
      {"$/cancelRequest", R"({"requestId":7})", ""},
      {"$/cancelRequest", R"([7])", ""},
      {"$/progress", R"({"id":7,"token":7})", ""},
  };
  for (const Case& c : cases) {
    const Message message(R"({"jsonrpc":"2.0","method":")" + c.method + R"(","params":)" +
                          c.params + "}");
    EXPECT_EQ(dialect().cancelled_by_child(message.envelope, message.method()), c.id)
        << c.method << c.params;
  }
}

TEST(LspDialect, SaysFarewell) {
  const Message shutdown(dialect().shutdown_request(4096));
  EXPECT_EQ(shutdown.envelope.kind, rpc::MessageKind::request);
  EXPECT_EQ(shutdown.envelope.id, "4096");
  EXPECT_EQ(shutdown.envelope.method, "shutdown");
  // LSP says "params: none" here, and some servers refuse any params.
  EXPECT_EQ(shutdown.envelope.params, "");
  const Message exit(std::string(dialect().traits().exit));
  EXPECT_EQ(exit.envelope.kind, rpc::MessageKind::notification);
  EXPECT_EQ(exit.envelope.method, "exit");
  EXPECT_EQ(exit.envelope.params, "");
}

TEST(LspDialect, KnowsTheProtocolsMethodsOnce) {
  const auto methods = dialect().traits().methods;
  const std::set<std::string_view> names(methods.begin(), methods.end());
  EXPECT_EQ(names.size(), methods.size());
  for (const char* name :
       {"initialize", "exit", "$/progress", "textDocument/hover", "workspace/applyEdit",
        "textDocument/publishDiagnostics", "textDocument/semanticTokens/full/delta"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(LspDialect, LeavesTheRestToTheClient) {
  EXPECT_EQ(dialect().codes(), rpc::CodeSet::plain);
  EXPECT_EQ(dialect().greet(1, std::nullopt), "");
  EXPECT_EQ(dialect().answer_child("workspace/configuration"), "");
  struct Case {
    std::string answer;
    Outcome outcome;
  };
  const std::vector<Case> cases = {
      {R"("result":{"isError":true})", Outcome::ok()},
      {R"("result":null)", Outcome::ok()},
      {R"("error":{"code":-32800,"message":"m"})", Outcome::error()},
  };
  for (const Case& c : cases) {
    const Message answer(R"({"jsonrpc":"2.0","id":1,)" + c.answer + "}");
    EXPECT_EQ(dialect().outcome(answer.envelope, "workspace/executeCommand"), c.outcome)
        << c.answer;
  }
}

}  // namespace
}  // namespace stdgate
