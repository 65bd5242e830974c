// Authentication: the forms of `auth`, and the listeners that require a statement about it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/config/config_parser.h"

namespace stdgate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kAuthBackend = "backends: { a: { command: [x] } }\n";
const std::string kHash = "sha256:" + std::string(64, 'a');
const std::string kKey = "0123456789abcdef";

tl::expected<std::string, std::string> read_key_file(const std::string& file, size_t /*limit*/) {
  if (file == "missing") return tl::unexpected<std::string>("cannot read missing");
  return file == "bad" ? "short\n" : kKey + "\n";
}

auto parse_auth(const std::string& yaml, const std::vector<config::Setting>& settings = {}) {
  return config::parse_config(
      yaml + kAuthBackend, [](const std::string&) { return std::nullopt; }, settings,
      read_key_file);
}

std::string auth_errors(const std::string& yaml) {
  const auto config = parse_auth(yaml);
  std::string lines;
  if (!config) {
    for (const config::ConfigError& error : config.error()) lines += error.to_string("f") + "\n";
  }
  return lines;
}

std::string keys(const std::string& entries) { return "auth: { api_keys: [" + entries + "] }\n"; }

TEST(ConfigAuth, ApiKeys) {
  const auto config =
      parse_auth(keys("{ name: ci, hash: \"" + kHash +
                      "\", roles: [ci, reader], expires: 2027-06-30 }, "
                      "{ name: grafana, file: g, expires: \"2027-06-30T12:34:56Z\" }"));
  ASSERT_TRUE(config);
  const config::AuthConfig& auth = config->auth;
  ASSERT_EQ(auth.api_keys.size(), 2U);
  EXPECT_EQ(auth.api_keys[0].hash, kHash);
  EXPECT_THAT(auth.api_keys[0].roles, ElementsAre("ci", "reader"));
  using namespace std::chrono_literals;
  const std::chrono::sys_seconds day =
      std::chrono::sys_days(std::chrono::year(2027) / std::chrono::June / 30);
  EXPECT_EQ(auth.api_keys[0].expires_at, day);
  EXPECT_EQ(auth.api_keys[1].expires_at, day + 12h + 34min + 56s);
  EXPECT_THAT(auth.api_keys[1].keys, ElementsAre(kKey));
  EXPECT_TRUE(auth.is_used());
  EXPECT_THAT(config::print_config(*config), testing::Not(HasSubstr(kKey)));
}

TEST(ConfigAuth, ByFlags) {
  const auto config = parse_auth("", {{{"auth", "api_key_file"}, std::string("f")}});
  ASSERT_TRUE(config);
  EXPECT_THAT(config->auth.keys, ElementsAre(kKey));
  EXPECT_TRUE(parse_auth("listen: \"0.0.0.0:80\"\n", {{{"anonymous"}, std::string("true")}}));
}

TEST(ConfigAuth, WhatIsWrongWithAKey) {
  const std::pair<std::string, std::string> cases[] = {
      {"{ hash: \"" + kHash + "\" }", "name: missing; name who shows this key"},
      {"{ name: \"\", file: f }", "name: expected 1 to 64 visible characters"},
      {"{ name: \"a b\", file: f }", "name: expected 1 to 64 visible characters"},
      {"{ name: a }", "expected either hash or file; stdgate hash-key makes"},
      {"{ name: a, file: f, hash: \"" + kHash + "\" }", "hash: expected either hash or file"},
      {"{ name: a, hash: abc }", "hash: expected sha256: and 64 hex digits"},
      {"{ name: a, file: missing }", "file: cannot read missing"},
      {"{ name: a, file: bad }", "file: bad:1: expected an API key"},
      {"{ name: a, file: f, expires: tomorrow }", "expires: expected a day"},
      {"{ name: a, file: f, expires: 2027-02-29 }", "expires: expected a day"},
      {"{ name: a, file: f, expires: 2027-6-30 }", "expires: expected a day"},
      {"{ name: a, file: f, expires: \"2027-06-30T24:00:00Z\" }", "expires: expected a day"},
      {"{ name: a, file: f, expires: \"2027-06-30T12:00:00\" }", "expires: expected a day"},
      {"{ name: a, file: f, roles: [\"\"] }", "expected a role"},
      {"{ name: a, file: f, role: x }", "role: unknown key; did you mean 'roles'?"},
      {"{ name: a, hash: \"" + kHash + "\" }, { name: b, hash: \"" + kHash + "\" }",
       "the key of 'b' is listed twice; remove one of them"},
      {"", "expected 1 to 256 items"},
  };
  for (const auto& [entry, error] : cases) {
    EXPECT_THAT(auth_errors(keys(entry)), HasSubstr(error)) << entry;
  }
  EXPECT_THAT(auth_errors("auth: {}\n"), HasSubstr("auth: lets no client call"));
  EXPECT_EQ(auth_errors("auth: { api_key_file: missing }\n"),
            "f:1:23: auth.api_key_file: cannot read missing\n");
}

