// Rules: which client may do what. All tables go through one check().
#include "gateway/policy/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stdgate {

namespace {

using policy::ElementKind;
using policy::Principal;
using policy::Subject;
using policy::Verdict;
using Names = std::vector<std::string>;

Principal principal(Names roles, Names scopes = {}) {
  Principal principal;
  principal.name = "somebody";
  principal.roles = std::move(roles);
  principal.scopes = std::move(scopes);
  return principal;
}

Subject method(std::string_view name) { return {.method = name}; }
Subject tool(std::string_view name, bool is_plain = true) {
  return {"tools/call", ElementKind::tool, name, is_plain};
}
Subject resource(std::string_view uri, bool is_plain = true) {
  return {"resources/read", ElementKind::resource, uri, is_plain};
}
Subject prompt(std::string_view name) { return {"prompts/get", ElementKind::prompt, name}; }
Subject list(std::string_view name, ElementKind kind) { return {.method = name, .lists = kind}; }

policy::Rules make(std::vector<config::RuleConfig> rules,
                   std::vector<config::RoleConfig> roles = {}, Names methods = {}) {
  config::BackendConfig backend;
  backend.rules = std::move(rules);
  backend.methods = std::move(methods);
  return {backend, roles};
}

struct Case {
  std::string what;
  policy::Rules rules;
  std::optional<Principal> who;
  Subject subject;
  Verdict verdict;
};

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    EXPECT_EQ(c.rules.judge(c.who ? &*c.who : nullptr, c.subject).verdict, c.verdict) << c.what;
  }
}

constexpr Verdict kAllowed = Verdict::allowed;
constexpr Verdict kDenied = Verdict::denied;
const Names kAll{"*"};

// The example of docs/rules.md.
policy::Rules example() {
  return make({{.allow = {"reader"}, .methods = {"tools/list", "resources/*", "logging/setLevel"}},
               {.allow = {"reader"}, .tools = {"read_*", "list_*"}},
               {.allow = {"writer"}, .tools = {"*"}, .except = {"delete_*"}},
               {.allow = {"*"}, .tools = {"delete_*"}, .scopes = {"files:delete"}}},
              {{"writer", {"reader"}}});
}

TEST(Rules, HoldForWhatAgentsSayToo) {
  const Principal ada = principal({"reader"});
  const Principal bob = principal({"reader"}, {"files"});
  const policy::Rules silent = make({{.allow = {"reader"}, .methods = {"session/prompt"}}});
  EXPECT_TRUE(silent.lets_agent(&ada, "terminal/create")) << "no rule is about this direction";
  const policy::Rules rules =
      make({{.allow = {"*"}, .from_agent = {"session/*", "fs/*"}, .except = {"fs/write*"}},
            {.allow = {"reader"}, .from_agent = {"fs/write*"}, .scopes = {"files"}},
            {.allow = {"reader"}, .from_agent = {"fs/*"}},
            {.allow = {"writer"}, .except = {"terminal/kill"}}});
  struct Asked {
    std::optional<Principal> who;
    std::string_view method;
    bool is_let;
  };
  const Asked cases[] = {{std::nullopt, "session/update", true},
                         {std::nullopt, "fs/read_text_file", true},
                         {std::nullopt, "fs/write_text_file", false},
                         {std::nullopt, "terminal/create", false},
                         {ada, "fs/write_text_file", false},  // the first rule that matches decides
                         {bob, "fs/write_text_file", true},
                         {bob, "terminal/create", false},
                         {principal({"writer"}), "terminal/create", true},
                         {principal({"writer"}), "terminal/kill", false}};
  for (const Asked& one : cases) {
    EXPECT_EQ(rules.lets_agent(one.who ? &*one.who : nullptr, one.method), one.is_let)
        << one.method;
  }
  EXPECT_EQ(rules.judge(nullptr, method("session/prompt")).verdict, kDenied)
      << "from_agent is about the other direction";
}

TEST(Rules, WithoutAnyNothingIsForbidden) {
  const policy::Rules rules = make({});
  EXPECT_FALSE(rules.any());
  EXPECT_EQ(rules.judge(nullptr, tool("x")).verdict, kAllowed);
  EXPECT_TRUE(rules.takes_method("x"));
}

