// Cached answers (MCP 2026-07-28, server utilities: caching): which answers are kept, who may
// receive them, and what invalidates them.
#include "gateway/mcp/cache_filter.h"

#include "gateway/rpc/message_text.h"
#include "tests/unit/mcp/modern_bench.h"

namespace stdgate::test {
namespace {

using mcp::AnswerCache;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::string key_of(const std::string& method, const std::string& params) {
  std::string text = R"({"jsonrpc":"2.0","id":1,"method":")" + method + '"';
  if (!params.empty()) text += R"(,"params":)" + params;
  text += "}";
  const rpc::KnownMessage known(text);
  return mcp::cache_key(known.envelope(), method);
}

TEST(Cacheable, TheKeyIsTheMethodAndTheParamsWithoutMeta) {
  const std::tuple<std::string, std::string, std::string> cases[] = {
      {"tools/list", "", "tools/list\n"},
      {"tools/list", R"({"_meta":{"a":1}})", "tools/list\n"},
      {"tools/list", R"({"\u005fmeta":{"a":1}})", "tools/list\n"},
      {"tools/list", R"({"_meta":{},"cursor" : "c" })", "tools/list\n\"cursor\":\"c\","},
      {"resources/read", R"({"uri":"a:b","_meta":{}})", "resources/read\n\"uri\":\"a:b\","},
      {"server/discover", "{}", "server/discover\n"},
      {"prompts/list", "", "prompts/list\n"},
      {"resources/list", "", "resources/list\n"},
      {"resources/templates/list", "", "resources/templates/list\n"},
      // Requests whose answers the specification allows nobody to keep.
      {"tools/call", R"({"name":"t"})", ""},
      {"prompts/get", R"({"name":"t"})", ""},
      {"completion/complete", "", ""},
      {"resources/read", R"({"uri":"a:b","inputResponses":{}})", ""},
      {"resources/read", R"({"uri":"a:b","requestState":"x"})", ""},
  };
  for (const auto& [method, params, expected] : cases) {
    EXPECT_EQ(key_of(method, params), expected) << method << params;
  }
}

// The terms as text, such as "public 5" with milliseconds; empty: the answer must not be kept.
std::string terms_of(const std::string& result) {
  const rpc::KnownMessage known(R"({"jsonrpc":"2.0","id":1,"result":)" + result + "}");
  const auto terms = mcp::cache_terms(known.envelope());
  if (!terms) return {};
  return (terms->is_public ? "public " : "private ") +
         std::to_string(std::chrono::duration_cast<milliseconds>(terms->lasts).count());
}

TEST(Cacheable, AResultSaysForHowLongAndForWhom) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"ttlMs":5,"cacheScope":"public"})", "public 5"},
      {R"({"resultType":"complete","ttlMs":5,"cacheScope":"private"})", "private 5"},
      {R"({"resultType":"input_required","ttlMs":5,"cacheScope":"public"})", ""},
      {R"({"ttlMs":0,"cacheScope":"public"})", ""},
      {R"({"ttlMs":-5,"cacheScope":"public"})", ""},
      {R"({"ttlMs":5.5,"cacheScope":"public"})", ""},
      {R"({"ttlMs":"5","cacheScope":"public"})", ""},
      {R"({"ttlMs":5})", ""},
      {R"({"cacheScope":"public"})", ""},
      {R"({"ttlMs":5,"cacheScope":"all"})", ""},
      {R"({"ttlMs":5,"ttlMs":6,"cacheScope":"public"})", ""},
      {R"({"ttlMs":99999999999999999999,"cacheScope":"public"})", ""},
      {R"({"ttlMs":9999999999999,"cacheScope":"public"})", "public 86400000"},
      {"[]", ""},
  };
  for (const auto& [result, expected] : cases) EXPECT_EQ(terms_of(result), expected) << result;
}

std::string list(const std::string& scope, int time_ms = 60'000, const std::string& tools = "") {
  return R"({"resultType":"complete","tools":[)" + tools + R"(],"ttlMs":)" +
         std::to_string(time_ms) + R"(,"cacheScope":")" + scope + R"("})";
}

backend::BackendOptions caching_options(config::Revision revision) {
  backend::BackendOptions options = ModernBench::options_of(revision, config::Isolation::shared);
  options.config.cache = true;
  return options;
}

