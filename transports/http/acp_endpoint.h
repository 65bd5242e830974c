// AcpEndpoint: the Agent Client Protocol over Streamable HTTP at /acp (RFD: Streamable HTTP and
// WebSocket transport), and the way to its WebSocket at the same path.
//
// POST takes one message: `initialize` opens a connection and is answered at once, all else with
// 202, and its answer is an event of a stream. GET opens a stream: that of the connection, or of a
// session. DELETE ends the connection. HTTP/1.1 is taken, though the RFD wants HTTP/2. Owner: the
// router.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "gateway/acp/acp_connections.h"
#include "transports/http/router.h"

namespace stdgate::http {

inline constexpr std::string_view kAcpConnectionId = "acp-connection-id";
inline constexpr std::string_view kAcpSessionId = "acp-session-id";
inline constexpr HttpError kUnknownAcpConnection{
    .status = 404,
    .message = "no such connection, or it has ended; initialize again",
    .refusal = Refusal::unknown_session};

// The header lines that tell a client the id of its connection. A named replica adds a cookie by
// which a load balancer finds it again.
std::string acp_fields(std::string_view connection_id);

class AcpEndpoint final : public Endpoint {
 public:
  // `socket`: takes the requests that upgrade. `former`: the endpoint of the backend that a reload
  // has replaced by this one; it serves the connections that it has, as long as it lives.
  AcpEndpoint(acp::AcpConnections& connections, std::shared_ptr<Endpoint> socket,
              std::weak_ptr<Endpoint> former);

  [[nodiscard]] AllowedMethods allowed_methods() const override { return AllowedMethods::session; }
  [[nodiscard]] const backend::Upstream* upstream() const override {
    return &connections_.backend();
  }
  [[nodiscard]] bool continues(const RequestHead& head) const override;
  [[nodiscard]] Transport transport() const override { return Transport::sse; }
  std::optional<HttpError> admit(Exchange& exchange) override;
  void serve(Exchange& exchange, std::span<char> body) override;
  void refuse(Exchange& exchange, const rpc::FaultReport& report) override;

 private:
  void post(Exchange& exchange, std::span<char> body);
  void initialize(Exchange& exchange, const rpc::Envelope& message);
  void post_to(Exchange& exchange, acp::AcpConnection& connection, const rpc::Envelope& message);
  void listen(Exchange& exchange);
  void end(Exchange& exchange);
  void refuse_request(Exchange& exchange, const rpc::FaultReport& report, std::string_view id);
  // Null: the exchange has been answered with what is wrong.
  acp::AcpConnection* connection_of(Exchange& exchange);

  acp::AcpConnections& connections_;
  const std::shared_ptr<Endpoint> socket_;
  const std::weak_ptr<Endpoint> former_;
  rpc::EnvelopeParser parser_;
};

// Adds <prefix>/acp, served by an AcpEndpoint, whose connections outlive the router.
void add_acp_route(Router& router, const std::string& prefix, std::shared_ptr<Endpoint> endpoint);

}  // namespace stdgate::http
