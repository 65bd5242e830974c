// Authenticators: all of `auth`, asked one after the other.
//
// Owner: the generation.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "gateway/config/config.h"
#include "transports/auth/authenticator.h"
#include "transports/auth/digest.h"
#include "transports/auth/request_signatures.h"
#include "transports/auth/tokens.h"

namespace stdgate::auth {

// ApiKeys: the keys of `auth.api_keys` and `auth.api_key_file`, known by their hashes.
//
// A key is compared with all of them, each in constant time, so that the time says nothing about
// them. Owner: Authenticators. Limit: config::kMaxApiKeys of the section.
class ApiKeys final : public Authenticator {
 public:
  // Name of the principal of `auth.api_key_file`.
  static constexpr std::string_view kFileName = "api-key";

  ApiKeys(const config::AuthConfig& config, const Clocks& clocks);

  // Any text may be a key, so there is always a judgement.
  [[nodiscard]] TimePoint now() const override { return clocks_.clock.now(); }
  [[nodiscard]] std::optional<Judgement> judge(const Credential& credential) override;

 private:
  struct Key {
    Digest digest{};
    policy::PrincipalRef principal;
  };

  void add(const config::ApiKeyConfig& config);

  const Clocks clocks_;
  Sha256 sha256_;
  std::vector<Key> keys_;
};

// Certificates: clients are who their certificate says (`auth.mtls`); that it is trusted has been
// judged by TLS.
//
// Owner: Authenticators. Limit: kMaxName; a certificate with a longer name is unknown.
class Certificates final : public Authenticator {
 public:
  static constexpr size_t kMaxName = 512;  // bytes; it stands in logs

  Certificates(config::MtlsConfig config, const Clocks& clocks);

  [[nodiscard]] TimePoint now() const override { return clocks_.clock.now(); }
  [[nodiscard]] std::optional<Judgement> judge(const Credential& /*credential*/) override {
    return std::nullopt;
  }
  [[nodiscard]] std::optional<Judgement> judge_certificate(
      const net::PeerCertificate& certificate) override;

 private:
  const config::MtlsConfig config_;
  const Clocks clocks_;
};

class Authenticators final : public Authenticator {
 public:
  // `predecessor`: its fetched keys and nonces are taken over; null: none.
  Authenticators(const config::AuthConfig& config, const Clocks& clocks,
                 const KeyServices& services, std::unique_ptr<Authenticators> predecessor);

  [[nodiscard]] TimePoint now() const override { return clocks_.clock.now(); }
  [[nodiscard]] uint32_t revision() const override {
    return tokens_ == nullptr ? 1 : tokens_->revision();
  }
  [[nodiscard]] std::optional<Judgement> judge(const Credential& credential) override;
  [[nodiscard]] std::optional<Judgement> judge_certificate(
      const net::PeerCertificate& certificate) override;
  [[nodiscard]] bool takes_signatures() const override;
  [[nodiscard]] std::optional<Judgement> judge_signature(
      const MessageSignature& signature) override;
  // The keys of all issuers of tokens.
  [[nodiscard]] std::vector<KeyFacts> key_facts() const;
  // Frees what is kept only to be faster.
  void drop_caches() {
    if (tokens_ != nullptr) tokens_->forget_all();
  }

 private:
  const Clocks clocks_;
  std::vector<std::unique_ptr<Authenticator>> all_;
  // One of these; null: not configured.
  Tokens* tokens_ = nullptr;
  RequestSignatures* signatures_ = nullptr;
};

}  // namespace stdgate::auth
