// `stdgate check --as`: the report about the rights of a client.
#include "gateway/app/permissions.h"

#include <gmock/gmock.h>

#include "gateway/config/config_parser.h"

namespace stdgate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::chrono::sys_seconds kNow =
    std::chrono::sys_days(std::chrono::year(2026) / std::chrono::November / 23);

config::Config sample() {
  const auto config = config::parse_config(R"(
auth:
  api_keys:
    - { name: ci, roles: [writer],
        hash: "sha256:0000000000000000000000000000000000000000000000000000000000000000" }
    - { name: late, roles: [ops], expires: 2026-11-23,
        hash: "sha256:0000000000000000000000000000000000000000000000000000000000000001" }
    - { name: late, roles: [writer], expires: 2026-11-24,
        hash: "sha256:0000000000000000000000000000000000000000000000000000000000000002" }
  mtls: { roles: { "CN=build-*": [reader] } }
tls: { certificate: c.crt, key: c.key, client_ca: ca.crt, client_certificate: optional }
roles: { writer: { includes: [reader] } }
backends:
  calc: { command: [x], protocol: jsonrpc, methods: ["math/*"] }
  files:
    command: [y]
    rules:
      - { allow: [reader], tools: ["read_*"], methods: [ping] }
      - { allow: [writer], tools: ["*"], except: ["delete_*"] }
      - { allow: ["*"], tools: ["delete_*"], scopes: ["files:delete"] }
  private: { command: [z], rules: [{ allow: [ops] }] }
)",
                                           {}, {}, {});
  if (config) return *config;
  for (const auto& error : config.error()) ADD_FAILURE() << error.to_string("yaml");
  return {};
}

std::string text_of(std::string_view who, std::string_view only = {}, bool as_json = false) {
  const auto text = app::permissions_text(sample(), {who, only, as_json}, kNow);
  return text ? *text : "error: " + text.error();
}

TEST(Permissions, SaysWhatAPrincipalMayDo) {
  EXPECT_EQ(text_of("ci"), R"(ci, roles writer
calc:
  only methods math/*
  everything: it has no rules
files:
  methods ping; tools read_*
  tools *; but not delete_*
  tools delete_*; with the scopes files:delete
private:
  nothing: no rule is about this client
)");
}

TEST(Permissions, RolesComeFromTheConfigurationAndTheLine) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {{"ci", {"writer"}},
                                                                    {"ci,ops", {"ops", "writer"}},
                                                                    {"CN=build-7", {"reader"}},
                                                                    {"nobody", {}},
                                                                    {"x,a,b", {"a", "b"}}};
  for (const auto& [who, roles] : cases) {
    const auto principal = app::principal_of(sample(), who, kNow);
    ASSERT_TRUE(principal.has_value() && principal->has_value()) << who;
    EXPECT_EQ((*principal)->roles, roles) << who;
  }
  EXPECT_EQ(app::principal_of(sample(), "anonymous", kNow), std::nullopt);
  for (const char* who : {"", ",a", "a,", "a,,b"}) {
    EXPECT_FALSE(app::principal_of(sample(), who, kNow).has_value()) << who;
  }
}

TEST(Permissions, AKeyThatHasExpiredGivesNothingAndIsNamed) {
  EXPECT_EQ(text_of("late", "private"), R"(late, roles writer
an API key of this name expired at 2026-11-23: it is refused, and its roles do not count
private:
  nothing: no rule is about this client
)");
  EXPECT_THAT(text_of("late", {}, true), HasSubstr("\"expired_keys\": [\n    \"2026-11-23\""));
  EXPECT_THAT(text_of("ci", {}, true), testing::Not(HasSubstr("expired_keys")));
}

TEST(Permissions, AnonymousClientsHaveNoRoles) {
  EXPECT_EQ(text_of("anonymous", "files"), R"(anonymous clients
files:
  tools delete_*; with the scopes files:delete
)");
}

TEST(Permissions, IsAskedOfOneBackend) {
  EXPECT_EQ(text_of("x,ops", "private"), "x, roles ops\nprivate:\n  everything\n");
  EXPECT_THAT(text_of("x", "none"), HasSubstr("there is no backend none"));
}

TEST(Permissions, IsJsonToo) {
  EXPECT_EQ(text_of("ci,ops", "private", true), R"({
  "principal": "ci",
  "roles": [
    "ops",
    "writer"
  ],
  "backends": {
    "private": {
      "everything": false,
      "rules": [
        {
          "everything": true
        }
      ]
    }
  }
}
)");
}

}  // namespace
}  // namespace stdgate
