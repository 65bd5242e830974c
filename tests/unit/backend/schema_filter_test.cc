// Params and results that are checked against an OpenRPC document, before and after the child.
#include "gateway/call/schema_filter.h"

#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <string>

#include "gateway/call/rule_filter.h"
#include "gateway/pool/dialect.h"
#include "tests/support/backend_bench.h"

namespace stdgate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kDocument =
    R"({"openrpc":"1.3.2","info":{"title":"t","version":"1"},"methods":[)"
    R"({"name":"sum","params":[{"name":"a","required":true,"schema":{"type":"integer"}},)"
    R"({"name":"b","schema":{"type":"integer"}}],"result":{"name":"r","schema":{"type":"integer"}}},)"
    R"({"name":"named","paramStructure":"by-name","params":[{"name":"a","schema":{"minimum":1}}],)"
    R"("errors":[{"code":-32001,"message":"Invalid params"}]},)"
    R"({"name":"listed","paramStructure":"by-position","params":[{"name":"a","schema":true}]},)"
    R"({"name":"deep","params":[{"name":"x","schema":{"type":"array"}}]},)"
    R"x({"name":"odd","params":[{"name":"a","schema":{"pattern":"(?=a)"}}]}]})x";

backend::BackendOptions options_of(config::CheckConfig check) {
  backend::BackendOptions options = plain_options();
  auto document = schema::OpenRpcDocument::read(kDocument);
  EXPECT_TRUE(document);
  options.config.document.document =
      std::make_shared<const schema::OpenRpcDocument>(*std::move(document));
  options.config.check = check;
  options.config.pool.min = 1;
  return options;
}

class SchemaFilterTest : public testing::Test {
 public:
  explicit SchemaFilterTest(config::CheckConfig check = {true, true}) : bench(options_of(check)) {
    child = &bench.start_child();
  }

  // Sends a request. Returns the gateway's own answer, or "" if the child receives the request.
  std::string send(const std::string& method, const std::string& params) {
    const size_t before = client.answers.size();
    bench.send(client, R"({"jsonrpc":"2.0","id":1,"method":")" + method + "\"" +
                           (params.empty() ? "" : R"(,"params":)" + params) + "}");
    lines = child->take_lines();
    EXPECT_EQ(lines.empty(), client.answers.size() > before) << method << params;
    return client.answers.size() > before ? client.answers.back().text : "";
  }

  // The fault of the last answer.
  [[nodiscard]] std::optional<rpc::Fault> fault() const {
    return client.answers.empty() ? std::nullopt : client.answers.back().fault;
  }
  // The id of the request that the child has received.
  [[nodiscard]] std::string asked_id() const {
    rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
    std::string line = lines.at(0);
    return std::string(parser.parse(line)->messages[0].envelope.id);
  }

  BackendBench bench;
  FakeClient client{bench.callers};
  FakeChild* child = nullptr;
  std::vector<std::string> lines;
};

TEST_F(SchemaFilterTest, ParamsThatFitReachTheChild) {
  for (const auto& [method, params] : {std::pair("sum", R"({"a":1})"),
                                       {"sum", "[1]"},
                                       {"sum", "[1,2]"},
                                       {"named", ""},
                                       {"named", "null"},
                                       {"named", R"({"a":1})"},
                                       {"listed", ""},
                                       {"listed", "[{}]"},
                                       {"odd", R"({"a":"b"})"},
                                       {"other", R"({"x":1,"x":2})"}}) {
    EXPECT_EQ(send(method, params), "") << method << params;
  }
}

