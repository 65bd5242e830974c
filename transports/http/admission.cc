#include "transports/http/admission.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gateway/base/addresses.h"
#include "gateway/base/text.h"
#include "gateway/config/options/option_rules.h"
#include "gateway/mcp/param_headers.h"
#include "transports/http/field_value.h"
#include "transports/http/response.h"

namespace stdgate::http {

namespace {

using Reach = ConnectionTraits::Reach;

// Header fields that a page of another origin cannot send without a preflight, and that browsers do
// not add themselves. A list of what is known, as browsers keep adding fields. Not Mcp-Session-Id:
// what takes it looks for the session itself.
constexpr std::array<std::string_view, 3> kAskedFor{"mcp-protocol-version", "x-api-key",
                                                    "x-requested-with"};

bool lists(const std::vector<std::string>& entries, std::string_view text) {
  return std::any_of(entries.begin(), entries.end(), [text](const std::string& entry) {
    return equals_ignoring_case(text, to_lower_ascii(entry));
  });
}

// Host and port of a serialized origin (RFC 6454 section 6.2); empty if it is "null" or no origin.
std::string_view authority_of_origin(std::string_view origin) {
  const size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos) return {};
  const std::string_view authority = origin.substr(scheme + 3);
  return is_authority(authority) ? authority : std::string_view();
}

bool is_local_address(std::string_view host, const ConnectionTraits& traits) {
  if (traits.reach == Reach::unix_socket) return false;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return ClientAddress::parse(host) == traits.local;
}

// Behind a proxy that speaks TLS a plain connection has pages of https too.
bool is_scheme_of(std::string_view origin, const ConnectionTraits& traits) {
  return !traits.is_secure || origin.starts_with("https://");
}

// Whether Host is known to be a name of this gateway, and not one that an attacker's DNS answers.
bool is_own_host(const OriginRules& rules, std::string_view authority,
                 const ConnectionTraits& traits) {
  const std::string_view host = host_of(authority);
  return (traits.reach == Reach::loopback && is_loopback_host(host)) ||
         is_local_address(host, traits) || lists(rules.allowed_hosts, authority) ||
         lists(rules.allowed_hosts, host);
}

bool is_own_origin(const OriginRules& rules, std::string_view origin, const RequestHead& head,
                   const ConnectionTraits& traits) {
  const std::string_view authority = authority_of_origin(origin);
  return !authority.empty() && is_scheme_of(origin, traits) &&
         equals_ignoring_case(authority, to_lower_ascii(head.authority())) &&
         is_own_host(rules, head.authority(), traits);
}

// The scheme only: with others (Basic, Digest, Negotiate) a browser may send credentials that it
// remembers.
bool has_bearer_token(const RequestHead& head) {
  constexpr std::string_view kBearer = "bearer ";
  const HeaderField* field = head.find("authorization");
  return field != nullptr && equals_ignoring_case(field->value.substr(0, kBearer.size()), kBearer);
}

}  // namespace

bool OriginRules::allows_host(const RequestHead& head, const ConnectionTraits& traits) const {
  if (traits.reach == Reach::unix_socket || lists(allowed_hosts, "*")) return true;
  if (head.authority().empty()) return head.lacks_authority();
  return is_own_host(*this, head.authority(), traits);
}

bool OriginRules::allows_origin(const RequestHead& head, const ConnectionTraits& traits) const {
  const bool unrestricted = allowed_origins.empty() && traits.reach == Reach::unix_socket;
  for (const HeaderField& field : head.fields()) {
    if (!equals_ignoring_case(field.name, "origin")) continue;
    if (field.value.size() > kMaxOrigin) return false;
    if (!unrestricted && !names(field.value) && !is_own_origin(*this, field.value, head, traits)) {
      return false;
    }
  }
  return true;
}

bool OriginRules::allows_site(const RequestHead& head) const {
  bool other_site = false;
  bool has_origin = false;
  bool all_named = true;
  for (const HeaderField& field : head.fields()) {
    if (equals_ignoring_case(field.name, "sec-fetch-site")) {
      other_site = other_site || (!equals_ignoring_case(field.value, "same-origin") &&
                                  !equals_ignoring_case(field.value, "none"));
    } else if (equals_ignoring_case(field.name, "origin")) {
      has_origin = true;
      all_named = all_named && names(field.value);
    }
  }
  return !other_site || (has_origin && all_named);
}

bool OriginRules::is_deliberate(const RequestHead& head, const ConnectionTraits& traits) const {
  if (rpc_stream) return true;
  if (traits.reach == Reach::loopback && is_loopback_host(host_of(head.authority()))) return true;
  return head.find("sec-fetch-site") != nullptr || head.find("origin") != nullptr ||
         has_bearer_token(head) ||
         std::any_of(kAskedFor.begin(), kAskedFor.end(),
                     [&head](std::string_view name) { return head.find(name) != nullptr; });
}

bool OriginRules::names(std::string_view origin) const {
  if (origin.size() > kMaxOrigin) return false;
  return lists(allowed_origins, "*") || lists(allowed_origins, origin) ||
         is_loopback_host(host_of(authority_of_origin(origin)));
}

namespace {

constexpr std::string_view kMaxAge = "\r\nAccess-Control-Max-Age: 600\r\n";

}  // namespace

std::string_view cors_origin(const RequestHead& head, const OriginRules& rules,
                             const ConnectionTraits& traits) {
  const bool is_loopback = traits.reach == ConnectionTraits::Reach::loopback;
  if (rules.allowed_origins.empty() && !is_loopback) return {};
  std::string_view origin;
  for (const HeaderField& field : head.fields()) {
    if (!equals_ignoring_case(field.name, "origin")) continue;
    if (!origin.empty() || !rules.names(field.value)) return {};
    origin = field.value;
  }
  return origin;
}

bool is_preflight(const RequestHead& head) {
  return head.method() == Method::options && head.find("origin") != nullptr &&
         head.find("access-control-request-method") != nullptr;
}

void append_cors_fields(std::string& out, std::string_view origin) {
  if (origin.empty()) return;
  out += "Access-Control-Allow-Origin: ";
  out += origin;
  out +=
      "\r\nVary: Origin\r\n"
      "Access-Control-Expose-Headers: Acp-Connection-Id, Mcp-Session-Id, MCP-Protocol-Version, "
      "Retry-After, "
      "WWW-Authenticate\r\n";
}

void append_preflight_fields(std::string& out, std::string_view methods, const RequestHead& head) {
  out += "Access-Control-Allow-Methods: ";
  out += methods;
  out +=
      "\r\nAccess-Control-Allow-Headers: Content-Type, Accept, Authorization, X-API-Key, "
      "Acp-Connection-Id, Acp-Session-Id, Mcp-Session-Id, "
      "MCP-Protocol-Version, Last-Event-ID, Mcp-Method, Mcp-Name, traceparent, tracestate, "
      "baggage";
  for (const HeaderField& field : head.fields()) {
    if (!equals_ignoring_case(field.name, "access-control-request-headers")) continue;
    for_each_element(field.value, ',', [&out](std::string_view name) {
      constexpr std::string_view kPrefix = mcp::kParamPrefix;
      const bool fits = out.size() + name.size() + kMaxAge.size() + 2 <= kMaxFieldBytes;
      if (fits && is_token(name) && equals_ignoring_case(name.substr(0, kPrefix.size()), kPrefix)) {
        out.append(", ").append(name);
      }
    });
  }
  out += kMaxAge;
}

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
