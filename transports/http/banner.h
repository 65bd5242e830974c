// Banner: what is served and where, written once when all listeners are open. A text on stdout with
// URLs to paste; or, with log.format json, log lines "listening", one for each backend at each
// address, because only JSON may be written then.
#pragma once

#include <string>
#include <vector>

#include "gateway/backend/upstream.h"
#include "gateway/base/addresses.h"
#include "gateway/base/log.h"

namespace stdgate::http {

struct BoundAddress {
  Address address;
  bool is_secure = false;  // over TLS
};

struct Listening {
  std::vector<BoundAddress> clients;
  std::vector<BoundAddress> admin;  // one, or none
};

// "http://127.0.0.1:8080", or "unix:PATH".
std::string url_of(const BoundAddress& bound);

// The host that a client on this machine names in its requests.
std::string authority_of(const BoundAddress& bound);

std::string banner_text(const Listening& listening, const backend::Upstreams& backends);
void log_banner(Log& log, const Listening& listening, const backend::Upstreams& backends);

}  // namespace stdgate::http