TEST(Rules, TheExample) {
  const std::optional<Principal> nobody;
  const Principal reader = principal({"reader"});
  const Principal writer = principal({"writer"});
  const Principal deleter = principal({"other"}, {"files:read", "files:delete"});
  check({{"a", example(), reader, tool("read_file"), kAllowed},
         {"b", example(), reader, tool("write_file"), kDenied},
         {"c", example(), reader, tool("delete_file"), Verdict::needs_scope},
         {"d", example(), reader, resource("file:///x"), kAllowed},
         {"e", example(), reader, method("logging/setLevel"), kAllowed},
         {"f", example(), reader, method("tasks/list"), kDenied},
         {"g", example(), writer, tool("read_file"), kAllowed},
         {"h", example(), writer, tool("write_file"), kAllowed},
         {"i", example(), writer, tool("delete_file"), Verdict::needs_scope},
         {"j", example(), writer, method("resources/list"), kAllowed},
         {"k", example(), deleter, tool("delete_file"), kAllowed},
         {"l", example(), deleter, tool("read_file"), kDenied},
         {"m", example(), nobody, tool("delete_file"), Verdict::needs_scope},
         {"n", example(), nobody, tool("read_file"), kDenied},
         {"o", example(), nobody, method("tools/list"), kDenied},
         {"p", example(), nobody, list("tools/list", ElementKind::tool), kAllowed},
         {"q", example(), nobody, list("prompts/list", ElementKind::prompt), kDenied},
         {"r", example(), principal({}), tool("read_file"), kDenied},
         {"s", example(), principal({"Reader"}), tool("read_file"), kDenied},
         {"t", example(), principal({"*"}), tool("read_file"), kDenied}});
}

TEST(Rules, NamesDecideByTheirKind) {
  const auto rules = [] {
    return make({{.allow = kAll, .tools = {"t"}, .resources = {"r"}, .prompts = {"p"}}});
  };
  check({{"tool", rules(), {}, tool("t"), kAllowed},
         {"tool r", rules(), {}, tool("r"), kDenied},
         {"tool p", rules(), {}, tool("p"), kDenied},
         {"resource", rules(), {}, resource("r"), kAllowed},
         {"resource t", rules(), {}, resource("t"), kDenied},
         {"prompt", rules(), {}, prompt("p"), kAllowed},
         {"prompt t", rules(), {}, prompt("t"), kDenied},
         {"method t", rules(), {}, method("t"), kDenied},
         {"list", rules(), {}, list("tools/list", ElementKind::tool), kAllowed}});
}

TEST(Rules, ARuleWithoutNamesIsAboutEverything) {
  const auto rules = [] { return make({{.allow = {"admin"}}}); };
  const Principal admin = principal({"admin"});
  check({{"tool", rules(), admin, tool("t"), kAllowed},
         {"odd tool", rules(), admin, tool("t", false), kAllowed},
         {"method", rules(), admin, method("m"), kAllowed},
         {"list", rules(), admin, list("prompts/list", ElementKind::prompt), kAllowed},
         {"anonymous", rules(), {}, tool("t"), kDenied}});
}

TEST(Rules, WhatReadersMayTakeForAnotherNameIsExceptedAndNotNamed) {
  check({{"named", make({{.allow = kAll, .tools = {"a*"}}}), {}, tool("a", false), kDenied},
         {"all", make({{.allow = kAll, .tools = kAll}}), {}, tool("a", false), kAllowed},
         {"all but",
          make({{.allow = kAll, .tools = kAll, .except = {"b"}}}),
          {},
          tool("a", false),
          kDenied},
         {"all methods but",
          make({{.allow = kAll, .methods = kAll, .except = {"file:///etc/*"}}}),
          {},
          resource("file:///x/../etc/y", false),
          kDenied},
         {"no name", make({{.allow = kAll, .tools = {"a"}}}), {}, tool("", false), kDenied}});
}

