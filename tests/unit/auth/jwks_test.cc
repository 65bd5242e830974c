// Sets of public keys: which are read, and which key a token means.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_issuer.h"
#include "transports/auth/issuer_keys.h"

namespace stdgate::auth {
namespace {

using test::TestIssuer;
using testing::HasSubstr;

std::string set_of(const std::vector<std::string>& jwks) {
  std::string text;
  for (const std::string& jwk : jwks) text += (text.empty() ? "" : ",") + jwk;
  return R"({"keys":[)" + text + "]}";
}

TEST(Jwks, KeysByIdAndAlgorithm) {
  const TestIssuer rsa(TestIssuer::Kind::rsa, "r");
  const TestIssuer p256(TestIssuer::Kind::p256, "e");
  const TestIssuer p384(TestIssuer::Kind::p384, "f");
  const TestIssuer ed25519(TestIssuer::Kind::ed25519, "d");
  const auto jwks = Jwks::parse(
      set_of({rsa.jwk(R"(,"alg":"RS256","use":"sig")"), p256.jwk(), p384.jwk(), ed25519.jwk()}));
  ASSERT_TRUE(jwks) << jwks.error();
  struct Case {
    const char* id;
    const char* algorithm;
    bool found;
  };
  const Case cases[] = {
      {"r", "RS256", true},  {"r", "RS384", false}, {"r", "PS256", false}, {"r", "ES256", false},
      {"e", "ES256", true},  {"e", "ES384", false}, {"e", "EdDSA", false}, {"f", "ES384", true},
      {"f", "ES256", false}, {"d", "EdDSA", true},  {"x", "RS256", false}, {"", "RS256", true},
      {"", "ES256", true},   {"", "EdDSA", true},   {"R", "RS256", false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(jwks->find(c.id, *find_algorithm(c.algorithm)) != nullptr, c.found)
        << c.id << " " << c.algorithm;
  }
}

TEST(Jwks, WhichKeyIsMeantHasToBeSaid) {
  const TestIssuer one(TestIssuer::Kind::p256, "1");
  const TestIssuer two(TestIssuer::Kind::p256, "2");
  const auto jwks = Jwks::parse(set_of({one.jwk(), two.jwk()}));
  ASSERT_TRUE(jwks);
  EXPECT_EQ(jwks->find("", *find_algorithm("ES256")), nullptr);
  EXPECT_NE(jwks->find("1", *find_algorithm("ES256")), jwks->find("2", *find_algorithm("ES256")));
}

TEST(Jwks, WhatCannotBeUsedIsLeftOut) {
  const TestIssuer good(TestIssuer::Kind::p256);
  const std::string a(43, 'A');
  const std::string off_curve = R"({"kty":"EC","crv":"P-256","x":")" + a + R"(","y":")" + a + "\"}";
  const auto jwks = Jwks::parse(
      set_of({R"({"kty":"EC","crv":"secp256k1","x":"AA","y":"AA"})", R"({"kty":"RSA"})", "1", "{}",
              R"({"kty":"oct"})", R"({"kty":"OKP","crv":"X25519","x":"AA"})", off_curve,
              good.jwk(R"(,"use":"enc")"), good.jwk(R"(,"alg":"HS256")"), good.jwk()}));
  ASSERT_TRUE(jwks) << jwks.error();
  EXPECT_NE(jwks->find("k1", *find_algorithm("ES256")), nullptr);
}

TEST(Jwks, WhatIsNoSet) {
  const TestIssuer good(TestIssuer::Kind::p256);
  std::vector<std::string> many(Jwks::kMaxKeys, good.jwk());
  EXPECT_TRUE(Jwks::parse(set_of(many)));
  many.push_back(good.jwk());
  const std::pair<std::string, std::string> cases[] = {
      {"", "expected a JSON Web Key Set"},
      {"{}", "expected a JSON Web Key Set"},
      {"[]", "expected a JSON Web Key Set"},
      {good.jwk(), "expected a JSON Web Key Set"},
      {R"({"keys":[]})", "no key that can be used"},
      {set_of({good.jwk(R"(,"d":"AA")")}), "holds a private key"},
      {set_of({R"({"kty":"oct","k":"AA"})"}), "holds a private key"},
      {set_of(many), "at most 100 keys"},
  };
  for (const auto& [text, error] : cases) {
    const auto jwks = Jwks::parse(text);
    ASSERT_FALSE(jwks) << text;
    EXPECT_THAT(jwks.error(), HasSubstr(error));
  }
}

}  // namespace
}  // namespace stdgate::auth
