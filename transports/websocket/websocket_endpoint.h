// WebSocketEndpoint: GET /ws of one backend: checks the handshake, opens a session, and hands over
// to a WebSocketConnection. Owner: the router.
#pragma once

#include "gateway/backend/upstreams.h"
#include "gateway/rpc/envelope.h"
#include "transports/http/endpoint.h"
#include "transports/http/router.h"

namespace stdgate::websocket {

class WebSocketEndpoint final : public http::Endpoint {
 public:
  explicit WebSocketEndpoint(backend::Upstream& upstream);

  [[nodiscard]] const backend::Upstream* upstream() const override { return &upstream_; }
  [[nodiscard]] Transport transport() const override { return Transport::websocket; }
  std::optional<http::HttpError> admit(http::Exchange& exchange) override;
  void serve(http::Exchange& exchange, std::span<char> body) override;

 private:
  void refuse_session(http::Exchange& exchange, const rpc::FaultReport& report);

  backend::Upstream& upstream_;
  rpc::EnvelopeParser parser_;  // of all connections
};

// Adds /<name>/ws for each backend, and /ws for the default one; /rpc/ws is the same. The backends
// outlive the router, which outlives the server.
void add_websocket_routes(http::Router& router, const backend::Upstreams& backends);

}  // namespace stdgate::websocket
