// roles, rules and methods: what is read, and the errors for invalid ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/config/config_parser.h"
#include "gateway/config/config_ranges.h"

namespace stdgate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

tl::expected<config::Config, std::vector<config::ConfigError>> parse_rules(
    const std::string& yaml) {
  return config::parse_config(yaml, {});
}

std::string backend(const std::string& keys, const std::string& protocol = "mcp") {
  return "backends: { a: { command: [x], protocol: " + protocol + ", " + keys + " } }\n";
}

std::vector<std::string> rules_errors(const std::string& yaml) {
  std::vector<std::string> texts;
  const auto config = parse_rules(yaml);
  if (config) return texts;
  for (const config::ConfigError& error : config.error()) texts.push_back(error.to_string(""));
  return texts;
}

TEST(ConfigRules, AreRead) {
  const auto config = parse_rules(R"(
roles: { writer: { includes: [reader] }, "a b": { includes: [writer, other] } }
backends:
  a:
    command: [x]
    methods: ["tools/*"]
    rules:
      - { allow: [reader], methods: [ping], tools: ["read_*"], resources: ["file:///*"] }
      - { allow: ["*"], prompts: [p], except: ["q*"], scopes: ["files:delete"] }
)");
  ASSERT_TRUE(config) << config.error().front().to_string("");
  ASSERT_EQ(config->roles.size(), 2U);
  EXPECT_EQ(config->roles[1].name, "a b");
  EXPECT_THAT(config->roles[1].includes, ElementsAre("writer", "other"));
  const config::BackendConfig& a = config->backends[0];
  EXPECT_THAT(a.methods, ElementsAre("tools/*"));
  ASSERT_EQ(a.rules.size(), 2U);
  EXPECT_THAT(a.rules[0].allow, ElementsAre("reader"));
  EXPECT_THAT(a.rules[0].methods, ElementsAre("ping"));
  EXPECT_THAT(a.rules[0].tools, ElementsAre("read_*"));
  EXPECT_THAT(a.rules[0].resources, ElementsAre("file:///*"));
  EXPECT_THAT(a.rules[1].prompts, ElementsAre("p"));
  EXPECT_THAT(a.rules[1].except, ElementsAre("q*"));
  EXPECT_THAT(a.rules[1].scopes, ElementsAre("files:delete"));
  const auto again = parse_rules(config::print_config(*config));
  EXPECT_TRUE(again && *again == *config) << config::print_config(*config);
}

TEST(ConfigRules, NameWhatAgentsSay) {
  const auto config = parse_rules(backend("rules: [{ allow: [a], from_agent: [fs/*] }]", "acp"));
  ASSERT_TRUE(config) << config.error().front().to_string("");
  const config::RuleConfig& rule = config->backends[0].rules[0];
  EXPECT_THAT(rule.from_agent, ElementsAre("fs/*"));
  EXPECT_FALSE(rule.names_nothing());
  const auto again = parse_rules(config::print_config(*config));
  EXPECT_TRUE(again && *again == *config) << config::print_config(*config);
}

TEST(ConfigRules, MistakesAreNamed) {
  const std::pair<std::string, std::string> cases[] = {
      {backend("rules: []"), "expected 1 to 128 items"},
      {backend("methods: []"), "expected 1 to 256 items"},
      {backend("rules: [{ tools: [x] }]"), "a rule says whom it allows something"},
      {backend("rules: [{ allow: [] }]"), "expected 1 to 256 items"},
      {backend("rules: [{ allow: [a], tool: [x] }]"), "did you mean 'tools'"},
      {backend("rules: [{ allow: [a], tools: [\"\"] }]"), "expected a name, or a pattern"},
      {backend("rules: [{ allow: [a], scopes: [\"a b\"] }]"), "expected a scope"},
      {backend("rules: [{ allow: [a], scopes: ['a\"b'] }]"), "expected a scope"},
      {backend("rules: { allow: [a] }"), "expected a list"},
      {backend("rules: [a]"), "expected a map"},
      {backend("check: true"),
       "check: expected its keys, as in check: { arguments: true, results: true }, found 'true'"},
      {backend("rules: [{ allow: [a], tools: [x] }]", "jsonrpc"), "are for protocol mcp"},
      {backend("rules: [{ allow: [a], from_agent: [x] }]"), "from_agent is for protocol acp"},
      {"roles: { a: { includes: [a] } }\n" + backend("timeout: 1s"), "the role includes itself"},
      {"roles: { a: { includes: [b] }, b: { includes: [a] } }\n" + backend("timeout: 1s"),
       "the role includes itself"},
      {"roles: { \"*\": { includes: [a] } }\n" + backend("timeout: 1s"), "stands for all clients"},
      {"roles: { a: {} }\n" + backend("timeout: 1s"), "missing; a role is named here"},
      {"roles: [a]\n" + backend("timeout: 1s"), "expected a map"},
  };
  for (const auto& [yaml, message] : cases) {
    EXPECT_THAT(rules_errors(yaml), testing::Contains(HasSubstr(message))) << yaml;
  }
}