std::string tls(const std::string& more) { return "tls: { certificate: c, key: k" + more + " }"; }

// A listener that other machines can reach must say who may call.
TEST(ConfigAuth, OffLoopbackItHasToBeSaid) {
  const std::string good[] = {
      "listen: [\"127.0.0.1:80\", \"[::1]:80\", \"localhost:81\", \"unix:/run/s\"]\n",
      "listen: [{ address: \"0.0.0.0:80\", anonymous: true }]\n",
      "listen: \"0.0.0.0:80\"\nanonymous: true\n",
      "listen: \"0.0.0.0:80\"\n" + keys("{ name: a, file: f }"),
      "listen: \"0.0.0.0:80\"\nauth: { api_key_file: f }\n",
      "listen: [{ address: \"0.0.0.0:80\", " + tls(", client_ca: a") + " }]\n",
      "listen: \"0.0.0.0:80\"\n" + tls(", client_ca: a") + "\n",
      "admin: \"0.0.0.0:80\"\n",
  };
  for (const std::string& yaml : good) EXPECT_THAT(auth_errors(yaml), IsEmpty()) << yaml;
  const std::string bad[] = {
      "listen: \":80\"\n",
      "listen: [\"127.0.0.1:80\", \"[::]:80\"]\n",
      "listen: \"192.0.2.1:80\"\n",
      "listen: [{ address: \"0.0.0.0:80\", anonymous: false }]\n",
      "listen: [{ address: \"0.0.0.0:80\", " + tls("") + " }]\n",
      "listen: [{ address: \"0.0.0.0:80\", " + tls(", client_ca: a, client_certificate: optional") +
          " }]\n",
      "listen: [{ address: \"0.0.0.0:80\", anonymous: true }, \"0.0.0.0:81\"]\n",
  };
  for (const std::string& yaml : bad) {
    EXPECT_THAT(auth_errors(yaml), HasSubstr("anonymous: true } (--anonymous)")) << yaml;
  }
}

TEST(ConfigAuth, WhoIsAnonymous) {
  const auto config = parse_auth(
      "listen: [\"127.0.0.1:1\", { address: \"127.0.0.1:2\", anonymous: true }]\n"
      "auth: { api_key_file: f }\n");
  ASSERT_TRUE(config);
  EXPECT_FALSE(config->is_anonymous(config->listen[0]));
  EXPECT_TRUE(config->is_anonymous(config->listen[1]));
  const auto nobody_is_asked = parse_auth("");
  EXPECT_TRUE(nobody_is_asked->is_anonymous(nobody_is_asked->listen[0]));
}

TEST(ConfigAuth, RolesOfTheAdminPages) {
  const auto config = parse_auth("admin: { address: \"0.0.0.0:9464\", roles: [ops, \"sre\"] }\n");
  ASSERT_TRUE(config);
  EXPECT_THAT(config->admin.roles, ElementsAre("ops", "sre"));
  EXPECT_THAT(config::print_config(*config), HasSubstr("roles: [\"ops\", \"sre\"]"));
  EXPECT_THAT(auth_errors("admin: { address: \"0.0.0.0:9464\", roles: [\"\"] }\n"),
              HasSubstr("expected a role"));
  EXPECT_THAT(auth_errors("admin: { address: \"0.0.0.0:9464\", anonymous: true }\n"),
              HasSubstr("unknown key"));
  EXPECT_THAT(auth_errors("listen: [{ address: \"127.0.0.1:1\", roles: [a] }]\n"),
              HasSubstr("unknown key"));
}

