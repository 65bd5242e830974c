#include "gateway/config/environment_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/config/config_parser.h"

namespace stdgate {

// Files of environment variables: what is read, and the errors for bad lines.

namespace {

using Variables = std::map<std::string, std::string>;

TEST(EnvFile, Reads) {
  const std::pair<std::string_view, Variables> cases[] = {
      {"", {}},
      {"\n \n\t\n# A=1\n   # B=2\n", {}},
      {"A=1", {{"A", "1"}}},
      {"A=1\nB=2\n", {{"A", "1"}, {"B", "2"}}},
      {"A=1\r\nB=\"2\"\r\n", {{"A", "1"}, {"B", "2"}}},
      {"\xef\xbb\xbf"
       "A=1\n",
       {{"A", "1"}}},
      {"A=", {{"A", ""}}},
      {"A=''\nB=\"\"\n", {{"A", ""}, {"B", ""}}},
      {"  A = a b  \n", {{"A", "a b"}}},
      {"export A=1\nexport\tB=2\nexported=3\nexport=4\n",
       {{"A", "1"}, {"B", "2"}, {"exported", "3"}, {"export", "4"}}},
      {"A=b=c==\n", {{"A", "b=c=="}}},
      {"A=a#b # c\nB=#c\nC=a\t#\n", {{"A", "a#b"}, {"B", ""}, {"C", "a"}}},
      {"A='a # \"b\" \\n $X' # c\n", {{"A", "a # \"b\" \\n $X"}}},
      {R"(A="a # 'b' \n\r\t\"\\\$ \x" # c)", {{"A", "a # 'b' \n\r\t\"\\$ \\x"}}},
      {"A=$HOME ${X} $(y)\n", {{"A", "$HOME ${X} $(y)"}}},
      {"A=it's\n", {{"A", "it's"}}},
      {"A=1\nA=2\n", {{"A", "2"}}},
      {"a.b-c_1=\xff\n", {{"a.b-c_1", "\xff"}}},
      {"_=1", {{"_", "1"}}},
  };
  for (const auto& [text, variables] : cases) {
    const auto read = config::parse_env_file(text);
    ASSERT_TRUE(read) << text << ": " << read.error().at(0).message;
    EXPECT_EQ(*read, variables) << text;
  }
}

TEST(EnvFile, SaysWhatIsWrongAndWhereWithoutTheValue) {
  const std::string expected = "expected NAME=VALUE";
  const std::string name =
      "expected NAME=VALUE; a name has letters, digits, '_', '.' and '-', and begins with no digit";
  const std::string open =
      "A: the value's quote is not closed on its line; \"\\n\" between double quotes is a line "
      "feed";
  const std::string behind = "A: only a comment may stand behind the closing quote";
  struct Case {
    std::string_view text;
    int line;
    std::string message;
  };
  const Case cases[] = {
      {"A=1\n\n#\nsecret\n", 4, expected},
      {"=secret", 1, name},
      {"1A=secret", 1, name},
      {"A B=secret", 1, name},
      {"A$=secret", 1, name},
      {"A=1\nA=\"secret", 2, open},
      {"A='secret\nx'", 1, open},
      {"A=\"secret\\\"", 1, open},
      {"A=\"", 1, open},
      {"A='secret'secret", 1, behind},
      {"A='secret' secret", 1, behind},
      {std::string_view("A=1\nB=\0", 7), 2, "must not hold a NUL byte"},
  };
  for (const auto& [text, line, message] : cases) {
    const auto read = config::parse_env_file(text);
    ASSERT_FALSE(read) << text;
    const config::EnvFileError& error = read.error().at(0);
    EXPECT_EQ(error.line, line) << text;
    EXPECT_EQ(error.message, message) << text;
    EXPECT_THAT(error.message, testing::Not(testing::HasSubstr("secret")));
  }
}

TEST(EnvFile, TellsOfEachBadLineButNoMoreThanTheLimit) {
  std::string text;
  for (size_t i = 0; i < config::kMaxEnvFileErrors; ++i) text += "A=1\nB\n";
  for (const std::string& file : {text, text + "C\nD\n"}) {
    const auto read = config::parse_env_file(file);
    ASSERT_FALSE(read);
    ASSERT_EQ(read.error().size(), config::kMaxEnvFileErrors);
    for (size_t i = 0; i < config::kMaxEnvFileErrors; ++i) {
      EXPECT_EQ(read.error()[i].line, static_cast<int>(2 * i + 2));
    }
  }
}

// A file that ends at any byte is read or refused.
TEST(EnvFile, TakesEveryBeginningOfAFile) {
  const std::string text = "\xef\xbb\xbf# c\r\nexport A='x' # y\nB=\"\\\"\\n\"\nC= d #\n";
  for (size_t size = 0; size <= text.size(); ++size) {
    const auto read = config::parse_env_file(std::string_view(text).substr(0, size));
    if (read) {
      EXPECT_LE(read->size(), 3U);
    }
  }
  EXPECT_EQ(config::parse_env_file(text), (Variables{{"A", "x"}, {"B", "\"\n"}, {"C", "d"}}));
}

}  // namespace

}  // namespace stdgate

namespace stdgate::config {

// Variables that name the principal: their values, and that no name leads out of its folder.

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

// A key's name and a token's subject may be the same.
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

namespace stdgate {

// ${NAME}: how it is expanded, and that an escaped text expands to itself.

namespace {

std::optional<std::string> expanded_environment(const std::string& name) {
  if (name == "HOME") return "/home/ada";
  if (name == "EMPTY") return "";
  if (name == "TRICKY") return "a: [${HOME}, $$]";
  return std::nullopt;
}

std::string expand(std::string_view text) {
  const auto expanded = config::expand_variables(text, expanded_environment);
  return expanded ? *expanded : "error: " + expanded.error();
}

TEST(ExpandVariables, Table) {
  const char* const how = "; write ${NAME}, ${NAME:-default}, or $$ for a dollar sign";
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"plain", "plain"},
      {"${HOME}", "/home/ada"},
      {"${HOME}/x:${HOME}", "/home/ada/x:/home/ada"},
      {"${EMPTY}", ""},
      {"${EMPTY:-full}", "full"},
      {"${HOME:-x}", "/home/ada"},
      {"${NONE:-x y}", "x y"},
      {"${NONE:-}", ""},
      {"${NONE:-a:-b}", "a:-b"},
      {"${NONE:-${HOME}}", "${HOME}"},
      {"${TRICKY}", "a: [${HOME}, $$]"},  // the value of a variable is not expanded again
      {"$", "$"},
      {"$$", "$"},
      {"$$$$", "$$"},
      {"a$", "a$"},
      {"$HOME", "$HOME"},
      {"$/cancelRequest", "$/cancelRequest"},
      {"$${HOME}", "${HOME}"},
      {"$$${HOME}", "$/home/ada"},
      {"${NONE}",
       "error: environment variable 'NONE' is not set; set it, or write ${NONE:-default}"},
      {"${HOME", "error: '${' without '}'" + std::string(how)},
      {"${}", "error: '${}' names no variable" + std::string(how)},
      {"${:-x}", "error: '${:-x}' names no variable" + std::string(how)},
      {"${1X}", "error: '${1X}' names no variable" + std::string(how)},
      {"${A-B}", "error: '${A-B}' names no variable" + std::string(how)},
      {"${ HOME }", "error: '${ HOME }' names no variable" + std::string(how)},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(expand(text), expected) << text;
}

// Every text of up to six characters from the alphabet of special characters.
TEST(EscapeVariables, ComesBack) {
  const std::string alphabet = "${}a";
  for (size_t length = 0; length <= 6; ++length) {
    size_t count = 1;
    for (size_t i = 0; i < length; ++i) count *= alphabet.size();
    for (size_t number = 0; number < count; ++number) {
      std::string text;
      for (size_t i = 0, rest = number; i < length; ++i, rest /= alphabet.size()) {
        text += alphabet[rest % alphabet.size()];
      }
      ASSERT_EQ(expand(config::escape_variables(text)), text);
    }
  }
}

}  // namespace

}  // namespace stdgate
