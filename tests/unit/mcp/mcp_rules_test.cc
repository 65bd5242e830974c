// Rules of a backend of MCP: denied elements do not exist for the client.

#include <gmock/gmock.h>

#include "tests/support/rpc_texts.h"
#include "tests/unit/mcp/shared_bench.h"

namespace stdgate::test {
namespace {

using policy::Principal;
using testing::HasSubstr;

config::BackendConfig library_rules() {
  config::BackendConfig config = shared_mcp_options(1).config;
  config.rules = {
      {.allow = {"reader"}, .tools = {"read_*"}, .resources = {"file:///open/*"}},
      {.allow = {"reader"}, .methods = {"completion/complete", "resources/subscribe"}},
      {.allow = {"*"}, .tools = {"delete_*"}, .scopes = {"files:delete", "files:write"}},
      {.allow = {"*"}, .prompts = {"greet"}},
  };
  return config;
}

// A client without a session, which may be a principal.
class Library {
 public:
  explicit Library(config::BackendConfig config = library_rules()) : bench_(options(config)) {}

  void be(std::vector<std::string> roles, std::vector<std::string> scopes = {}) {
    who_.emplace();
    who_->roles = std::move(roles);
    who_->scopes = std::move(scopes);
  }
  backend::Admission send(std::string text) {
    rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
    const rpc::Document document = parser.parse(text).value();
    call::CallContext context;
    context.caller = client_.caller();
    context.arrived = bench_.clock.now();
    context.principal = who_ ? &*who_ : nullptr;
    return bench_.backend.accept(document.messages[0], context);
  }
  backend::Admission request(const std::string& method, const std::string& params = "{}") {
    return send(R"({"jsonrpc":"2.0","id":7,"method":")" + method + R"(","params":)" + params + "}");
  }
  // Sends a request that must not reach the child. Returns the answer.
  std::string refused(const std::string& method, const std::string& params = "{}") {
    client_.answers.clear();
    request(method, params);
    EXPECT_TRUE(bench_.child(0).take_lines().empty()) << method << params;
    return client_.answers.empty() ? "" : client_.answers.back().text;
  }
  // Whether the request reaches the child.
  bool passes(const std::string& method, const std::string& params = "{}") {
    client_.answers.clear();
    request(method, params);
    const auto ids = bench_.child(0).take_ids();
    if (ids.size() != 1) return false;
    bench_.child(0).answer(ids[0]);
    return client_.answers.size() == 1;
  }
  // The client's answer if the child answers with this result.
  std::string list(const std::string& method, const std::string& result) {
    client_.answers.clear();
    request(method);
    bench_.child(0).answer(bench_.child(0).take_ids().at(0), result);
    return client_.answers.at(0).text;
  }

  SharedBench& bench() { return bench_; }
  FakeClient& client() { return client_; }

 private:
  static backend::BackendOptions options(const config::BackendConfig& config) {
    backend::BackendOptions options = shared_mcp_options(1);
    options.config = config;
    options.roles = {{"writer", {"reader"}}};
    return options;
  }