TEST(ConfigAuth, Tokens) {
  const std::string url = "public_url: \"https://tools.example\"";
  const std::string jwt = "{ issuer: i, audience: [a], jwks: { file: f } }";
  const auto config = parse_auth("auth: { " + url + ", jwt: [" + jwt + "] }\n");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->auth.jwt[0].jwks.keys, kKey + "\n");
  EXPECT_THAT(config->auth.jwt[0].algorithms, ElementsAre("RS256", "PS256", "ES256", "EdDSA"));
  const auto again = config::parse_config(config::print_config(*config), {}, {}, read_key_file);
  EXPECT_TRUE(again && *again == *config) << config::print_config(*config);
  for (const std::string good :
       {"{ issuer: \"https://id.example/a\" }", "{ issuer: \"http://127.0.0.1:1\" }",
        "{ issuer: \"https://id.example\", jwks: {} }",
        "{ issuer: i, jwks: { url: \"https://id.example/jwks?a\" } }",
        "{ issuer: i, jwks: { url: \"http://localhost:1/jwks\" } }"}) {
    const auto fetched = parse_auth("auth: { " + url + ", jwt: [" + good + "] }\n");
    ASSERT_TRUE(fetched) << good;
    EXPECT_TRUE(fetched->auth.jwt[0].jwks.is_fetched());
    const auto same = config::parse_config(config::print_config(*fetched), {}, {}, read_key_file);
    EXPECT_TRUE(same && *same == *fetched) << config::print_config(*fetched);
  }
  const std::pair<std::string, std::string> cases[] = {
      {"jwt: [" + jwt + "]", "jwt: needs public_url"},
      {url + ", jwt: [" + jwt + ", " + jwt + "]",
       "'i' is already the name of another issuer or kind of credential"},
      {url + ", jwt: []", "expected 1 to 16 items"},
      {url + ", jwt: [{ audience: [a], jwks: { file: f } }]", "issuer: missing"},
      {url + ", jwt: [{ issuer: i, audience: [], jwks: { file: f } }]", "expected 1 to 64 items"},
      {url + ", jwt: [{ issuer: i, audience: [a] }]", "issuer: its keys are looked for at"},
      {url + ", jwt: [{ issuer: \"http://id.example\" }]", "issuer: its keys are looked for at"},
      {url + ", jwt: [{ issuer: \"https://id.example?a\" }]", "issuer: its keys are looked for at"},
      {url + ", jwt: [{ issuer: i, jwks: { url: x } }]", "url: expected a URL"},
      {url + ", jwt: [{ issuer: i, jwks: { url: \"http://id.example\" } }]",
       "url: keys are fetched with https"},
      {url + ", jwt: [{ issuer: i, jwks: { url: \"https://ada:pw@id.example\" } }]",
       "url: expected a URL"},
      {url + ", jwt: [{ issuer: i, jwks: { file: f, url: \"https://a\" } }]",
       "expected either file or url"},
      {url + ", jwt: [{ issuer: i, jwks: { url: \"https://a\", ca: f } }]",
       "ca: holds no certificate in PEM"},
      {url + ", jwt: [{ issuer: i, audience: [a], jwks: f }]", "jwks"},
      {url + ", jwt: [{ issuer: i, audience: [a], jwks: { file: missing } }]",
       "cannot read missing"},
      {url + ", jwt: [{ issuer: i, audience: [a], jwks: { file: f }, algorithms: [HS256] }]",
       "expected one of RS256"},
      {url + ", jwt: [{ issuer: i, audience: [a], jwks: { file: f }, algorithms: [none] }]",
       "expected one of RS256"},
      {"public_url: tools, jwt: [" + jwt + "]", "expected a URL"},
      {"public_url: \"https://a/\", jwt: [" + jwt + "]", "expected a URL"},
      {"public_url: \"https://a?b\", jwt: [" + jwt + "]", "expected a URL"},
  };
  for (const auto& [text, error] : cases) {
    EXPECT_THAT(auth_errors("auth: { " + text + " }\n"), HasSubstr(error)) << text;
  }
}

