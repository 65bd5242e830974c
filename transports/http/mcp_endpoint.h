// McpEndpoint: MCP Streamable HTTP at /mcp (MCP 2026-07-28 and 2025-11-25, transports; each
// revision back to 2024-11-05). POST takes messages; GET listens or resumes and DELETE ends a
// session, which only the legacy era has. A message that names its version in its body, or should
// as its head does, is of the modern era, and stands alone.
//
// Faults of calls are JSON-RPC errors with status 200, as clients lose the id of a call that is
// answered otherwise. Errors of the request as HTTP, and of a missing session, have their own
// status; their body is a JSON-RPC error too. Owner: the router.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/config/config.h"
#include "gateway/mcp/mcp_params.h"
#include "gateway/mcp/mcp_sessions.h"
#include "gateway/mcp/modern_request.h"
#include "transports/http/router.h"
#include "transports/http/rpc_endpoint.h"
#include "transports/http/session_exchange.h"

namespace stdgate::http {

// McpExchange: one HTTP exchange of MCP: what its head says, and the response to a request of a
// session, or of the modern era. Owner: the Exchange.
class McpExchange final : public SessionExchange {
 public:
  static constexpr char kKind = 0;

  // The contents of the head; kept as long as its judgement.
  struct Head {
    bool version_known = false;
    bool names_modern = false;  // the version of the modern era
    std::string last_event_id;
    mcp::ModernHeaders modern;  // views into the head
    std::string mirrored;       // the fields that repeat arguments
  };
  Head head;
  mcp::MetaMemory meta;  // of the last modern request

  // A request of the modern era is such an exchange.
  [[nodiscard]] RpcExchange& rpc() { return rpc_; }

  // ExchangeHandler
  void on_gone() override;
  void rest() override;
  void leave() override;

 private:
  RpcExchange rpc_;
};

// The transport of MCP 2024-11-05 (HTTP with SSE): GET /sse opens a session and streams everything
// that its client hears; the first event says where to POST. The session ends with the stream.
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

class McpEndpoint final : public Endpoint {
 public:
  // `message_limit`: of a message, in bytes.
  McpEndpoint(mcp::McpSessions& sessions, size_t message_limit);

  [[nodiscard]] AllowedMethods allowed_methods() const override { return AllowedMethods::session; }
  [[nodiscard]] std::optional<rpc::CodeSet> refusal_codes() const override;
  [[nodiscard]] const backend::Upstream* upstream() const override { return &sessions_.backend(); }
  [[nodiscard]] bool continues(const RequestHead& head) const override;
  [[nodiscard]] Transport transport() const override { return Transport::mcp; }
  std::optional<HttpError> admit(Exchange& exchange) override;
  void serve(Exchange& exchange, std::span<char> body) override;
  void refuse(Exchange& exchange, const rpc::FaultReport& report) override;

 private:
  void post(Exchange& exchange, std::span<char> body);
  // `params`: of the only message, a request; null: the document is something else.
  void post_modern(Exchange& exchange, const rpc::Document& document, const mcp::McpParams* params);
  void initialize(Exchange& exchange, const rpc::Document& document, const mcp::McpParams* params);
  void post_in_session(Exchange& exchange, const rpc::Document& document,
                       const mcp::McpParams* params);
  void listen(Exchange& exchange);
  void end(Exchange& exchange);
  // Null: the exchange has been answered with what is wrong.
  mcp::McpSession* session_of(Exchange& exchange, std::string_view request_id);
  void hand_over(Exchange& exchange, mcp::McpSession& session, const rpc::Document& document,
                 const mcp::McpParams* params, bool announces);

  mcp::McpSessions& sessions_;
  const size_t message_limit_;
  rpc::EnvelopeParser parser_;
};

// Adds <prefix>/mcp, and <prefix>/sse with <prefix>/messages. `sessions` outlives the router.
void add_mcp_routes(Router& router, const std::string& prefix, mcp::McpSessions& sessions,
                    const config::LimitsConfig& limits);

}  // namespace stdgate::http
