#include "transports/auth/authenticators.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "gateway/base/time.h"
#include "gateway/config/config_files.h"
#include "gateway/policy/rules.h"

namespace stdgate::auth {

TimePoint Clocks::at(std::chrono::system_clock::time_point time) const {
  // More than a century away is never.
  constexpr std::chrono::hours kFar{24 * 365 * 100};
  const auto left = time - std::chrono::time_point_cast<std::chrono::system_clock::duration>(now());
  if (left > kFar) return TimePoint::max();
  return clock.now() + std::chrono::duration_cast<Duration>(left);
}

ApiKeys::ApiKeys(const config::AuthConfig& config, const Clocks& clocks) : clocks_(clocks) {
  for (const config::ApiKeyConfig& key : config.api_keys) add(key);
  if (config.api_key_file.empty()) return;
  config::ApiKeyConfig of_file;
  of_file.name = kFileName;
  of_file.keys = config.keys;
  add(of_file);
}

void ApiKeys::add(const config::ApiKeyConfig& config) {
  policy::Principal principal;
  principal.kind = policy::Principal::Kind::api_key;
  principal.name = config.name;
  principal.roles = config.roles;
  if (config.expires_at) principal.expires = calendar_time(*config.expires_at);
  const auto shared = std::make_shared<const policy::Principal>(std::move(principal));
  if (!config.hash.empty()) keys_.push_back({parse_key_hash(config.hash), shared});
  for (const std::string& key : config.keys) {
    keys_.push_back({config::is_key_hash(key) ? parse_key_hash(key) : sha256_.of(key), shared});
  }
}

std::optional<Judgement> ApiKeys::judge(const Credential& credential) {
  const Digest digest = sha256_.of(credential.text);
  const Key* found = nullptr;
  for (const Key& key : keys_) {
    if (are_equal(key.digest, digest)) found = &key;
  }
  if (found == nullptr) return Judgement{};
  Judgement judgement{Judgement::Outcome::accepted, {found->principal}};
  if (const auto& expires = found->principal->expires) {
    judgement.identity.expires = clocks_.at(*expires);
    if (judgement.identity.expires <= clocks_.clock.now()) {
      return Judgement{Judgement::Outcome::expired};
    }
  }
  return judgement;
}

namespace {

std::string name_of(const net::PeerCertificate& certificate) {
  if (!certificate.uri.empty()) return certificate.uri;
  if (!certificate.dns.empty()) return certificate.dns;
  return certificate.common_name.empty() ? std::string() : "CN=" + certificate.common_name;
}

}  // namespace

Certificates::Certificates(config::MtlsConfig config, const Clocks& clocks)
    : config_(std::move(config)), clocks_(clocks) {}

std::optional<Judgement> Certificates::judge_certificate(const net::PeerCertificate& certificate) {
  policy::Principal principal;
  principal.kind = policy::Principal::Kind::certificate;
  principal.name = name_of(certificate);
  if (principal.name.empty() || principal.name.size() > kMaxName) return Judgement{};
  principal.subject = certificate.subject;
  principal.expires = certificate.expires;
  for (const auto& [pattern, roles] : config_.roles) {
    if (!policy::matches(pattern, principal.name)) continue;
    for (const std::string& role : roles) {
      if (!principal.has_role(role)) principal.roles.push_back(role);
    }
  }
  return Judgement{Judgement::Outcome::accepted,
                   {std::make_shared<const policy::Principal>(std::move(principal)),
                    clocks_.at(certificate.expires)}};
}

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
