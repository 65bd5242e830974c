#include "transports/auth/certificates.h"

#include <memory>
#include <string>
#include <utility>

#include "gateway/policy/name_pattern.h"

namespace stdgate::auth {

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

}  // namespace stdgate::auth
