#include "transports/http/admission.h"

#include <utility>

#include "gateway/base/addresses.h"
#include "gateway/config/options/option_rules.h"
#include "transports/http/origin_rules.h"

namespace stdgate::http {

namespace {

// The longest Host that an answer repeats, in bytes: more than any DNS name.
constexpr size_t kMaxNamedHost = 255;

constexpr std::string_view kBadSite =
    "a page of another site may not call without an Origin that is listed; see allowed_origins";
constexpr std::string_view kNotDeliberate =
    "any web page can send this request; add a header that none can (Authorization: Bearer, "
    "X-API-Key, MCP-Protocol-Version or X-Requested-With), or set rpc_stream: true "
    "(--rpc-stream)";

std::string bad_host(std::string_view authority) {
  const std::string_view host = host_of(authority);
  if (host.empty() || host.size() > kMaxNamedHost) {
    return "this host name may not be used; see allowed_hosts";
  }
  const std::string name(host);
  return "this host name may not be used; if it is meant for this gateway, add allowed_hosts: "
         "[\"" +
         name + "\"] (--allowed-hosts " + name + ")";
}

std::string bad_origin(const HeaderField* origin) {
  if (origin == nullptr || origin->value == "*" || origin->value.size() > kMaxOrigin ||
      !config::is_web_origin(origin->value)) {
    return "this origin may not call; see allowed_origins";
  }
  const std::string name(origin->value);
  return "this origin may not call; if its pages are meant to, add allowed_origins: [\"" + name +
         "\"] (--allowed-origins " + name + ")";
}

}  // namespace

std::optional<Denial> AdmissionPolicy::judge(const RequestHead& head,
                                             const ConnectionTraits& traits,
                                             const Guards& guards) const {
  if (guards.host && !rules_.allows_host(head, traits)) {
    return Denial{bad_host(head.authority()), Refusal::bad_host};
  }
  if (guards.origin && !rules_.allows_origin(head, traits)) {
    return Denial{bad_origin(head.find("origin")), Refusal::bad_origin};
  }
  if (guards.site && !rules_.allows_site(head))
    return Denial{std::string(kBadSite), Refusal::cross_site};
  return std::nullopt;
}

std::optional<Denial> AdmissionPolicy::judge_reading(const RequestHead& head,
                                                     const ConnectionTraits& traits,
                                                     const Guards& guards) const {
  const bool is_get = head.method() == Method::get || head.method() == Method::head;
  if (guards.deliberate_get && is_get && !rules_.is_deliberate(head, traits)) {
    return Denial{std::string(kNotDeliberate), Refusal::cross_site};
  }
  return std::nullopt;
}

const auth::Identity& CertificateIdentity::identity(const net::Stream& stream,
                                                    const AdmissionPolicy& policy) {
  static const auth::Identity kNobody;
  if (std::exchange(epoch_, policy.epoch()) != policy.epoch()) {
    auth::Identity found = policy.authentication().identify(stream);
    known_.reset();
    if (found.principal != nullptr) {
      known_ = std::make_unique<const auth::Identity>(std::move(found));
    }
  }
  return known_ != nullptr ? *known_ : kNobody;
}

}  // namespace stdgate::http
