// Variables that name the principal: what they stand for, and that no name leaves its folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/config/config_parser.h"
#include "gateway/config/environment_variables.h"

namespace stdgate::config {
namespace {

using testing::HasSubstr;

std::optional<std::string> variable(const std::string& name) {
  if (name == "SECRETS") return "/run/secrets";
  return std::nullopt;
}

std::string path_for(const std::string& text, const PrincipalNames& principal) {
  const auto path = for_principal({text, true, true}, principal, variable);
  return path ? *path : "error: " + path.error();
}

TEST(PrincipalVariables, AreFoundWhereTheyStand) {
  EXPECT_TRUE(principal_use("/a/${principal}").name);
  EXPECT_TRUE(principal_use("${NONE}/${principal_source}").source);
  EXPECT_FALSE(principal_use("$${principal} ${principals} ${PRINCIPAL} $principal").any());
  EXPECT_FALSE(principal_use("${").any());
}

TEST(PrincipalVariables, NoNameLeavesItsFolder) {
  const struct {
    const char* name;
    const char* file;
  } cases[] = {{"ada", "ada"},
               {"ada@example.com", "ada@example.com"},
               {"..", "%2E."},
               {".ssh", "%2Essh"},
               {"../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd"},
               {"auth0|12", "auth0%7C12"},
               {"a%2Fb", "a%252Fb"},
               {"", ""},
               {"\xc3\xa4 \n", "%C3%A4%20%0A"}};
  for (const auto& each : cases) {
    EXPECT_EQ(path_for("${SECRETS}/${principal}.token", {each.name, "api_key"}),
              std::string("/run/secrets/") + each.file + ".token");
  }
  EXPECT_EQ(path_for("/s/${principal_source}/${principal}", {"ada", "id.example/realms/a"}),
            "/s/id.example%2Frealms%2Fa/ada");
}

TEST(PrincipalVariables, TextsHaveTheNameAsItIs) {
  const VariableSource source{"for ${principal} of ${principal_source}: ${NONE:-$}", false, true};
  EXPECT_EQ(for_principal(source, {"a/b", "s"}, variable).value(), "for a/b of s: $");
  EXPECT_FALSE(for_principal(source, {std::string("a\0b", 3), "s"}, variable).has_value());
}

std::string errors_of(const std::string& yaml) {
  const auto read = [](const std::string& file, size_t) -> tl::expected<std::string, std::string> {
    if (file == "/k") return "the-key-of-ada-1234\n";
    if (file == "/v") return "from a file\n";
    return tl::unexpected("cannot read " + file);
  };
  const auto config = parse_config(yaml, variable, {}, read);
  std::string text;
  if (config) {
    const std::string printed = print_config(*config);
    const auto again = parse_config(printed, variable, {}, read);
    EXPECT_TRUE(again && *again == *config) << printed;
    return text;
  }
  for (const ConfigError& error : config.error()) text += error.to_string("f") + "\n";
  return text;
}

const std::string kAuth = "auth: { api_keys: [{ name: ada, file: /k }] }\n";

std::string backend_with(const std::string& more) {
  return "backends: { a: { command: [x], " + more + " } }\n";
}

TEST(PrincipalVariables, TheConfigurationSaysWhatIsWrong) {
  const std::string isolated = "isolation: principal, ";
  const std::string named = R"(env: { T: { file: "/s/${principal}" }, U: "${principal}" })";
  EXPECT_EQ(errors_of(kAuth + backend_with(isolated + named)), "");
  EXPECT_EQ(errors_of(kAuth + backend_with("env: { V: { file: /v }, W: \"$${principal}\" }")), "");
  EXPECT_THAT(errors_of(kAuth + backend_with(named)), HasSubstr("needs isolation: principal"));
  EXPECT_THAT(errors_of(backend_with(isolated + named)), HasSubstr("who they are"));
  EXPECT_THAT(errors_of("listen: [{ address: \"127.0.0.1:1\", anonymous: true }]\n" + kAuth +
                        backend_with(isolated + named)),
              HasSubstr("who they are"));
  EXPECT_THAT(errors_of(kAuth + backend_with(isolated + "env: { T: \"${principal}${NONE}\" }")),
              HasSubstr("'NONE' is not set"));
  EXPECT_THAT(errors_of(kAuth + backend_with("env: { T: { file: /none } }")),
              HasSubstr("cannot read /none"));
  EXPECT_THAT(errors_of(kAuth + backend_with("env: { T: { path: /v } }")), HasSubstr("path"));
  EXPECT_THAT(errors_of(kAuth + backend_with("protocol: lsp, isolation: principal")),
              HasSubstr("one client"));
  EXPECT_THAT(errors_of(kAuth + backend_with(isolated + "pool: { warm: 1 }")),
              HasSubstr("use min"));
}

// A key's name and a token's subject may be alike.
TEST(PrincipalVariables, TwoKindsOfCredentialsNeedTheSource) {
  const std::string two =
      "auth: { api_keys: [{ name: ada, file: /k }], mtls: { roles: { \"*\": [a] } } }\n"
      "tls: { certificate: c, key: k, client_ca: ca, client_certificate: optional }\n";
  const auto errors = [&](const std::string& path) {
    return errors_of(two +
                     backend_with("isolation: principal, env: { T: { file: \"" + path + "\" } }"));
  };
  EXPECT_THAT(errors("/s/${principal}"), HasSubstr("${principal_source}"));
  EXPECT_EQ(errors("/s/${principal_source}/${principal}"), "");
}

}  // namespace
}  // namespace stdgate::config
