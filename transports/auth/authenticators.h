// Authenticators: all of `auth`, asked one after the other.
//
// Owner: the generation.
#pragma once

#include <memory>
#include <vector>

#include "gateway/config/config.h"
#include "transports/auth/authenticator.h"
#include "transports/auth/clocks.h"
#include "transports/auth/request_signatures.h"
#include "transports/auth/tokens.h"

namespace stdgate::auth {

class Authenticators final : public Authenticator {
 public:
  // `predecessor`: whose fetched keys and nonces it takes over; null: there is none.
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
  // Of all issuers of tokens.
  [[nodiscard]] std::vector<KeyFacts> key_facts() const;
  // Frees what is kept only to be faster.
  void drop_caches() {
    if (tokens_ != nullptr) tokens_->forget_all();
  }

 private:
  const Clocks clocks_;
  std::vector<std::unique_ptr<Authenticator>> all_;
  // Of these; null: there is none.
  Tokens* tokens_ = nullptr;
  RequestSignatures* signatures_ = nullptr;
};

}  // namespace stdgate::auth
