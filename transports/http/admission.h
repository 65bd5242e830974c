// AdmissionPolicy: whether a request may be served, by its head. OriginRules: which pages and sites
// may send requests. Also the answers to pages of other origins (CORS).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/observer.h"
#include "transports/http/authentication.h"
#include "transports/http/request_head.h"

namespace stdgate::http {

// Limit of an Origin in bytes, more than any scheme with the longest host name and a port has.
inline constexpr size_t kMaxOrigin = 300;

// OriginRules: the pages and sites that may call, against DNS rebinding and cross-site requests.
//
// A page can make its browser send requests to a gateway that only the browser can reach. The page
// cannot forge its Origin, the Host that it was loaded from, and Sec-Fetch-Site (Fetch Metadata),
// which browsers add to requests to https, localhost and loopback addresses. Pure functions over a
// head; AdmissionPolicy decides which of them guard a route. Owner: the AdmissionPolicy; a value
// made from the configuration.
struct OriginRules {
  std::vector<std::string> allowed_origins;  // "https://app.example"; "*": any
  std::vector<std::string> allowed_hosts;    // names, with or without port; "*": any
  bool rpc_stream = false;                   // see is_deliberate()

  // Host has to be the address that was connected to, a loopback name on a loopback connection, or
  // listed. Any on a Unix socket, and none where none need be: no browser sends such a request.
  [[nodiscard]] bool allows_host(const RequestHead& head, const ConnectionTraits& traits) const;

  // Each Origin has to be a loopback one, a listed one, or the origin of the gateway's own pages.
  // Own pages come from the Host of the request, if "*" is not the only reason why it is allowed,
  // and over TLS from https. On a Unix socket every Origin is allowed, unless some are listed. None
  // may be longer than kMaxOrigin.
  [[nodiscard]] bool allows_origin(const RequestHead& head, const ConnectionTraits& traits) const;

  // A request that a browser marks as same-site or cross-site needs an Origin that names() knows.
  [[nodiscard]] bool allows_site(const RequestHead& head) const;

  // Whether a page cannot make a browser send this request, which has no body, without a preflight
  // and without a mark (by an <img>, a link, a fetch with mode no-cors). True with `rpc_stream`.
  // True on a loopback connection with a loopback name, because browsers add Sec-Fetch-Site there.
  // True with Sec-Fetch-Site or Origin, which the other rules judge. True with a header that needs
  // a CORS preflight and that browsers never add themselves.
  [[nodiscard]] bool is_deliberate(const RequestHead& head, const ConnectionTraits& traits) const;

  // Whether it is a loopback origin or a listed one.
  [[nodiscard]] bool names(std::string_view origin) const;
};

// --- Cross-Origin Resource Sharing (WHATWG Fetch, section 3.2): what pages of other origins may
// read and send
//
// Pure functions; OriginRules decides who may call. Credentials are never allowed: a page brings
// its own token, or none.

// The origin whose pages may read the answer: the request's, if it is a loopback or a listed one.
// Empty otherwise, and always where nothing is listed and the connection is not over loopback.
std::string_view cors_origin(const RequestHead& head, const OriginRules& rules,
                             const ConnectionTraits& traits);

// Whether the request is a preflight: a browser asks whether it may send the request of a page
// (section 3.2.2).
bool is_preflight(const RequestHead& head);

// Header lines for every answer to `origin`; none if it is empty.
void append_cors_fields(std::string& out, std::string_view origin);
// Appends the other header lines of the answer to the preflight `head`; `methods` as Allow has
// them. Header fields that repeat arguments of MCP's tools have names of the tools' own, so the
// fields that the browser asks for are allowed.
void append_preflight_fields(std::string& out, std::string_view methods, const RequestHead& head);

// The audience of a route.
enum class RouteAudience : uint8_t {
  clients,    // of the listener, which may have to say who they are
  everyone,   // who sends a request is not looked at
  operators,  // see Authentication; for others nothing is there
};

// The guards of a route; see OriginRules.
struct Guards {
  bool host = true;
  bool origin = true;
  bool site = true;
  // GET and HEAD must be deliberate. Off for routes that only read, and for routes that require
  // something that no page can send.
  bool deliberate_get = true;
  bool takes_tickets = false;  // of GETs that can send no header fields; they are deliberate then
  bool gives_tickets = false;
  RouteAudience audience = RouteAudience::clients;

  // For routes whose GET changes nothing, and for unknown paths.
  static constexpr Guards reading(RouteAudience audience = RouteAudience::clients) {
    return {.deliberate_get = false, .audience = audience};
  }
};

// Why a request is refused.
struct Denial {
  std::string message;  // for people
  Refusal reason = Refusal::forbidden;
};

// AdmissionPolicy: the one place that decides, by a request's head, whether its sender may call.
//
// Each route declares its Guards, all of them unless it says otherwise; the connection checks the
// head against them before an endpoint sees it. The sender is judged beside that, with every
// request (Authentication). Owner: the generation; outlives the routers. Every change of the rules
// begins a new epoch, which invalidates earlier judgements.
class AdmissionPolicy {
 public:
  explicit AdmissionPolicy(OriginRules rules, Authentication authentication = {})
      : rules_(std::move(rules)), authentication_(std::move(authentication)) {}

  [[nodiscard]] const OriginRules& rules() const { return rules_; }
  [[nodiscard]] const Authentication& authentication() const { return authentication_; }
  void replace(OriginRules rules) {
    rules_ = std::move(rules);
    begin_epoch();
  }
  // The parts of the former authentication are not used any more when this returns.
  void replace(OriginRules rules, Authentication authentication) {
    authentication_ = std::move(authentication);
    replace(std::move(rules));
  }
  // Every earlier judgement is made again.
  void begin_epoch() { ++epoch_; }
  [[nodiscard]] uint32_t epoch() const { return epoch_; }

  // Why the request is refused with 403; nothing if it is admitted. Depends on the head, the
  // connection and the epoch only.
  [[nodiscard]] std::optional<Denial> judge(const RequestHead& head, const ConnectionTraits& traits,
                                            const Guards& guards) const;
  // Judges reading of what differs between the paths of clients, and is told to no one else.
  [[nodiscard]] std::optional<Denial> judge_reading(const RequestHead& head,
                                                    const ConnectionTraits& traits,
                                                    const Guards& guards) const;

 private:
  OriginRules rules_;
  Authentication authentication_;
  uint32_t epoch_ = 1;
};

// CertificateIdentity: the client of a connection by its certificate, as the present policy says.
// Owner: the connection.
class CertificateIdentity {
 public:
  // Nobody without one. Valid until the next call.
  const auth::Identity& identity(const net::Stream& stream, const AdmissionPolicy& policy);

 private:
  std::unique_ptr<const auth::Identity> known_;  // null: nobody
  uint32_t epoch_ = 0;                           // of the policy that it was found under
};

}  // namespace stdgate::http
