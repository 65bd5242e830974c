// RequestRouting: which endpoint takes a request, and what becomes of requests that none takes.
//
// The only place that has a head judged by the AdmissionPolicy. What it finds follows from the head
// and Exchange::key alone, and is kept with them, but for who sends the request: that is asked each
// time, or known of the same head over the same connection. Owner: the server; one for all
// connections.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "transports/http/connection_traits.h"
#include "transports/http/exchange.h"
#include "transports/http/response.h"
#include "transports/http/router.h"

namespace stdgate::http {

class RequestRouting {
 public:
  // `router` outlives it.
  explicit RequestRouting(const Router& router) : router_(router) {}

  // Whether exchange.endpoint takes the request; else it has been answered, through
  // exchange.client.
  bool admit(Exchange& exchange, const ConnectionTraits& traits) const {
    const bool is_known = exchange.admitted && exchange.key == router_.policy().key(traits);
    if (!is_known) return judge(exchange, traits);
    return !router_.policy().authentication().is_used() || identify_again(exchange, traits);
  }

  // Has the request served, whose body has come, unless that is not the one that was signed.
  void serve(Exchange& exchange, std::span<char> body) const;
  // See Responder::scope_challenge(); `head` is that of the call.
  [[nodiscard]] std::string scope_challenge(const RequestHead& head, std::string_view scope) const;

 private:
  bool judge(Exchange& exchange, const ConnectionTraits& traits) const;
  // Whether it is known who sends the request, where that has to be; else it has been refused.
  bool identify(Exchange& exchange, const ConnectionTraits& traits) const;
  bool identify_again(Exchange& exchange, const ConnectionTraits& traits) const;
  [[nodiscard]] bool know_again(Exchange& exchange) const;
  void refuse_identity(const Exchange& exchange, const IdentityError& why) const;
  [[nodiscard]] std::string metadata_url(std::string_view path) const;
  [[nodiscard]] const Route* find_route(Exchange& exchange, const ConnectionTraits& traits) const;
  [[nodiscard]] bool is_operator(Exchange& exchange, const ConnectionTraits& traits) const;
  [[nodiscard]] bool route(Exchange& exchange, const ConnectionTraits& traits) const;
  void refuse(const Exchange& exchange, const HttpError& error) const;
  void refuse_path(Exchange& exchange, const ConnectionTraits& traits) const;
  [[nodiscard]] bool is_preflight_of_nobody(const Exchange& exchange,
                                            const ConnectionTraits& traits) const;
  static void answer_options(const Exchange& exchange, std::string_view methods);

  const Router& router_;
};

}  // namespace stdgate::http
