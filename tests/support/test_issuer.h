// TestIssuer: makes keys and tokens for tests, valid and invalid ones.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_pkey_st;

namespace stdgate::test {

class TestIssuer {
 public:
  enum class Kind { rsa, small_rsa, p256, p384, ed25519 };

  explicit TestIssuer(Kind kind, std::string kid = "k1");
  ~TestIssuer();
  TestIssuer(const TestIssuer&) = delete;
  TestIssuer& operator=(const TestIssuer&) = delete;

  // The public key as a JWK. `more`: further members, each with a comma in front.
  [[nodiscard]] std::string jwk(std::string_view more = "") const;
  // The JWK Set {"keys":[<jwk>]}.
  [[nodiscard]] std::string jwks() const { return R"({"keys":[)" + jwk() + "]}"; }

  // A token of these parts. The signature follows `algorithm`, even if the header names another
  // one.
  [[nodiscard]] std::string token(std::string_view algorithm, std::string_view header,
                                  std::string_view claims) const;
  // A token with the usual header for `algorithm`.
  [[nodiscard]] std::string token(std::string_view algorithm, std::string_view claims) const;
  // A token signed with HS256, whose shared secret is the public key in PEM.
  [[nodiscard]] std::string confused_token(std::string_view claims) const;

 private:
  [[nodiscard]] std::string sign(std::string_view algorithm, std::string_view text) const;

  evp_pkey_st* key_ = nullptr;
  const Kind kind_;
  const std::string kid_;
};

}  // namespace stdgate::test
