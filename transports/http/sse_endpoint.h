// The transport of MCP 2024-11-05 (HTTP with SSE): GET /sse opens a session and streams everything
// that its client hears; the first event says where to POST. It ends with the stream.
#pragma once

#include <string>

#include "gateway/mcp/mcp_sessions.h"
#include "transports/http/endpoint.h"

namespace stdgate::http {

class SseEndpoint final : public Endpoint {
 public:
  // `messages_path`: where MessagesEndpoint is served.
  SseEndpoint(mcp::McpSessions& sessions, std::string messages_path);

  [[nodiscard]] const backend::Upstream* upstream() const override { return &sessions_.backend(); }
  [[nodiscard]] Transport transport() const override { return Transport::sse; }
  std::optional<HttpError> admit(Exchange& exchange) override;
  void serve(Exchange& exchange, std::span<char> body) override;

 private:
  mcp::McpSessions& sessions_;
  const std::string messages_path_;
};

// POST ?session=…: 202 for a message that has been taken; its answer is an event of the stream.
class MessagesEndpoint final : public Endpoint {
 public:
  explicit MessagesEndpoint(mcp::McpSessions& sessions);

  [[nodiscard]] AllowedMethods allowed_methods() const override { return AllowedMethods::post; }
  [[nodiscard]] rpc::CodeSet fault_codes() const override { return sessions_.backend().codes(); }
  [[nodiscard]] const backend::Upstream* upstream() const override { return &sessions_.backend(); }
  [[nodiscard]] bool continues(const RequestHead& head) const override;
  // Their path needs a session in its query.
  [[nodiscard]] bool takes_messages() const override { return false; }
  [[nodiscard]] Transport transport() const override { return Transport::sse; }
  std::optional<HttpError> admit(Exchange& exchange) override;
  void serve(Exchange& exchange, std::span<char> body) override;
  void refuse(Exchange& exchange, const rpc::FaultReport& report) override;

 private:
  mcp::McpSessions& sessions_;
  rpc::EnvelopeParser parser_;
};

}  // namespace stdgate::http
