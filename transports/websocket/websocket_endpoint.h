// WebSocketEndpoint, and the opening handshake that it checks.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/acp/acp_connections.h"
#include "gateway/backend/upstream.h"
#include "gateway/rpc/envelope.h"
#include "transports/http/request_head.h"
#include "transports/http/response.h"
#include "transports/http/router.h"

namespace stdgate::websocket {

// The opening handshake of a WebSocket (RFC 6455 section 4.2), server's side. Pure functions; the
// endpoint writes the answer.
struct Handshake {
  std::string_view key;  // of the client, a view into the head
  // The first one offered that is known, else beside a credential any that is offered; empty: none.
  std::string_view protocol;
};

// Where no WebSocket is asked for, or none can be opened.
inline constexpr http::HttpError kNoUpgrade{
    426,
    "open a WebSocket here: GET over HTTP/1.1 with Upgrade: websocket "
    "and Connection: Upgrade",
    {},
    {},
    "Upgrade: websocket\r\nConnection: Upgrade\r\n"};

// The client's wishes; the HTTP error of a request that asks for no WebSocket, or not as the
// section demands. Extensions are ignored: the answer never offers one.
tl::expected<Handshake, http::HttpError> read_handshake(const http::RequestHead& head);

// The value of Sec-WebSocket-Accept (section 4.2.2).
std::string accept_value(std::string_view key);

// The header lines of the 101.
std::string handshake_fields(const Handshake& handshake);

// WebSocketEndpoint: GET /ws of one backend: checks the handshake, opens a session, and hands over
// to a WebSocketConnection. Owner: the router.
class WebSocketEndpoint : public http::Endpoint {
 public:
  explicit WebSocketEndpoint(backend::Upstream& upstream);

  [[nodiscard]] const backend::Upstream* upstream() const override { return &upstream_; }
  [[nodiscard]] Transport transport() const override { return Transport::websocket; }
  std::optional<http::HttpError> admit(http::Exchange& exchange) override;
  void serve(http::Exchange& exchange, std::span<char> body) override;

 protected:
  // `keeper`: of the session with this id; null: the connection has a session of its own.
  // `fields`: more header lines of the 101.
  void open(http::Exchange& exchange, acp::AcpConnections* keeper, const std::string& kept_id,
            std::string_view fields);
  void refuse_session(http::Exchange& exchange, const rpc::FaultReport& report);

 private:
  backend::Upstream& upstream_;
  rpc::EnvelopeParser parser_;  // of all connections
};

// GET /acp with an upgrade (RFD: Streamable HTTP and WebSocket transport). The 101 response has the
// id of the connection, and the client may come back with it. Owner: the endpoint of Streamable
// HTTP.
class AcpSocketEndpoint final : public WebSocketEndpoint {
 public:
  explicit AcpSocketEndpoint(acp::AcpConnections& connections)
      : WebSocketEndpoint(connections.backend()), connections_(connections) {}

  void serve(http::Exchange& exchange, std::span<char> body) override;

 private:
  acp::AcpConnections& connections_;
};

// Adds /<name>/ws for each backend, and /ws for the default one; /rpc/ws is the same. The backends
// outlive the router, which outlives the server.
void add_websocket_routes(http::Router& router, const backend::Upstreams& backends);

}  // namespace stdgate::websocket
