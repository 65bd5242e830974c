#include "transports/auth/certificates.h"

#include <memory>
#include <string>
#include <utility>

namespace stdgate::auth {

namespace {

std::string name_of(const net::PeerCertificate& certificate) {
  if (!certificate.uri.empty()) return certificate.uri;
  if (!certificate.dns.empty()) return certificate.dns;
  return certificate.common_name.empty() ? std::string() : "CN=" + certificate.common_name;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
  size_t at = 0;
  size_t next = 0;                       // in the text
  size_t star = std::string_view::npos;  // the last one
  size_t behind = 0;                     // in the text: what it does not stand for
  while (next < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      behind = next;
    } else if (at < pattern.size() && pattern[at] == text[next]) {
      ++at;
      ++next;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      next = ++behind;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

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
    if (!matches(pattern, principal.name)) continue;
    for (const std::string& role : roles) {
      if (!principal.has_role(role)) principal.roles.push_back(role);
    }
  }
  return Judgement{Judgement::Outcome::accepted,
                   {std::make_shared<const policy::Principal>(std::move(principal)),
                    clocks_.at(certificate.expires)}};
}

}  // namespace stdgate::auth
