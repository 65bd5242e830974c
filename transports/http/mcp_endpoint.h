// McpEndpoint: MCP Streamable HTTP at /mcp (MCP 2025-11-25, transports; each revision back to
// 2024-11-05). POST takes messages, GET listens or resumes, DELETE ends a session.
//
// Faults of calls are JSON-RPC errors with status 200, as clients lose the id of a call that is
// answered otherwise; a status of its own has what concerns the request as HTTP, or no session.
#pragma once

#include <string>

#include "gateway/config/config.h"
#include "gateway/mcp/mcp_sessions.h"
#include "transports/http/endpoint.h"
#include "transports/http/origin_rules.h"
#include "transports/http/router.h"

namespace stdgate {

class McpEndpoint final : public Endpoint {
 public:
  McpEndpoint(McpSessions& sessions, const OriginRules& rules);

  [[nodiscard]] Access access() const override { return Access::session; }
  std::optional<HttpError> admit(Exchange& exchange) override;
  void serve(Exchange& exchange, std::span<char> body) override;
  void refuse(Exchange& exchange, Fault fault) override;

 private:
  void post(Exchange& exchange, std::span<char> body);
  void initialize(Exchange& exchange, const Document& document);
  void post_in_session(Exchange& exchange, const Document& document);
  void listen(Exchange& exchange);
  void end(Exchange& exchange);
  // Null: the exchange has been answered with what is wrong.
  McpSession* session_of(Exchange& exchange);
  void hand_over(Exchange& exchange, McpSession& session, const Document& document, bool announces);

  McpSessions& sessions_;
  const OriginRules& rules_;
  EnvelopeParser parser_;
};

// Adds <prefix>/mcp, and <prefix>/sse with <prefix>/messages. `sessions` and `rules` outlive the
// router.
void add_mcp_routes(Router& router, const std::string& prefix, McpSessions& sessions,
                    const OriginRules& rules);

}  // namespace stdgate