TEST(Rules, ExceptIsAboutMethodsToo) {
  const auto rules = [] {
    return make({{.allow = kAll, .methods = kAll, .except = {"tools/call", "secret*"}}});
  };
  check({{"call", rules(), {}, tool("t"), kDenied},
         {"list", rules(), {}, list("tools/list", ElementKind::tool), kAllowed},
         {"prompt", rules(), {}, prompt("secret"), kDenied},
         {"other prompt", rules(), {}, prompt("open"), kAllowed},
         {"method", rules(), {}, method("secret/m"), kDenied}});
}

TEST(Rules, TheFirstThatFitsDecides) {
  const auto rules = [] {
    return make({{.allow = {"a"}, .tools = {"t"}, .scopes = {"s"}},
                 {.allow = {"a"}, .tools = {"t"}},
                 {.allow = {"b"}, .tools = {"t"}}});
  };
  check({{"scope first", rules(), principal({"a"}), tool("t"), Verdict::needs_scope},
         {"has it", rules(), principal({"a"}, {"s"}), tool("t"), kAllowed},
         {"b", rules(), principal({"b"}), tool("t"), kAllowed},
         {"both", rules(), principal({"b", "a"}), tool("t"), Verdict::needs_scope}});
}

TEST(Rules, NeededScopesAreAllOfTheRule) {
  const policy::Rules rules = make({{.allow = kAll, .scopes = {"a", "b"}}});
  const Principal half = principal({}, {"a"});
  const policy::Ruling ruling = rules.judge(&half, method("m"));
  EXPECT_EQ(ruling.verdict, Verdict::needs_scope);
  EXPECT_THAT(ruling.scopes, testing::ElementsAre("a", "b"));
}

TEST(Rules, RolesIncludeOthersThroughOthers) {
  const std::vector<config::RoleConfig> roles = {
      {"admin", {"writer"}}, {"writer", {"reader"}}, {"auditor", {"reader", "log"}}};
  for (const char* role : {"reader", "writer", "admin", "auditor"}) {
    const Principal who = principal({role});
    EXPECT_EQ(make({{.allow = {"reader"}}}, roles).judge(&who, method("m")).verdict, kAllowed)
        << role;
  }
  const Principal reader = principal({"reader"});
  EXPECT_EQ(make({{.allow = {"writer"}}}, roles).judge(&reader, method("m")).verdict, kDenied);
}

TEST(Rules, AnAllowlistNeedsNoIdentity) {
  const policy::Rules rules = make({}, {}, {"add", "math/*"});
  EXPECT_TRUE(rules.any());
  EXPECT_TRUE(rules.takes_method("add"));
  EXPECT_TRUE(rules.takes_method("math/sub"));
  EXPECT_FALSE(rules.takes_method("Add"));
  EXPECT_FALSE(rules.takes_method(""));
}

TEST(Rules, ListsShowWhatSomeRuleOfTheClientIsAbout) {
  const policy::Rules rules = example();
  const Principal reader = principal({"reader"});
  const policy::RuleSet of_reader = rules.rules_of(&reader);
  const policy::RuleSet of_nobody = rules.rules_of(nullptr);
  EXPECT_EQ(of_reader.count(), 3U);
  EXPECT_EQ(of_nobody.count(), 1U);
  EXPECT_TRUE(rules.shows(of_reader, tool("read_file")));
  EXPECT_FALSE(rules.shows(of_reader, tool("write_file")));
  EXPECT_TRUE(rules.shows(of_reader, tool("delete_file")));  // a client can obtain a scope
  EXPECT_FALSE(rules.shows(of_nobody, tool("read_file")));
  EXPECT_TRUE(make({}).shows({}, tool("x")));
}

TEST(Rules, AsManyAsThereMayBe) {
  std::vector<config::RuleConfig> many(config::kMaxRules, {.allow = {"nobody"}});
  many.back().allow = {"last"};
  const policy::Rules rules = make(many);
  const Principal last = principal({"last"});
  EXPECT_EQ(rules.judge(&last, method("m")).verdict, kAllowed);
  EXPECT_TRUE(rules.rules_of(&last)[config::kMaxRules - 1]);
}

}  // namespace

// Patterns of names, and the names that all readers read in the same way.