policy::Principal named(const std::string& name, const std::string& role = "") {
  policy::Principal principal;
  principal.name = name;
  if (!role.empty()) principal.roles = {role};
  return principal;
}

class KeptAnswers : public testing::Test {
 public:
  explicit KeptAnswers(backend::BackendOptions options = caching_options(config::Revision::modern))
      : bench(std::move(options)) {}

  void ask(const policy::Principal* who, const std::string& method = "tools/list",
           const std::string& params = "") {
    bench.send_modern(client, request("1", method, params), who);
  }
  // Sends a request. Returns whether a child was asked, which has then answered with `result`.
  bool asks_child(const policy::Principal* who, const std::string& result,
                  const std::string& method = "tools/list", const std::string& params = "") {
    ask(who, method, params);
    const std::vector<std::string> ids = child.take_ids();
    if (!ids.empty()) child.answer(ids.at(0), result);
    return !ids.empty();
  }
  std::string last() { return client.texts().empty() ? "" : client.texts().back(); }

  ModernBench bench;
  FakeChild& child = bench.begin(0, kDiscovery);
  FakeClient client{bench.callers};
  const policy::Principal ada = named("ada");
  const policy::Principal eve = named("eve");
};

TEST_F(KeptAnswers, ArePublicForAll) {
  EXPECT_TRUE(asks_child(&ada, list("public")));
  for (const policy::Principal* who :
       {&ada, &eve, static_cast<const policy::Principal*>(nullptr)}) {
    EXPECT_FALSE(asks_child(who, {}));
    EXPECT_EQ(last(), R"({"jsonrpc":"2.0","id":1,"result":)" + list("public") + "}");
  }
  EXPECT_EQ(bench.observer.cache_hits, 3);
  EXPECT_EQ(bench.observer.records.size(), 4U) << "each of them is a call";
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST_F(KeptAnswers, ArePrivateForOne) {
  EXPECT_TRUE(asks_child(&ada, list("private", 1000)));
  EXPECT_TRUE(asks_child(&eve, list("private", 2000)));
  EXPECT_FALSE(asks_child(&ada, {}));
  EXPECT_NE(last().find(R"("ttlMs":1000)"), std::string::npos);
  EXPECT_FALSE(asks_child(&eve, {}));
  EXPECT_NE(last().find(R"("ttlMs":2000)"), std::string::npos);
}

TEST_F(KeptAnswers, ArePrivateForNobodyWhoIsUnknown) {
  EXPECT_TRUE(asks_child(nullptr, list("private")));
  EXPECT_TRUE(asks_child(nullptr, list("private")));
  EXPECT_TRUE(asks_child(&ada, list("private")));
}

TEST_F(KeptAnswers, SayWhatIsLeftOfTheirTime) {
  EXPECT_TRUE(asks_child(&ada, list("public", 5000)));
  bench.advance(milliseconds(1500));
  EXPECT_FALSE(asks_child(&ada, {}));
  EXPECT_EQ(last(), R"({"jsonrpc":"2.0","id":1,"result":)" + list("public", 3500) + "}");
  bench.advance(milliseconds(3499));
  EXPECT_FALSE(asks_child(&ada, {}));
  EXPECT_NE(last().find(R"("ttlMs":1,)"), std::string::npos) << last();
  bench.advance(milliseconds(1));
  EXPECT_TRUE(asks_child(&ada, list("public", 0)));
  EXPECT_TRUE(asks_child(&ada, list("public", 0)));
}

TEST_F(KeptAnswers, AreOfOneRequest) {
  std::string first = list("public");
  first.insert(1, R"("nextCursor":"c",)");
  EXPECT_TRUE(asks_child(&ada, first));
  const std::string cursor = R"("cursor":"gate.0-1")";  // the cursor as the client received it
  EXPECT_TRUE(asks_child(&ada, list("public"), "tools/list", cursor)) << last();
  EXPECT_FALSE(asks_child(&ada, {}, "tools/list", cursor));
  EXPECT_TRUE(asks_child(&ada, list("public"), "prompts/list"));
  EXPECT_TRUE(asks_child(&ada, list("public"), "server/discover"));
  EXPECT_FALSE(asks_child(&ada, {}, "server/discover"));
  EXPECT_TRUE(asks_child(&ada, list("public"), "resources/read", R"("uri":"a:b")"));
  EXPECT_FALSE(asks_child(&ada, {}, "resources/read", R"("uri":"a:b")"));
  EXPECT_TRUE(asks_child(&ada, list("public"), "resources/read", R"("uri":"a:c")"));
}

TEST_F(KeptAnswers, ErrorsAreNotKept) {
  ask(&ada);
  child.say(R"({"jsonrpc":"2.0","id":)" + child.take_ids().at(0) +
            R"(,"error":{"code":-32603,"message":"no","data":)" + list("public") + "}}");
  EXPECT_TRUE(asks_child(&ada, list("public")));
}

TEST_F(KeptAnswers, EndWithAChangeOfTheirList) {
  EXPECT_TRUE(asks_child(&ada, list("public")));
  EXPECT_TRUE(asks_child(&ada, list("public"), "prompts/list"));
  EXPECT_TRUE(asks_child(&ada, list("public"), "resources/read", R"("uri":"a:b")"));
  child.say(note("tools/list_changed", "{}"));
  EXPECT_TRUE(asks_child(&ada, list("public")));
  EXPECT_FALSE(asks_child(&ada, {}, "prompts/list"));
  child.say(note("resources/updated", R"({"uri":"a:b"})"));
  EXPECT_TRUE(asks_child(&ada, list("public"), "resources/read", R"("uri":"a:b")"));
  EXPECT_FALSE(asks_child(&ada, {}));
}

TEST_F(KeptAnswers, EndWithAChild) {
  EXPECT_TRUE(asks_child(&ada, list("public")));
  child.exit(1);
  bench.advance(seconds(1));
  FakeChild& next = bench.begin(1, kDiscovery);
  ask(&ada);
  EXPECT_FALSE(next.take_ids().empty());
}

TEST_F(KeptAnswers, AreNotGivenToClientsOfOtherEras) {
  EXPECT_TRUE(asks_child(&ada, list("public")));
  bench.send(client, R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  EXPECT_FALSE(child.take_ids().empty());
}

TEST_F(KeptAnswers, AreNotGivenWhileTheGatewayEnds) {
  EXPECT_TRUE(asks_child(&ada, list("public")));
  bench.backend.drain();
  ask(&ada);
  EXPECT_TRUE(client.answers.back().fault.has_value());
}

class KeptAnswersOff : public KeptAnswers {
 public:
  KeptAnswersOff()
      : KeptAnswers(ModernBench::options_of(config::Revision::modern, config::Isolation::shared)) {}
};

TEST_F(KeptAnswersOff, ThereAreNone) {
  EXPECT_TRUE(asks_child(&ada, list("public")));
  EXPECT_TRUE(asks_child(&ada, list("public")));
}

// Rules show each client its own part of the kept answer.
class KeptAnswersUnderRules : public KeptAnswers {
 public:
  KeptAnswersUnderRules() : KeptAnswers(options()) {}
  static backend::BackendOptions options() {
    backend::BackendOptions options = caching_options(config::Revision::modern);
    config::RuleConfig for_all;
    for_all.allow = {"all"};
    for_all.tools = {"*"};
    config::RuleConfig for_few;
    for_few.allow = {"few"};
    for_few.tools = {"read_*"};
    options.config.rules = {for_all, for_few};
    return options;
  }
  const policy::Principal all = named("all", "all");
  const policy::Principal few = named("few", "few");
  const policy::Principal none = named("none");
};

TEST_F(KeptAnswersUnderRules, AreCutForEach) {
  const std::string read = R"({"name":"read_file"})";
  const std::string write = R"({"name":"write_file"})";
  EXPECT_TRUE(asks_child(&few, list("public", 1000, read + "," + write)));
  const std::string head = R"({"jsonrpc":"2.0","id":1,"result":)";
  EXPECT_EQ(last(), head + list("private", 1000, read) + "}");
  EXPECT_FALSE(asks_child(&all, {}));
  EXPECT_EQ(last(), head + list("private", 1000, read + "," + write) + "}");
  EXPECT_FALSE(asks_child(&few, {}));
  EXPECT_EQ(last(), head + list("private", 1000, read) + "}");
  EXPECT_FALSE(asks_child(&none, {}));
  EXPECT_NE(last().find("-32601"), std::string::npos) << last();
}

// Rules that a reload brings apply to answers that were kept before.
TEST_F(KeptAnswersUnderRules, AreCutByTheRulesOfTheMoment) {
  const std::string read = R"({"name":"read_file"})";
  const std::string write = R"({"name":"write_file"})";
  EXPECT_TRUE(asks_child(&few, list("public", 1000, read + "," + write)));
  const auto seen_under = [&](std::vector<config::RuleConfig> rules) {
    config::BackendConfig config = options().config;
    config.rules = std::move(rules);
    bench.backend.set_rules(config, {});
    EXPECT_FALSE(asks_child(&few, {}));
    return last();
  };
  const auto result = [](const std::string& text) {
    return R"({"jsonrpc":"2.0","id":1,"result":)" + text + "}";
  };
  config::RuleConfig rule = options().config.rules[1];
  rule.tools = {"write_*"};
  EXPECT_EQ(seen_under({rule}), result(list("private", 1000, write)));
  EXPECT_EQ(seen_under({}), result(list("public", 1000, read + "," + write)));
  rule.allow = {"all"};
  EXPECT_NE(seen_under({rule}).find("-32601"), std::string::npos) << last();
}

TEST(KeptAnswersOfLegacyChildren, ThereAreNone) {
  ModernBench bench(caching_options(config::Revision::legacy));
  FakeChild& child = bench.begin(0, kGreeting);
  FakeClient client(bench.callers);
  for (int i = 0; i < 2; ++i) {
    bench.send_modern(client, request("1", "tools/list"));
    child.answer(child.take_ids().at(0), list("public"));
  }
  EXPECT_EQ(client.answers.size(), 2U);
}

// --- Limits

class AnswerCacheLimits : public testing::Test {
 public:
  // Keeps an answer of about this size.
  void keep(const std::string& cursor, size_t bytes, int time_ms = 60'000) {
    const rpc::KnownMessage known(request("1", "tools/list", R"("cursor":")" + cursor + '"'));
    const std::string key = mcp::cache_key(known.envelope(), "tools/list");
    ASSERT_FALSE(cache.find({}, key, now).has_value());
    const rpc::KnownMessage answer(R"({"jsonrpc":"2.0","id":1,"result":)" +
                                   list("public", time_ms, '"' + std::string(bytes, 'x') + '"') +
                                   "}");
    cache.keep({}, key, answer.envelope(), 1, now);
  }
  bool has(const std::string& cursor) {
    const rpc::KnownMessage known(request("1", "tools/list", R"("cursor":")" + cursor + '"'));
    return cache.find({}, mcp::cache_key(known.envelope(), "tools/list"), now).has_value();
  }

  AnswerCache cache;
  const TimePoint now{};
};

TEST_F(AnswerCacheLimits, SoManyAnswers) {
  keep("first", 1, 1000);
  for (size_t i = 1; i < AnswerCache::kMaxEntries; ++i) keep(std::to_string(i), 1);
  EXPECT_TRUE(has("first"));
  keep("last", 1);
  EXPECT_EQ(cache.size(), AnswerCache::kMaxEntries);
  EXPECT_FALSE(has("first")) << "the one that would end first goes";
  EXPECT_TRUE(has("last"));
}

TEST_F(AnswerCacheLimits, SoManyBytes) {
  keep("large", AnswerCache::kMaxEntryBytes);
  EXPECT_EQ(cache.size(), 0U);
  constexpr size_t kSize = AnswerCache::kMaxEntryBytes - 500;
  constexpr size_t kFit = AnswerCache::kMaxBytes / kSize;
  for (size_t i = 0; i < kFit; ++i) keep(std::to_string(i), kSize, 1000 + static_cast<int>(i));
  EXPECT_EQ(cache.size(), kFit);
  keep("last", kSize);
  EXPECT_EQ(cache.size(), kFit);
  EXPECT_FALSE(has("0"));
  EXPECT_TRUE(has("1"));
  EXPECT_LE(cache.bytes(), AnswerCache::kMaxBytes);
  cache.clear();
  EXPECT_EQ(cache.bytes(), 0U);
}

}  // namespace
}  // namespace stdgate::test
