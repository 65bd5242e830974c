#include "transports/auth/authenticators.h"

#include <algorithm>
#include <utility>

#include "transports/auth/api_keys.h"
#include "transports/auth/certificates.h"

namespace stdgate::auth {

Authenticators::Authenticators(const config::AuthConfig& config, const Clocks& clocks,
                               const KeyServices& services,
                               std::unique_ptr<Authenticators> predecessor)
    : clocks_(clocks) {
  if (!config.jwt.empty()) {
    auto tokens = std::make_unique<Tokens>(config.jwt, clocks, services,
                                           predecessor ? predecessor->tokens_ : nullptr);
    tokens_ = tokens.get();
    all_.push_back(std::move(tokens));
  }
  if (config.mtls.used) all_.push_back(std::make_unique<Certificates>(config.mtls, clocks));
  if (!config.signatures.empty()) {
    auto signatures = std::make_unique<RequestSignatures>(config.signatures, clocks);
    signatures_ = signatures.get();
    if (predecessor && predecessor->signatures_ != nullptr) {
      signatures_->take_nonces(*predecessor->signatures_);
    }
    all_.push_back(std::move(signatures));
  }
  all_.push_back(std::make_unique<ApiKeys>(config, clocks));
}

std::optional<Judgement> Authenticators::judge(const Credential& credential) {
  for (const auto& authenticator : all_) {
    if (auto judgement = authenticator->judge(credential)) return judgement;
  }
  return std::nullopt;
}

std::optional<Judgement> Authenticators::judge_certificate(
    const net::PeerCertificate& certificate) {
  for (const auto& authenticator : all_) {
    if (auto judgement = authenticator->judge_certificate(certificate)) return judgement;
  }
  return std::nullopt;
}

bool Authenticators::takes_signatures() const {
  return std::ranges::any_of(all_, [](const auto& one) { return one->takes_signatures(); });
}

std::optional<Judgement> Authenticators::judge_signature(const MessageSignature& signature) {
  for (const auto& authenticator : all_) {
    if (auto judgement = authenticator->judge_signature(signature)) return judgement;
  }
  return std::nullopt;
}

std::vector<KeyFacts> Authenticators::key_facts() const {
  return tokens_ == nullptr ? std::vector<KeyFacts>() : tokens_->key_facts();
}

}  // namespace stdgate::auth
