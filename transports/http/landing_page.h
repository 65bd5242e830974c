// Pages for people about what is served: GET / of the client listeners, and the banner at the
// start.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/backend/upstream.h"
#include "gateway/base/addresses.h"
#include "gateway/base/log.h"
#include "transports/http/router.h"

namespace stdgate::http {

// --- GET / of the client listeners: what is served, as URLs and lines to be pasted
//
// Plain text, so that it reads the same in a terminal and a browser, and needs no policy for
// scripts. The URLs are pasted into shells, so they have no special characters: letters, digits,
// '.', '-', '_', ':', brackets and slashes. They begin with auth.public_url, if it has only such
// characters. Without it they name the host of the request, or "localhost" if that host has other
// characters. Owner: the router; the backends outlive it.

// Serves the page at "/". `title` is its first line.
void add_landing_page(Router& router, const backend::Upstreams& backends, std::string title);

// The page as a client sees it that has asked for `authority`, over TLS if it `is_secure`.
// `public_url`: auth.public_url, may be empty.
std::string landing_page(std::string_view title, const backend::Upstreams& backends,
                         std::string_view authority, bool is_secure = false,
                         std::string_view public_url = {});

// Like landing_page(), but in JSON, for a client that asks for application/json:
// {"server":…,"backends":[{"name":…,"protocol":…,"default":…,"members":[…],"paths":[{"name":…,
// "method":…,"url":…}]}]}, with "members" of virtual servers only
std::string landing_json(std::string_view title, const backend::Upstreams& backends,
                         std::string_view authority, bool is_secure = false,
                         std::string_view public_url = {});

// The URLs of one backend in the page, the best one first.
std::vector<std::string> landing_urls(const backend::Upstream& backend, std::string_view authority,
                                      bool is_secure, std::string_view public_url);

// --- The banner: what is served and where, written once when all listeners are open
//
// A text on stdout with URLs to paste; or, with log.format json, log lines "listening", one for
// each backend at each address, because only JSON may be written then.

// An open listener.
struct BoundAddress {
  Address address;
  bool is_secure = false;  // over TLS
};

// All open listeners.
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
