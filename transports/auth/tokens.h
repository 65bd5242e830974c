// Tokens: clients show JSON Web Tokens of known issuers (RFC 7519, RFC 8725).
//
// A token is good if: its issuer is one of `auth.jwt`; its algorithm is allowed for that issuer;
// one of the issuer's keys has signed it; it is for this gateway (`aud`); and it is valid now
// (`exp`, `nbf`, `iat`), with kLeeway for clocks that differ. Until the issuer's first keys have
// come, a token can be neither accepted nor refused. Keys that the token itself names (`jku`,
// `jwk`, `x5u`) are ignored, and a token with `crit` is refused. Owner: Authenticators. Limits:
// kMaxToken bytes; kMaxJudged good tokens are remembered by their digests until they expire, the
// keys change or memory is short, so that no signature is checked twice.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_map>
#include <vector>

#include "gateway/config/config.h"
#include "transports/auth/authenticator.h"
#include "transports/auth/digest.h"
#include "transports/auth/issuer_keys.h"

namespace stdgate::auth {

class Tokens final : public Authenticator {
 public:
  static constexpr size_t kMaxToken = 16 << 10;
  static constexpr size_t kMaxSubject = 512;  // bytes; it stands in logs
  static constexpr size_t kMaxJudged = 4096;
  static constexpr std::chrono::seconds kLeeway{30};

  // Keys in files have been checked; see check_keys(). `predecessor`: its fetched keys are taken
  // over, for issuers that are configured as before; null: none.
  Tokens(const std::vector<config::JwtConfig>& issuers, const Clocks& clocks,
         const KeyServices& services, Tokens* predecessor = nullptr);

  [[nodiscard]] TimePoint now() const override { return clocks_.clock.now(); }
  [[nodiscard]] uint32_t revision() const override { return revision_; }
  // Nothing for what does not look like a token.
  [[nodiscard]] std::optional<Judgement> judge(const Credential& credential) override;
  // Tokens that are known again.
  [[nodiscard]] size_t judged() const { return judged_.size(); }
  [[nodiscard]] std::vector<KeyFacts> key_facts() const;
  // No token is known again.
  void forget_all();

 private:
  struct Issuer {
    config::JwtConfig config;
    std::unique_ptr<IssuerKeys> keys;
    std::vector<const SignatureAlgorithm*> algorithms;
  };
  struct Known {
    Identity identity;
    std::vector<std::string> audience;  // for Resource::is_meant_by(); else empty
  };

  std::unique_ptr<IssuerKeys> give_keys(const config::JwtConfig& config);
  // Notes in `known` what is to be remembered if it is good.
  [[nodiscard]] Judgement judge_anew(const Credential& credential, Known& known);
  [[nodiscard]] Judgement judge_again(const Credential& credential, const Known& known) const;
  void remember(const Digest& digest, Known known);

  const Clocks clocks_;
  std::vector<Issuer> issuers_;
  Sha256 sha256_;
  std::unordered_map<Digest, Known, HashDigest> judged_;
  std::deque<Digest> order_;  // in the order of their arrival
  uint32_t revision_ = 1;
};

// The mistake in the keys of an issuer's file; empty: none, or no file.
std::string check_keys(const config::JwksConfig& config);

}  // namespace stdgate::auth
