// Rules that can never decide, and names that can never match.
#include "gateway/policy/rule_review.h"

#include <gmock/gmock.h>

#include "gateway/config/config_parser.h"

namespace stdgate::policy {

namespace {

using config::RuleConfig;
using testing::ElementsAre;
using testing::IsEmpty;

using Names = std::vector<std::string>;

const std::vector<config::RoleConfig>& roles() {
  static const std::vector<config::RoleConfig> kRoles{{"writer", {"reader"}}};
  return kRoles;
}

Names paths_of(std::vector<RuleConfig> rules, Names methods = {}) {
  config::BackendConfig backend;
  backend.name = "b";
  backend.rules = std::move(rules);
  backend.methods = std::move(methods);
  Names paths;
  for (const auto& finding : review_rules(backend, roles())) {
    paths.push_back(finding.path.substr(std::string("backends.b.").size()));
  }
  return paths;
}

RuleConfig tools(Names allow, Names names, Names except = {}) {
  RuleConfig rule;
  rule.allow = std::move(allow);
  rule.tools = std::move(names);
  rule.except = std::move(except);
  return rule;
}

RuleConfig everything(Names allow, Names except = {}) {
  return tools(std::move(allow), {}, std::move(except));
}

TEST(RuleReview, PatternsCoverOthers) {
  struct Case {
    const char* wide;
    const char* narrow;
    bool covers;
    bool meets;
  };
  const Case cases[] = {{"*", "*", true, true},
                        {"*", "", true, true},
                        {"a*", "ab*", true, true},
                        {"ab*", "a*", false, true},
                        {"a*c", "a*b*c", true, true},
                        {"a*b*c", "a*c", false, true},
                        {"read_*", "*_file", false, true},
                        {"a", "a", true, true},
                        {"a", "b", false, false},
                        {"a*", "b*", false, false},
                        {"*a", "*b", false, false},
                        {"a*b", "a", false, false},
                        {"**", "*", true, true},
                        {"x*y", "x**y", true, true}};
  for (const Case& one : cases) {
    EXPECT_EQ(covers(one.wide, one.narrow), one.covers) << one.wide << " " << one.narrow;
    EXPECT_EQ(can_meet(one.wide, one.narrow), one.meets) << one.wide << " " << one.narrow;
    EXPECT_EQ(can_meet(one.narrow, one.wide), one.meets) << one.narrow << " " << one.wide;
  }
}

TEST(RuleReview, FindsRulesThatEarlierOnesCover) {
  EXPECT_THAT(paths_of({everything({"*"}), tools({"reader"}, {"x"})}), ElementsAre("rules[1]"));
  EXPECT_THAT(paths_of({tools({"reader"}, {"read_*"}), tools({"writer"}, {"read_file"})}),
              ElementsAre("rules[1]"));  // writers are readers too
  EXPECT_THAT(
      paths_of({tools({"reader"}, {"a"}), tools({"*"}, {"b"}), tools({"reader"}, {"b", "a"})}),
      ElementsAre("rules[2]"));  // covered by two rules together
  EXPECT_THAT(paths_of({everything({"x"}, {"delete_*"}), tools({"x"}, {"a"}, {"delete_*", "b"})}),
              ElementsAre("rules[1]"));
  RuleConfig all_methods;
  all_methods.allow = {"*"};
  all_methods.methods = {"*"};
  EXPECT_THAT(paths_of({all_methods, everything({"x"})}), ElementsAre("rules[1]"));
}

TEST(RuleReview, LeavesRulesAloneThatMayDecide) {
  EXPECT_THAT(paths_of({tools({"writer"}, {"*"}), tools({"reader"}, {"x"})}), IsEmpty());
  EXPECT_THAT(paths_of({tools({"reader"}, {"read_*"}), tools({"reader"}, {"*"})}), IsEmpty());
  EXPECT_THAT(paths_of({everything({"*"}, {"delete_*"}), tools({"x"}, {"delete_y"})}), IsEmpty());
  EXPECT_THAT(paths_of({tools({"reader"}, {"a"}), tools({"reader", "ops"}, {"a"})}), IsEmpty());
  EXPECT_THAT(paths_of({tools({"*"}, {"*"}), everything({"x"})}), IsEmpty());
  RuleConfig prompts;
  prompts.allow = {"x"};
  prompts.prompts = {"a"};
  EXPECT_THAT(paths_of({tools({"x"}, {"a"}), prompts}), IsEmpty());
}

TEST(RuleReview, JudgesWhatAgentsSayByItself) {
  const auto agents = [](Names names, Names methods = {}) {
    return RuleConfig{
        .allow = {"*"}, .methods = std::move(methods), .from_agent = std::move(names)};
  };
  EXPECT_THAT(paths_of({agents({"fs/*"}), agents({"fs/read"})}), ElementsAre("rules[1]"));
  EXPECT_THAT(paths_of({everything({"*"}), agents({"fs/read"})}), ElementsAre("rules[1]"));
  EXPECT_THAT(paths_of({agents({}, {"*"}), agents({"fs/read"})}), IsEmpty());
  EXPECT_THAT(paths_of({agents({"fs/read"}, {"*"}), everything({"*"})}), IsEmpty());
  EXPECT_THAT(paths_of({agents({"*"}, {"*"}), everything({"*"})}), ElementsAre("rules[1]"));
}

TEST(RuleReview, FindsNamesThatNothingFits) {
  EXPECT_THAT(paths_of({tools({"x"}, {"delete_x", "a"}, {"delete_*"})}),
              ElementsAre("rules[0].tools[0]"));
  EXPECT_THAT(paths_of({everything({"x"}, {"*"})}), ElementsAre("rules[0].except"));
  EXPECT_THAT(paths_of({tools({"x"}, {"a\nb"})}), ElementsAre("rules[0].tools[0]"));
  RuleConfig rule;
  rule.allow = {"x"};
  rule.methods = {"math/add", "echo", "e*"};
  EXPECT_THAT(paths_of({rule}, {"math/*", "exit"}), ElementsAre("rules[0].methods[1]"));
  rule.methods = {};
  rule.resources = {
      "file:///a/../b", "File:///x/*",  "file:///a//b*/c", "file:///%61/x*", "file:///ok/*", "*",
      "file://*",       "file:///a..*", "file:///a/../*x", "file:///b%2*",   "custom:x*"};
  EXPECT_THAT(paths_of({rule}),
              ElementsAre("rules[0].resources[0]", "rules[0].resources[1]", "rules[0].resources[2]",
                          "rules[0].resources[3]", "rules[0].resources[8]"));
}

}  // namespace

// Roles without effect, and listeners that allow more than they seem to.

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

config::Config parsed(const std::string& yaml) {
  const auto config = config::parse_config(yaml, {}, {}, {});
  if (config) return *config;
  for (const auto& error : config.error()) ADD_FAILURE() << error.to_string("yaml");
  return {};
}

std::vector<std::string> texts_of(const std::vector<config::ConfigError>& findings) {
  std::vector<std::string> texts;
  texts.reserve(findings.size());
  for (const config::ConfigError& finding : findings) texts.push_back(finding.to_string(""));
  return texts;
}

std::string key(const char* digit, const char* roles) {
  return std::string("    - { name: k, hash: \"sha256:") + std::string(63, '0') + digit +
         "\", roles: " + roles + " }\n";
}

TEST(AccessReview, FindsRolesThatNobodyHas) {
  const std::string rules =
      "roles: { writer: { includes: [reader] }, boss: { includes: [reader] } }\n"
      "backends: { b: { command: [x], rules: [{ allow: [reader, raeder, \"*\"] }] } }\n"
      "admin: { address: \"127.0.0.1:0\", roles: [ops, reader] }\n";
  EXPECT_THAT(texts_of(review_roles(parsed("auth:\n  api_keys:\n" + key("1", "[writer]") + rules))),
              ElementsAre("backends.b.rules[0].allow[1]: nobody has the role 'raeder'",
                          "admin.roles[0]: nobody has the role 'ops'",
                          "admin.roles[1]: nobody has the role 'reader'",
                          "roles.boss: nobody has the role 'boss'"));
  EXPECT_THAT(
      texts_of(review_roles(parsed("backends: { b: { command: [x], rules: [{ allow: [a] }] } }"))),
      ElementsAre("backends.b.rules[0].allow[0]: nobody has the role 'a': no credential of "
                  "auth has roles"));
}

TEST(AccessReview, FindsRolesThatNothingNames) {
  const std::string yaml = "auth:\n  api_keys:\n" + key("1", "[writer, raeder]") +
                           key("2", "[ops, reader]") +
                           "roles: { writer: { includes: [reader] } }\n"
                           "backends: { b: { command: [x], rules: [{ allow: [reader] }] } }\n"
                           "admin: { address: \"127.0.0.1:0\", roles: [ops] }\n";
  EXPECT_THAT(texts_of(review_roles(parsed(yaml))),
              ElementsAre("auth.api_keys[0].roles[1]: no rule is about the role 'raeder'; did you "
                          "mean 'reader'?"));
}

TEST(AccessReview, TokensMayGiveAnyRole) {
  const std::string yaml =
      "auth:\n  public_url: https://a\n  jwt: [{ issuer: https://b, roles: roles }]\n"
      "backends: { b: { command: [x], rules: [{ allow: [any] }] } }\n"
      "admin: { address: \"127.0.0.1:0\", roles: [ops] }\n";
  EXPECT_THAT(texts_of(review_roles(parsed(yaml))), IsEmpty());
}

TEST(AccessReview, FindsListenersWhereNobodyIsAsked) {
  const std::string auth = "auth:\n  api_keys:\n" + key("1", "[]");
  const std::string listen =
      "listen: [\"127.0.0.1:1\", { address: \"unix:/x\", anonymous: true }]\n";
  const std::string open =
      "backends:\n  a: { command: [x] }\n  b: { command: [x], rules: [{ allow: [\"*\"] }] }\n"
      "  c: { command: [x], rules: [{ allow: [\"*\"], tools: [t] }, { allow: [r] }] }\n";
  const std::string closed = "backends: { c: { command: [x], rules: [{ allow: [r] }] } }\n";
  const std::string told =
      "whoever reaches 'unix:/x' may use all of a, b without a credential; rules say what is for "
      "everybody (\"*\")";
  EXPECT_THAT(texts_of(review_listeners(parsed(auth + listen + open))),
              ElementsAre("listen[1].anonymous: " + told));
  EXPECT_EQ(review_listeners(parsed(auth + listen + "anonymous: true\n" + open)).size(), 2U);
  EXPECT_THAT(review_listeners(parsed(auth + listen + closed)), IsEmpty());
  EXPECT_THAT(review_listeners(parsed(auth + open)), IsEmpty());
  EXPECT_THAT(review_listeners(parsed(listen + open)), IsEmpty());
}

}  // namespace

}  // namespace stdgate::policy
