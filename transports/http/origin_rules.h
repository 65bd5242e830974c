// OriginRules: the pages and sites that may call, against DNS rebinding and cross-site requests.
//
// A page can make its browser send requests to a gateway that only the browser can reach. The page
// cannot forge its Origin, the Host that it was loaded from, and Sec-Fetch-Site (Fetch Metadata),
// which browsers add to requests to https, localhost and loopback addresses. Pure functions over a
// head; AdmissionPolicy decides which of them guard a route. Owner: the AdmissionPolicy; a value
// made from the configuration.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "transports/http/request_head.h"

namespace stdgate::http {

// Bytes: more than any scheme with the longest host name and a port has.
inline constexpr size_t kMaxOrigin = 300;

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

// What pages of other origins may read and send: Cross-Origin Resource Sharing (WHATWG Fetch,
// section 3.2). Pure functions; OriginRules decides who may call.
//
// Credentials are never allowed: a page brings its own token, or none.

// The origin whose pages may read the answer: the request's, if it is a loopback or a listed one.
// Empty otherwise, and always where nothing is listed and the connection is not over loopback.
std::string_view cors_origin(const RequestHead& head, const OriginRules& rules,
                             const ConnectionTraits& traits);

// A browser asks before a page's request is sent (section 3.2.2).
bool is_preflight(const RequestHead& head);

// Header lines for every answer to `origin`; none if it is empty.
void append_cors_fields(std::string& out, std::string_view origin);
// Beside them, for the preflight `head`; `methods` as Allow has them. Header fields that repeat
// arguments of MCP's tools have names of the tools' own: those are allowed that are asked for.
void append_preflight_fields(std::string& out, std::string_view methods, const RequestHead& head);

}  // namespace stdgate::http