namespace {

using namespace std::string_view_literals;

TEST(NamePattern, Matches) {
  struct Case {
    std::string_view pattern;
    std::string_view name;
    bool matches;
  };
  const Case cases[] = {
      {"read", "read", true},
      {"read", "reads", false},
      {"read", "rea", false},
      {"read", "Read", false},
      {"", "", true},
      {"", "a", false},
      {"*", "", true},
      {"*", "anything/at all", true},
      {"**", "a", true},
      {"read_*", "read_", true},
      {"read_*", "read_file", true},
      {"read_*", "xread_file", false},
      {"*_file", "read_file", true},
      {"*_file", "read_file_", false},
      {"*a*b*", "xxaxxbxx", true},
      {"*a*b*", "xxbxxaxx", false},
      {"a*b", "ab", true},
      {"a*b", "aXbXb", true},
      {"a*b", "aXbX", false},
      {"a*bc*d", "abcbcd", true},
      {"file:///srv/*.txt", "file:///srv/a/b.txt", true},
      {"a?c", "abc", false},
      {"a?c", "a?c", true},
      {"[a]", "a", false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(policy::matches(c.pattern, c.name), c.matches) << c.pattern << " " << c.name;
  }
}

TEST(NamePattern, TakesNoTimeForManyStars) {
  std::string pattern;
  for (int i = 0; i < 30; ++i) pattern += "*a";
  pattern += "*b";
  const std::string name(policy::kMaxPlainName, 'a');
  EXPECT_FALSE(policy::matches(pattern, name));
}

TEST(NamePattern, AnyOfSeveral) {
  EXPECT_TRUE(policy::matches_any({"a", "b*"}, "bc"));
  EXPECT_FALSE(policy::matches_any({"a", "b*"}, "c"));
  EXPECT_FALSE(policy::matches_any({}, ""));
}

TEST(PlainName, HasNoControlCharacters) {
  for (const std::string_view plain : {"read"sv, "a b"sv, "\u00e4"sv, "a/b"sv}) {
    EXPECT_TRUE(policy::is_plain_name(plain)) << plain;
  }
  for (const std::string_view odd : {""sv, "a\0b"sv, "read\0"sv, "a\n"sv, "\x7f"sv}) {
    EXPECT_FALSE(policy::is_plain_name(odd)) << odd;
  }
  EXPECT_TRUE(policy::is_plain_name(std::string(policy::kMaxPlainName, 'a')));
  EXPECT_FALSE(policy::is_plain_name(std::string(policy::kMaxPlainName + 1, 'a')));
}

TEST(PlainUri, CannotBeReadAsAnotherOne) {
  for (const std::string_view plain :
       {"file:///srv/a.txt", "file:///", "memo://x", "memo", "urn:a:b", "https://h/a?b=..c#.d",
        "https://h/a?b=c//d/#e//f", "file:///a%20b", "file:///{path}", "file:///%C3%A4",
        "custom://host", "file:///a..b/.c/d."}) {
    EXPECT_TRUE(policy::is_plain_uri(plain)) << plain;
  }
  for (const std::string_view odd : {"",
                                     "file:///srv/../etc",
                                     "file:///..",
                                     "file:///srv/./a",
                                     "file:///srv/.",
                                     "file:////etc",
                                     "file:///srv//a",
                                     "FILE:///srv",
                                     "file:///srv/%2e%2e/etc",
                                     "file:///%65tc",
                                     "file:///a%2Fb",
                                     "file:///a%5cb",
                                     "file:///a\\b",
                                     "file:///a%",
                                     "file:///a%4",
                                     "file:///a%zz",
                                     "file:///a%2",
                                     "file:///a%25",
                                     "file:///a%00",
                                     "file:///a\nb",
                                     "../etc",
                                     "file:///open/x?/../../secret/b",
                                     "file:///open/x#/../../secret/b",
                                     "file:///open/x?y#/../../secret/b",
                                     "file:///open/x?/./b",
                                     "file:///open/x?..",
                                     "file:///open/..?x",
                                     "file:///secret?/../secret/b",
                                     "file:///open#../b",
                                     "a//b"}) {
    EXPECT_FALSE(policy::is_plain_uri(odd)) << odd;
  }
}

}  // namespace

}  // namespace stdgate