TEST(ConfigAuth, SignedRequests) {
  const std::string hmac = "{ key_id: a, algorithm: hmac-sha256, secret_file: s, roles: [r] }";
  const std::string ed25519 = "{ key_id: b, public_key: p }";
  const auto config = parse_auth("auth: { signatures: [" + hmac + ", " + ed25519 + "] }\n");
  ASSERT_TRUE(config);
  EXPECT_TRUE(config->auth.is_used());
  EXPECT_EQ(config->auth.signatures[0].secret, kKey + "\n");
  EXPECT_EQ(config->auth.signatures[1].algorithm, config::SignatureMethod::ed25519);
  const std::string printed = config::print_config(*config);
  EXPECT_THAT(printed, Not(HasSubstr(kKey)));
  const auto again = config::parse_config(printed, {}, {}, read_key_file);
  EXPECT_TRUE(again && *again == *config) << printed;
  const std::pair<std::string, std::string> cases[] = {
      {"[]", "expected 1 to 256 items"},
      {"[{ public_key: p }]", "key_id: missing"},
      {"[{ key_id: \"a b\", public_key: p }]", "expected 1 to 64 visible characters"},
      {"[{ key_id: a }]", "missing; this algorithm needs it"},
      {"[{ key_id: a, secret_file: s }]", "is not used with this algorithm; remove it"},
      {"[{ key_id: a, algorithm: hmac-sha256, public_key: p }]",
       "is not used with this algorithm; remove it"},
      {"[{ key_id: a, algorithm: rsa-pss-sha512, public_key: p }]",
       "expected one of hmac-sha256, ed25519, ecdsa-p256-sha256"},
      {"[{ key_id: a, public_key: missing }]", "cannot read missing"},
      {"[" + ed25519 + ", " + ed25519 + "]", "'b' is listed twice; remove one of them"},
  };
  for (const auto& [text, error] : cases) {
    EXPECT_THAT(auth_errors("auth: { signatures: " + text + " }\n"), HasSubstr(error)) << text;
  }
}

TEST(ConfigAuth, ScopesStandInAHeaderField) {
  const auto scopes = [](size_t count, size_t size) {
    std::string list = "[";
    for (size_t i = 0; i < count; ++i) list += (i == 0 ? "" : ", ") + std::string(size, 's');
    return list + "]";
  };
  const std::string jwt = "public_url: \"https://a\", jwt: [{ issuer: \"https://i\" }]";
  EXPECT_TRUE(parse_auth("auth: { " + jwt + ", scopes: " + scopes(4, 255) + " }\n"));
  const std::string too_long = "expected at most 1024 bytes together";
  EXPECT_THAT(auth_errors("auth: { " + jwt + ", scopes: " + scopes(4, 256) + " }\n"),
              HasSubstr(too_long));
  EXPECT_THAT(auth_errors("auth: { api_keys: [], scopes: [a] }\n"),
              HasSubstr("is for tokens only"));
}

TEST(ConfigAuth, Certificates) {
  const std::string with_ca = tls(", client_ca: a") + "\n";
  const auto config = parse_auth(with_ca + "auth: { mtls: { roles: { \"CN=a*\": [b, c] } } }\n");
  ASSERT_TRUE(config);
  EXPECT_THAT(config->auth.mtls.roles.at("CN=a*"), ElementsAre("b", "c"));
  const auto without_roles = parse_auth(with_ca + "auth: { mtls: {} }\n");
  ASSERT_TRUE(without_roles);
  EXPECT_TRUE(without_roles->auth.is_used());
  const auto again =
      config::parse_config(config::print_config(*without_roles), {}, {}, read_key_file);
  EXPECT_TRUE(again && *again == *without_roles);
  EXPECT_THAT(auth_errors("auth: { mtls: {} }\n"), HasSubstr("no listener asks for certificates"));
  EXPECT_THAT(auth_errors(with_ca + "auth: { mtls: { roles: { a: b } } }\n"), HasSubstr("list"));
}

}  // namespace
}  // namespace stdgate
