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

namespace stdgate {

struct OriginRules {
  std::vector<std::string> allowed_origins;  // "https://app.example"; "*": any
  std::vector<std::string> allowed_hosts;    // names, with or without port

  // A request without Origin is not a page's. Loopback origins are always allowed; others on a
  // loopback listener only if listed, elsewhere too as soon as anything is listed.
  [[nodiscard]] bool allows_origin(const RequestHead& head, bool loopback_listener) const;
  // On a loopback listener the Host has to be a loopback name or a listed one.
  [[nodiscard]] bool allows_host(const RequestHead& head, bool loopback_listener) const;
};

}  // namespace stdgate
