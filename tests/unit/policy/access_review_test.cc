// Roles without effect, and listeners that open more than they seem to.
#include <gmock/gmock.h>

#include "gateway/config/config_parser.h"
#include "gateway/policy/rule_review.h"

namespace stdgate::policy {
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