  SharedBench bench_;
  FakeClient client_{bench_.callers};
  std::optional<Principal> who_;
};

TEST(McpRules, DeniedElementsAreUnknown) {
  Library library;
  library.be({"reader"});
  EXPECT_TRUE(library.passes("tools/call", R"({"name":"read_file"})"));
  EXPECT_TRUE(library.passes("tools/call", R"({"name":"\u0072ead_file"})"));
  EXPECT_EQ(library.refused("tools/call", R"({"name":"write_file"})"),
            error_text("7", -32602, "Unknown tool: write_file"));
  EXPECT_EQ(library.refused("tools/call", R"({"name":"\u0077rite_\"file\u0000"})"),
            error_text("7", -32602, R"(Unknown tool: write_\"file\u0000)"));
  EXPECT_EQ(library.refused("tools/call"),
            error_text("7", -32602, "params.name is missing: the tool to call"));
  EXPECT_EQ(library.refused("tools/call", "[\"read_file\"]"),
            error_text("7", -32602, "params.name is missing: the tool to call"));
  EXPECT_TRUE(library.passes("resources/read", R"({"uri":"file:///open/a"})"));
  EXPECT_EQ(library.refused("resources/read", R"({"uri":"file:///etc/a"})"),
            R"({"jsonrpc":"2.0","id":7,"error":{"code":-32002,"message":"Resource not found",)"
            R"("data":{"uri":"file:///etc/a"}}})");
  EXPECT_THAT(library.refused("resources/read", R"({"uri":"file:///open/../etc/a"})"),
              HasSubstr("-32002"));
  EXPECT_TRUE(library.passes("prompts/get", R"({"name":"greet"})"));
  EXPECT_EQ(library.refused("prompts/get", R"({"name":"secret"})"),
            error_text("7", -32602, "Unknown prompt: secret"));
  EXPECT_EQ(library.refused("logging/setLevel"), error_text("7", -32601, "Method not found"));
  EXPECT_EQ(library.bench().observer.records.back().outcome, "denied");
  EXPECT_EQ(library.client().answers.back().fault, std::nullopt);
}

TEST(McpRules, RolesAreThoseOfTheMessage) {
  Library library;
  const std::string params = R"({"name":"read_file"})";
  EXPECT_NE(library.refused("tools/call", params), "");
  library.be({"writer"});
  EXPECT_TRUE(library.passes("tools/call", params));
  library.be({});
  EXPECT_NE(library.refused("tools/call", params), "");
}

TEST(McpRules, AScopeThatIsMissingIsNamed) {
  Library library;
  library.be({}, {"files:write"});
  EXPECT_EQ(library.refused("tools/call", R"({"name":"delete_file"})"),
            R"({"jsonrpc":"2.0","id":7,"error":{"code":-31403,"message":"Insufficient scope",)"
            R"("data":{"scope":"files:delete files:write"}}})");
  EXPECT_EQ(library.client().answers.back().fault, rpc::Fault::insufficient_scope);
  EXPECT_EQ(library.client().answers.back().scope, "files:delete files:write");
  library.be({}, {"files:write", "files:delete"});
  EXPECT_TRUE(library.passes("tools/call", R"({"name":"delete_file"})"));
}

TEST(McpRules, WhatASessionNeedsPasses) {
  Library library;
  EXPECT_TRUE(library.passes("ping"));
  library.request("initialize", R"({"protocolVersion":"2025-11-25"})");
  EXPECT_EQ(library.client().answers.back().fault, std::nullopt);
  EXPECT_THAT(library.client().answers.back().text, HasSubstr("protocolVersion"));
  EXPECT_EQ(library.send(note_text("notifications/initialized")), backend::Admission::delivered);
  EXPECT_EQ(library.send(note_text("notifications/roots/list_changed")),
            backend::Admission::delivered);
  EXPECT_EQ(library.bench().observer.dropped[DropReason::denied], 0);
}

TEST(McpRules, NotificationsAreJudgedToo) {
  Library library;
  EXPECT_EQ(library.send(note_text("notifications/other")), backend::Admission::dropped);
  EXPECT_EQ(library.send(note_text("tools/call", R"({"name":"write_file"})")),
            backend::Admission::dropped);
  EXPECT_EQ(library.bench().observer.dropped[DropReason::denied], 2);
  EXPECT_TRUE(library.bench().child(0).take_lines().empty());
}

// Watching a resource, and completing arguments, requires the right to use that element.
TEST(McpRules, WhatIsAboutAnElementNeedsIt) {
  Library library;
  library.be({"reader"});
  const std::string of_prompt = R"({"ref":{"type":"ref/prompt","name":")";
  EXPECT_TRUE(library.passes("completion/complete", of_prompt + R"(greet"}})"));
  EXPECT_EQ(library.refused("completion/complete", of_prompt + R"(secret"}})"),
            error_text("7", -32602, "Unknown prompt: secret"));
  EXPECT_TRUE(library.passes("completion/complete",
                             R"({"ref":{"type":"ref/resource","uri":"file:///open/{x}"}})"));
  EXPECT_EQ(library.refused("completion/complete",
                            R"({"ref":{"type":"ref/resource","uri":"file:///{x}"}})"),
            error_text("7", -32602, "Unknown resource: file:///{x}"));
  EXPECT_TRUE(library.passes("resources/subscribe", R"({"uri":"file:///open/a"})"));
  EXPECT_THAT(library.refused("resources/subscribe", R"({"uri":"file:///etc/a"})"),
              HasSubstr("-32002"));
  library.be({});
  EXPECT_TRUE(library.passes("prompts/get", R"({"name":"greet"})"));
  EXPECT_TRUE(library.passes("completion/complete", of_prompt + R"(greet"}})"))
      << "a rule that names a prompt is about completing it too";
}

TEST(McpRules, AMessageThatReadersReadDifferentlyIsRefused) {
  Library library;
  library.be({"reader"});
  for (const char* params : {R"({"name":"read_file","name":"write_file"})",
                             R"({"name":"read_file","Name":"write_file"})",
                             R"({"name":"read_file","\u004eAME":"write_file"})"}) {
    EXPECT_THAT(library.refused("tools/call", params), HasSubstr("-32600")) << params;
  }
  for (const char* more : {R"("Method":"tools/call")", R"("Params":{"name":"write_file"})",
                           R"("param\u017f":{"name":"write_file"})"}) {
    library.client().answers.clear();
    library.send(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_file"},)" +
                 std::string(more) + "}");
    EXPECT_TRUE(library.bench().child(0).take_lines().empty()) << more;
    EXPECT_THAT(library.client().answers.at(0).text, HasSubstr("-32600")) << more;
  }
}

TEST(McpRules, ListsAreCut) {
  Library library;
  library.be({"reader"});
  EXPECT_EQ(library.list("tools/list", R"({"tools":[ {"name":"write_file"},{"name":"\u0072ead_x", )"
                                       R"("a":[1 ,2]}, {"name":"delete_x"}],"nextCursor":"n"})"),
            result_text("7", R"({"tools":[ {"name":"\u0072ead_x", "a":[1 ,2]}, )"
                             R"({"name":"delete_x"}],"nextCursor":"gate.0-1"})"));
  EXPECT_EQ(library.list("resources/list",
                         R"({"resources":[{"uri":"file:///open/a"},{"uri":"file:///b"}]})"),
            result_text("7", R"({"resources":[{"uri":"file:///open/a"}]})"));
  EXPECT_EQ(library.list("resources/templates/list",
                         R"({"resourceTemplates":[{"uriTemplate":"file:///{x}"},)"
                         R"({"uriTemplate":"file:///open/{x}"}]})"),
            result_text("7", R"({"resourceTemplates":[{"uriTemplate":"file:///open/{x}"}]})"));
  EXPECT_EQ(
      library.list("prompts/list", R"({"prompts":[{"name":"secret"}],"cacheScope":"public"})"),
      result_text("7", R"({"prompts":[],"cacheScope":"private"})"));
  for (const char* odd :
       {R"({"name":"read_a","name":"write_a"})", R"({"name":"read_a","Name":"w"})",
        R"({"Name":"read_a"})", R"({"name":["read_a"]})", R"("read_a")", "{}",
        R"({"name":"read_\u0000"})"}) {
    EXPECT_EQ(library.list("tools/list", R"({"tools":[)" + std::string(odd) + "]}"),
              result_text("7", R"({"tools":[]})"))
        << odd;
  }
}

TEST(McpRules, AListWithoutAnythingToCutIsPassedAsItCame) {
  Library library;
  library.be({"reader"});
  const std::string result = R"({"tools" : [ {"name":"read_a"} ] })";
  EXPECT_EQ(library.list("tools/list", result), result_text("7", result));
}

TEST(McpRules, TheIdMayStandBehindTheList) {
  Library library;
  library.be({"reader"});
  library.request("tools/list");
  FakeChild& child = library.bench().child(0);
  child.say(R"({"result":{"tools":[{"name":"read_a"},{"name":"b"}]},"jsonrpc":"2.0","id":)" +
            child.take_ids().at(0) + "}");
  EXPECT_EQ(library.client().answers.at(0).text,
            R"({"result":{"tools":[{"name":"read_a"}]},"jsonrpc":"2.0","id":7})");
}

TEST(McpRules, AListsErrorIsPassedOn) {
  Library library;
  library.be({"reader"});
  library.request("tools/list");
  FakeChild& child = library.bench().child(0);
  child.say(error_text(child.take_ids().at(0), -32000, "no"));
  EXPECT_EQ(library.client().answers.at(0).text, error_text("7", -32000, "no"));
}

// Lists that waited while the client's roles changed are cut by the roles at the time of the
// request.
TEST(McpRules, AListIsCutForWhoAskedForIt) {
  Library library;
  library.be({"reader"});
  library.request("tools/list");
  library.be({});
  library.request("tools/list");
  FakeChild& child = library.bench().child(0);
  const auto ids = child.take_ids();
  const std::string tools = R"({"tools":[{"name":"read_a"}]})";
  child.answer(ids.at(1), tools);
  child.answer(ids.at(0), tools);
  EXPECT_EQ(library.client().texts(), (std::vector<std::string>{result_text("7", R"({"tools":[]})"),
                                                                result_text("7", tools)}));
}

TEST(McpRules, AnAllowlistOfMethodsHoldsForEverybody) {
  config::BackendConfig config = shared_mcp_options(1).config;
  config.methods = {"tools/*"};
  Library library(config);
  EXPECT_TRUE(library.passes("tools/list"));
  EXPECT_TRUE(library.passes("tools/call", R"({"name":"x"})"));
  EXPECT_TRUE(library.passes("ping"));
  EXPECT_EQ(library.refused("prompts/list"), error_text("7", -32601, "Method not found"));
  library.be({"reader"});
  EXPECT_EQ(library.refused("prompts/get", R"({"name":"x"})"),
            error_text("7", -32601, "Method not found"));
  const std::string tools = R"({"tools":[{"name":"a"},{}]})";
  EXPECT_EQ(library.list("tools/list", tools), result_text("7", tools));
}

TEST(McpRules, ANameIsNotGivenBackWhole) {
  Library library;
  const std::string name(100'000, 'n');
  EXPECT_LT(library.refused("tools/call", R"({"name":")" + name + R"("})").size(), 1200U);
}

TEST(McpRules, UpdatesOfResourcesAreForWhoMayReadThem) {
  config::BackendConfig config = library_rules();
  config.rules.push_back({.allow = {"reader"}, .methods = {"subscriptions/listen"}});
  Library library(config);
  library.be({"reader"});
  const auto of = [](const std::string& uris) {
    return R"({"notifications":{"resourceSubscriptions":)" + uris + "}}";
  };
  const std::string listen = "subscriptions/listen";
  EXPECT_TRUE(library.passes(listen, of(R"(["file:///open/a","file:///open/b"])")));
  EXPECT_TRUE(library.passes(listen, of("[]")));
  EXPECT_TRUE(library.passes(listen, R"({"notifications":{"toolsListChanged":true}})"));
  for (const char* const uris :
       {R"(["file:///secret"])", R"(["file:///open/a","file:///secret"])", "7", "[7]", "[[]]", "{}",
        R"(["file:///open/../secret"])", R"("file:///open/a")", "[\"\"]"}) {
    EXPECT_THAT(library.refused(listen, of(uris)), HasSubstr("Resource not found")) << uris;
  }
  EXPECT_THAT(library.refused(listen, of(R"(["file:///open/a","file:///secret"])")),
              HasSubstr(R"("uri":"file:///secret")"));
}

// A second list in the same result would show denied elements to some readers.
TEST(McpRules, AListBesideTheListIsAFault) {
  Library library;
  library.be({"reader"});
  const std::string good = R"({"tools":[{"name":"read_a"}])";
  EXPECT_THAT(library.list("tools/list", good + "}"), HasSubstr("read_a"));
  for (const char* const other :
       {R"(,"Tools":[{"name":"delete_a"}]})", R"(,"tools":[{"name":"delete_a"}]})",
        R"(,"t\u006fols":[]})", R"(},"Result":{"tools":[{"name":"delete_a"}]})"}) {
    EXPECT_THAT(library.list("tools/list", good + other),
                HasSubstr("readers could see different lists"))
        << other;
  }
}

// A list that cannot be cut must not be shown at all.
TEST(McpRules, AListThatIsNoArrayIsAFault) {
  Library library;
  library.be({"reader"});
  for (const char* const member : {"tools", "prompts", "resources", "resourceTemplates"}) {
    const std::string method = member == std::string("resourceTemplates")
                                   ? "resources/templates/list"
                                   : std::string(member) + "/list";
    const std::string element = R"({"name":"hidden","uri":"hidden","uriTemplate":"hidden"})";
    const std::string array = R"({")" + std::string(member) + R"(":[)" + element + "]}";
    for (const std::string& result :
         {R"({")" + std::string(member) + R"(":{"0":)" + element + "}}",
          R"({")" + std::string(member) + R"(":)" + array + "}", "[" + array + "]",
          R"({"result":)" + array + "}", R"({"of":[)" + element + R"(],"x":)" + array + "}"}) {
      EXPECT_THAT(library.list(method, result), HasSubstr("readers could see different lists"))
          << result;
    }
  }
}

}  // namespace
}  // namespace stdgate::test
