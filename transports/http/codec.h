// Codec: what carries exchanges: the connection of one version of HTTP, as its exchanges see it.
// Implemented by Http1Connection.
//
// A codec reads heads and bodies from its stream, makes an Exchange of each request, tells it what
// comes (Exchange, "For the codec"), and writes what it answers. Syntax, framing, the order of
// requests on a connection and its end are the codec's business alone; what a request means is not.
// A body is handed over whole, as a message is of use to nobody before its end. All calls of one
// exchange come from the outermost level of the loop, from within a call of the core, or from
// within the codec's own calls of that exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "gateway/base/account.h"
#include "gateway/policy/principal.h"
#include "transports/auth/identity.h"
#include "transports/http/client_connection.h"
#include "transports/http/response.h"

namespace stdgate::http {

class Exchange;

class Codec {
 public:
  virtual ~Codec() = default;

  // --- The response of an exchange, which is the codec's own
  // All of it, its body none to a HEAD. Ends the exchange.
  virtual void send(Exchange& exchange, const Response& response) = 0;
  // Its head; pieces of the body and end() follow, or abort().
  virtual void send_head(Exchange& exchange, const Response& response) = 0;
  virtual void send_piece(Exchange& exchange, std::span<const std::string_view> parts) = 0;
  // `is_last`: the client's connection is to end with it, where it serves one exchange at a time.
  virtual void end(Exchange& exchange, bool is_last) = 0;
  // The client takes too little for the rest: what is unsent is dropped, and Exchange::on_gone()
  // follows from the outermost level.
  virtual void abort(Exchange& exchange) = 0;

  // --- Back pressure
  // Bytes of the response that have not been sent.
  [[nodiscard]] virtual size_t unsent(const Exchange& exchange) const = 0;
  // So much that its source should wait, if it can; Exchange::on_writable() follows.
  [[nodiscard]] virtual bool is_backed_up(const Exchange& exchange) const = 0;

  // --- Another protocol in its place (RFC 9110 section 7.8)
  [[nodiscard]] virtual bool can_upgrade(const Exchange& exchange) const = 0;
  // Only where it can, and from within Exchange::serve(): answers 101 with these header lines;
  // `successor` then takes over the stream and the connection's place in the server.
  virtual void upgrade(Exchange& exchange, std::string_view fields,
                       std::unique_ptr<UpgradedConnection> successor) = 0;

  // --- The client
  [[nodiscard]] virtual const Peer& peer() const = 0;
  // Who its certificate says that it is.
  [[nodiscard]] virtual const auth::Identity& certificate_identity() = 0;
  // Who pays for what is kept of an exchange, at its endpoint.
  [[nodiscard]] virtual Payer payer(const Exchange& exchange) const = 0;
  // The sender of an admitted request pays from now on. `held`: what is held at its endpoint; null:
  // nowhere in particular.
  virtual void charge(Exchange& exchange, HeldBytes* held) = 0;
};

}  // namespace stdgate::http
