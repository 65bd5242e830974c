// TestIssuer: makes keys and tokens for tests, good ones and bad ones.
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

  // The public key as a JWK; `more` are members, each with a comma in front.
  [[nodiscard]] std::string jwk(std::string_view more = "") const;
  // {"keys":[<jwk>]}
  [[nodiscard]] std::string jwks() const { return R"({"keys":[)" + jwk() + "]}"; }

  // A token of these parts, signed as `algorithm` says, whatever the header does.
  [[nodiscard]] std::string token(std::string_view algorithm, std::string_view header,
                                  std::string_view claims) const;
  // Like token(), with the usual header.
  [[nodiscard]] std::string token(std::string_view algorithm, std::string_view claims) const;
  // Signed with the public key as a shared secret (HS256), in PEM.
  [[nodiscard]] std::string confused_token(std::string_view claims) const;

 private:
  [[nodiscard]] std::string sign(std::string_view algorithm, std::string_view text) const;

  evp_pkey_st* key_ = nullptr;
  const Kind kind_;
  const std::string kid_;
};

}  // namespace stdgate::test
