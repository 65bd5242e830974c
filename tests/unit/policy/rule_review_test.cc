// Rules that cannot decide, and names that cannot fit.
#include "gateway/policy/rule_review.h"

#include <gmock/gmock.h>

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
              ElementsAre("rules[1]"));  // writers are readers
  EXPECT_THAT(
      paths_of({tools({"reader"}, {"a"}), tools({"*"}, {"b"}), tools({"reader"}, {"b", "a"})}),
      ElementsAre("rules[2]"));  // by two together
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
}  // namespace stdgate::policy
