// RequestRouting: which endpoint takes a request, and what becomes of requests that none takes.
//
// The only place that has a head judged by the AdmissionPolicy. The result follows from the head,
// its connection and the present rules, and is kept with them in the exchange. The sender is not
// part of it: each request is authenticated, or known by its repeated head. Owner: the server; one
// for all connections.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "transports/http/exchange.h"
#include "transports/http/response.h"
#include "transports/http/router.h"

namespace stdgate::http {

class RequestRouting {
 public:
  // `router` outlives it.
  explicit RequestRouting(const Router& router) : router_(router) {}

  // Whether the same head was admitted before, by the rules of today.
  [[nodiscard]] bool knows(const Exchange& exchange) const {
    return exchange.admitted && exchange.epoch == router_.policy().epoch();
  }
  // Whether exchange.endpoint takes the request; else it has been answered.
  bool admit(Exchange& exchange) const {
    if (!knows(exchange)) return judge(exchange);
    return !router_.policy().authentication().is_used() || identify_again(exchange);
  }

  // Has the request served, whose body has come, unless that is not the one that was signed.
  void serve(Exchange& exchange, std::span<char> body) const;
  // See Exchange::scope_challenge(); `head`: the head of the call.
  [[nodiscard]] std::string scope_challenge(const RequestHead& head, std::string_view scope) const;

 private:
  bool judge(Exchange& exchange) const;
  // Whether it is known who sends the request, where that has to be; else it has been refused.
  bool identify(Exchange& exchange) const;
  bool identify_again(Exchange& exchange) const;
  [[nodiscard]] bool know_again(Exchange& exchange) const;
  void refuse_identity(Exchange& exchange, const IdentityError& why) const;
  [[nodiscard]] std::string metadata_url(std::string_view path) const;
  [[nodiscard]] const Route* find_route(Exchange& exchange) const;
  [[nodiscard]] bool is_operator(Exchange& exchange) const;
  [[nodiscard]] bool route(Exchange& exchange) const;
  [[nodiscard]] bool is_welcome(Exchange& exchange, bool is_served) const;
  [[nodiscard]] bool is_taken(Exchange& exchange) const;
  void refuse(Exchange& exchange, const HttpError& error) const;
  void refuse_path(Exchange& exchange) const;
  [[nodiscard]] bool is_preflight_of_nobody(const Exchange& exchange) const;
  static bool answer_options(Exchange& exchange, std::string_view methods);

  const Router& router_;
};

}  // namespace stdgate::http
