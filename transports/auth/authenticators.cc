#include "transports/auth/authenticators.h"

#include "transports/auth/api_keys.h"
#include "transports/auth/certificates.h"
#include "transports/auth/tokens.h"

namespace stdgate::auth {

Authenticators::Authenticators(const config::AuthConfig& config, const Clocks& clocks)
    : clocks_(clocks) {
  if (!config.jwt.empty()) all_.push_back(std::make_unique<Tokens>(config.jwt, clocks));
  if (config.mtls.used) all_.push_back(std::make_unique<Certificates>(config.mtls, clocks));
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

}  // namespace stdgate::auth