TEST_F(SchemaFilterTest, ParamsThatDoNotFitAreAnsweredWithTheirPlaces) {
  struct Case {
    std::string_view method;
    std::string_view params;
    std::string_view answer;
  };
  const Case cases[] = {
      {"sum", R"({"a":"1"})", R"("place":"/a","expected":"integer, not string")"},
      {"sum", R"({"b":1})", R"x("place":"","expected":"a member \"a\"")x"},
      {"sum", "[]", R"("expected":"at least 1)"},
      {"sum", "[1,2,3]", R"("place":"/2")"},
      {"sum", R"({"a":1,"c":1})", R"x("expected":"no member \"c\"")x"},
      {"sum", R"({"a":1,"a":2})", "is there twice"},
      {"sum", R"({"a":1,"\u0061":2})", R"("place":"/a","expected":"once, and is there twice")"},
      {"deep", R"({"x":[{},{"~a/b":1,"~a/b":2}]})", R"("place":"/x/1/~0a~1b")"},
      {"sum", "", R"x("expected":"a member \"a\"")x"},
      {"named", "[1]", R"("code":-32001,"message":"Invalid params")"},
      {"named", R"({"a":0})", R"("code":-32001)"},
      {"listed", R"({"a":1})", R"("code":-32602)"},
  };
  for (const Case& one : cases) {
    EXPECT_THAT(send(std::string(one.method), std::string(one.params)), HasSubstr(one.answer))
        << one.method << one.params;
  }
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST_F(SchemaFilterTest, NotificationsThatDoNotFitAreDropped) {
  bench.send(client, R"({"jsonrpc":"2.0","method":"sum","params":{"a":"1"}})");
  bench.send(client, R"({"jsonrpc":"2.0","method":"sum","params":{"a":1},"Params":{"a":"1"}})");
  EXPECT_EQ(child->take_line(), "");
  EXPECT_EQ(bench.observer.dropped[DropReason::denied], 2);
  bench.send(client, R"({"jsonrpc":"2.0","method":"sum","params":{"a":1}})");
  EXPECT_NE(child->take_line(), "");
}

// A child that ignores case reads another method, which the document may contain.
TEST_F(SchemaFilterTest, WhatReadersCouldSeeDifferentlyIsRefusedWhateverItCalls) {
  for (const char* const rest : {R"("method":"x","Method":"sum","params":["bad"]})",
                                 R"("method":"rpc.discover","METHOD":"sum","params":["bad"]})",
                                 R"("method":"sum","params":[1],"Params":["bad"]})"}) {
    bench.send(client, R"({"jsonrpc":"2.0","id":1,)" + std::string(rest));
    EXPECT_EQ(fault(), rpc::Fault::invalid_request) << rest;
    bench.send(client, R"({"jsonrpc":"2.0",)" + std::string(rest));
    EXPECT_EQ(child->take_line(), "") << rest;
  }
  EXPECT_EQ(client.answers.size(), 3U);
  EXPECT_EQ(bench.observer.dropped[DropReason::denied], 3);
}

TEST_F(SchemaFilterTest, AResultBesideTheResultIsAFault) {
  for (const char* const members :
       {R"("result":1,"Result":"x")", R"("Result":"x","error":{"code":1,"message":"m"})",
        R"("result":1,"Error":{"code":1,"message":"m"})"}) {
    EXPECT_EQ(send("sum", "[1]"), "");
    child->say(R"({"jsonrpc":"2.0","id":)" + asked_id() + "," + members + "}");
    EXPECT_EQ(fault(), rpc::Fault::child_failed) << members;
  }
}

TEST_F(SchemaFilterTest, ResultsThatDoNotFitAreFaults) {
  const auto answer = [this](const std::string& result) {
    EXPECT_EQ(send("sum", "[1]"), "");
    child->answer(asked_id(), result);
    return client.answers.back();
  };
  EXPECT_FALSE(answer("3").fault);
  EXPECT_EQ(answer(R"("3")").fault, rpc::Fault::child_failed);
  EXPECT_THAT(bench.observer.records.back().detail, HasSubstr("integer, not string"));
}

TEST_F(SchemaFilterTest, TheDocumentIsTheAnswerToDiscover) {
  EXPECT_THAT(send("rpc.discover", ""), HasSubstr(R"("openrpc":"1.3.2")"));
}

class ResultsAloneTest : public SchemaFilterTest {
 public:
  ResultsAloneTest() : SchemaFilterTest({false, true}) {}
};

TEST_F(ResultsAloneTest, RefuseWhatCouldBeAnotherMethodToo) {
  bench.send(client, R"({"jsonrpc":"2.0","id":1,"method":"x","Method":"sum","params":[1]})");
  EXPECT_EQ(fault(), rpc::Fault::invalid_request);
  EXPECT_EQ(send("sum", R"({"a":"x"})"), "");
}

class UncheckedTest : public SchemaFilterTest {
 public:
  UncheckedTest() : SchemaFilterTest({false, false}) {}
};

TEST_F(UncheckedTest, ADocumentAloneChecksNothing) {
  EXPECT_EQ(send("sum", R"({"a":"1"})"), "");
  EXPECT_THAT(send("rpc.discover", ""), HasSubstr("openrpc"));
  bench.send(client, R"({"jsonrpc":"2.0","id":1,"method":"x","Method":"sum"})");
  EXPECT_NE(child->take_line(), "");
}

// A server's own document. The caller may see a part of it only.
TEST(ServersDocument, IsShownOnlyWhereItCanBeCut) {
  backend::BackendOptions options = plain_options();
  options.config.rules = {{.allow = {"*"}, .methods = {"seen", "rpc.discover"}}};
  options.config.pool.min = 1;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  const auto show = [&](const std::string& result) {
    bench.send(client, R"({"jsonrpc":"2.0","id":1,"method":"rpc.discover"})");
    std::string line = child.take_line();
    rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
    child.answer(std::string(parser.parse(line)->messages[0].envelope.id), result);
    return client.answers.back().text;
  };
  const std::string methods = R"([{"name":"seen"},{"name":"hidden"}])";
  const std::string document = R"({"methods":)" + methods + "}";
  EXPECT_THAT(show(document), HasSubstr(R"("methods":[{"name":"seen"}])"));
  for (const std::string& other :
       {R"({"methods":{"0":{"name":"hidden"}}})" + std::string(), "[" + document + "]",
        R"({"result":)" + document + "}", R"({"methods":[],"Methods":)" + methods + "}",
        R"({"methods":[],"methods":)" + methods + "}"}) {
    EXPECT_THAT(show(other), testing::Not(HasSubstr("hidden"))) << other;
    EXPECT_EQ(client.answers.back().fault, rpc::Fault::child_failed) << other;
  }
}

// The part of a document that each client may see. Each role has a rule of its own.
class ViewsTest : public testing::Test {
 public:
  static constexpr size_t kRoles = call::CallRules::kMaxViews + 1;

  // `described`: the size of the part that all roles see.
  explicit ViewsTest(size_t described = 1000) {
    const std::string text = R"({"openrpc":"1.3.2","info":{"title":"t","version":"1"},"methods":[)"
                             R"({"name":"seen","params":[],"description":")" +
                             std::string(described, 'x') + R"("},{"name":"unseen","params":[]}]})";
    auto document = schema::OpenRpcDocument::read(text);
    EXPECT_TRUE(document);
    backend.document.document =
        std::make_shared<const schema::OpenRpcDocument>(*std::move(document));
    for (size_t role = 0; role < kRoles; ++role) {
      backend.rules.push_back({.allow = {std::to_string(role)}, .methods = {"seen"}});
    }
    rules.emplace(backend, std::vector<config::RoleConfig>(), dialect, Payer{&account, &held});
  }

  void show(size_t role) {
    policy::Principal principal;
    principal.roles = {std::to_string(role)};
    const call::ListCut cut = rules->cut_of(*dialect.list_shape(call::kDiscover), &principal);
    const std::string_view shown = rules->seen(cut, backend.document.document->text());
    EXPECT_THAT(shown, HasSubstr(R"("seen")"));
    EXPECT_THAT(shown, testing::Not(HasSubstr(R"("unseen")")));
    size = shown.size();
  }
  [[nodiscard]] size_t kept() const { return held.of[static_cast<size_t>(Holding::caches)]; }

  pool::JsonRpcDialect dialect{""};
  config::BackendConfig backend;
  Account account{size_t{64} << 20};
  HeldBytes held;
  std::optional<call::CallRules> rules;
  size_t size = 0;  // size of the last answer
};