TEST(ConfigRules, LimitsOfOneClient) {
  const auto config = parse_rules(
      backend("calls_per_principal: { rate: 20/m, burst: 40, in_flight: 16, sessions: 4 }"));
  ASSERT_TRUE(config) << config.error().front().to_string("");
  const config::ClientLimits& limits = config->backends[0].calls_per_principal;
  EXPECT_EQ(limits.rate.count, 20U);
  EXPECT_EQ(limits.rate.per, std::chrono::minutes(1));
  EXPECT_EQ(limits.burst, 40U);
  EXPECT_EQ(limits.in_flight, 16U);
  EXPECT_EQ(limits.sessions, 4U);
  EXPECT_THAT(rules_errors(backend("calls_per_principal: { rate: 1000000/s }")),
              testing::IsEmpty());
  for (const char* rate : {"20", "20/d", "0/s", "-1/s", "1000001/s", "/s", "1.5/s", "20 /s", "s"}) {
    EXPECT_THAT(
        rules_errors(backend("calls_per_principal: { rate: \"" + std::string(rate) + "\" }")),
        ElementsAre(HasSubstr("written like 20/s, 100/m or 5000/h")))
        << rate;
  }
}

TEST(ConfigRules, LimitsOfAllClients) {
  const auto config = parse_rules("calls: { rate: 5/h, in_flight: 9 }\n" +
                                  backend("calls: { rate: 20/m, burst: 40, in_flight: 16 }"));
  ASSERT_TRUE(config) << config.error().front().to_string("");
  EXPECT_EQ(config->calls.rate, (config::Rate{5, std::chrono::hours(1)}));
  EXPECT_EQ(config->calls.burst, 0U);
  EXPECT_EQ(config->calls.in_flight, 9U);
  const config::CallLimits& limits = config->backends[0].calls;
  EXPECT_EQ(limits.rate, (config::Rate{20, std::chrono::minutes(1)}));
  EXPECT_EQ(limits.burst, 40U);
  EXPECT_EQ(limits.in_flight, 16U);
  EXPECT_THAT(rules_errors(backend("calls: { sessions: 4 }")),
              ElementsAre(HasSubstr("unknown key")));
}

TEST(ConfigRules, AsManyAsThereMayBe) {
  const auto rules = [](size_t count) {
    std::string text = "rules: [";
    for (size_t i = 0; i < count; ++i) text += "{ allow: [a] },";
    return backend(text + "]");
  };
  EXPECT_THAT(rules_errors(rules(config::kMaxRules)), testing::IsEmpty());
  EXPECT_THAT(rules_errors(rules(config::kMaxRules + 1)),
              ElementsAre(HasSubstr("expected 1 to 128 items")));
  const auto pattern = [](size_t size) {
    return backend("methods: [" + std::string(size, 'x') + "]");
  };
  EXPECT_THAT(rules_errors(pattern(config::kMaxPattern)), testing::IsEmpty());
  EXPECT_THAT(rules_errors(pattern(config::kMaxPattern + 1)), testing::SizeIs(1));
}

}  // namespace
}  // namespace stdgate
