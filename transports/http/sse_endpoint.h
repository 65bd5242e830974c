// The transport of MCP 2024-11-05 (HTTP with SSE): GET /sse opens a session and streams everything
// that its client hears; the first event says where to POST. It ends with the stream.
#pragma once

#include <string>

#include "gateway/mcp/mcp_sessions.h"
#include "transports/http/endpoint.h"
#include "transports/http/origin_rules.h"

namespace stdgate {

class SseEndpoint final : public Endpoint {
 public:
  // `messages_path`: where MessagesEndpoint is served.
  SseEndpoint(McpSessions& sessions, const OriginRules& rules, std::string messages_path);

  std::optional<HttpError> admit(Exchange& exchange) override;
  void serve(Exchange& exchange, std::span<char> body) override;

 private:
  McpSessions& sessions_;
  const OriginRules& rules_;
  const std::string messages_path_;
};

// POST ?session=…: 202 for a message that has been taken; its answer is an event of the stream.
class MessagesEndpoint final : public Endpoint {
 public:
  MessagesEndpoint(McpSessions& sessions, const OriginRules& rules);

  [[nodiscard]] Access access() const override { return Access::post; }
  std::optional<HttpError> admit(Exchange& exchange) override;
  void serve(Exchange& exchange, std::span<char> body) override;
  void refuse(Exchange& exchange, Fault fault) override;

 private:
  McpSessions& sessions_;
  const OriginRules& rules_;
  EnvelopeParser parser_;
};

}  // namespace stdgate