TEST_F(ViewsTest, AreKeptOnceAndCharged) {
  show(0);
  EXPECT_GE(kept(), size);
  EXPECT_LE(kept(), size + 16);
  EXPECT_EQ(account.used(), kept());
  const size_t one = kept();
  show(0);
  EXPECT_EQ(kept(), one);
  for (size_t role = 1; role < call::CallRules::kMaxViews; ++role) show(role);
  EXPECT_EQ(kept(), call::CallRules::kMaxViews * one);
  show(call::CallRules::kMaxViews);
  EXPECT_EQ(kept(), one) << "all others have gone";
}

TEST_F(ViewsTest, GoWhenMemoryIsNeededOrRulesChange) {
  show(0);
  rules->drop_views();
  EXPECT_EQ(account.used(), 0U);
  show(0);
  EXPECT_GT(account.used(), 0U);
  backend.rules.front().methods = {"unseen"};
  EXPECT_TRUE(rules->replace(backend, {}));
  EXPECT_EQ(account.used(), 0U);
}

TEST_F(ViewsTest, AreNotKeptBeyondTheAccount) {
  account.set_bound(size_t{500});
  show(0);
  EXPECT_EQ(kept(), 0U);
}

// Of the largest documents, only two views are kept.
class LargeViewsTest : public ViewsTest {
 public:
  LargeViewsTest() : ViewsTest(schema::OpenRpcDocument::kMaxText - 200) {}
};

TEST_F(LargeViewsTest, AreBounded) {
  show(0);
  const size_t one = kept();
  show(1);
  EXPECT_EQ(kept(), 2 * one);
  show(2);
  EXPECT_EQ(kept(), one);
  EXPECT_LE(2 * one, call::CallRules::kMaxViewBytes);
}

}  // namespace
}  // namespace stdgate::test
