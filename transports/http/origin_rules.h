// OriginRules: which pages of which sites may call, against DNS rebinding and cross-site requests.
//
// A browser can be made to send requests to a gateway on the loopback interface; what it cannot
// forge is the Origin of its page and, for a GET without Origin, the Host.
// Owner: the composition root; a value made from the configuration.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "transports/http/request_head.h"
#include "transports/http/response.h"

namespace stdgate {

inline constexpr HttpError kBadOrigin{403, "this origin may not call; see allowed_origins"};
inline constexpr HttpError kBadHost{403, "this host name may not be used; see allowed_hosts"};

// Bytes: more than any scheme with the longest host name and a port has.
inline constexpr size_t kOriginLimit = 300;

struct OriginRules {
  std::vector<std::string> allowed_origins;  // "https://app.example"; "*": any
  std::vector<std::string> allowed_hosts;    // names, with or without port

  // A request without Origin is not a page's. Loopback origins are always allowed; others on a
  // loopback listener only if listed, elsewhere too as soon as anything is listed. None may be
  // longer than kOriginLimit.
  [[nodiscard]] bool allows_origin(const RequestHead& head, bool loopback_listener) const;
  // Whether it is a loopback origin or a listed one.
  [[nodiscard]] bool names(std::string_view origin) const;
  // On a loopback listener the Host has to be a loopback name or a listed one.
  [[nodiscard]] bool allows_host(const RequestHead& head, bool loopback_listener) const;
};

}  // namespace stdgate
