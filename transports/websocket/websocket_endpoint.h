// WebSocketEndpoint: GET /ws of one backend: checks the handshake, opens a session, and lets a
// WebSocketConnection go on.
#pragma once

#include "gateway/pool/backend_set.h"
#include "gateway/rpc/envelope.h"
#include "transports/http/endpoint.h"
#include "transports/http/origin_rules.h"
#include "transports/http/router.h"

namespace stdgate {

class WebSocketEndpoint final : public Endpoint {
 public:
  WebSocketEndpoint(Backend& backend, const OriginRules& rules);

  std::optional<HttpError> admit(Exchange& exchange) override;
  void serve(Exchange& exchange, std::span<char> body) override;

 private:
  void refuse_session(Responder& client, const FaultReport& report);

  Backend& backend_;
  const OriginRules& rules_;
  EnvelopeParser parser_;  // of all connections
};

// Adds /<name>/ws for each backend, and /ws for the default one. `rules` and the backends outlive
// the router, which outlives the server.
void add_websocket_routes(Router& router, const BackendSet& backends, const OriginRules& rules);

}  // namespace stdgate
