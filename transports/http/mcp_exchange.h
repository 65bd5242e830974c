// McpExchange: one HTTP exchange of MCP: what its head says, and the response that a stream of a
// session has, or a request of the modern era. With it the answers that need neither.
//
// Owner: the Exchange. Knows the session by its id; detaches from it when the client goes.
#pragma once

#include <string>
#include <string_view>

#include "gateway/mcp/mcp_sessions.h"
#include "gateway/mcp/modern_request.h"
#include "transports/http/rpc_endpoint.h"

namespace stdgate::http {

class McpExchange final : public session::EventSink, public ExchangeHandler {
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

  // From here on the session may use the response. `announces`: its head names the session,
  // unless the session has not begun by then (2025-11-25, transports: session management).
  void start(mcp::McpSessions& sessions, const mcp::McpSession& session, Exchange& exchange,
             bool announces);
  // The session has not taken it after all.
  void forget() { exchange_ = nullptr; }
  // A request of the modern era is such an exchange.
  [[nodiscard]] RpcExchange& rpc() { return rpc_; }

  // EventSink
  void respond(std::span<const std::string_view> json) override;
  void respond_scope(std::span<const std::string_view> json, std::string_view scope) override;
  void begin_stream() override;
  void write_event(const session::StreamEvent& event) override;
  void end_stream() override;
  [[nodiscard]] bool is_backed_up() const override;
  // ExchangeHandler
  void on_writable() override;
  void on_gone() override;
  void rest() override;
  void leave() override;

 private:
  // Header lines of the response.
  [[nodiscard]] std::string head_fields() const;

  RpcExchange rpc_;
  mcp::McpSessions* sessions_ = nullptr;
  Exchange* exchange_ = nullptr;  // of a session; null: over
  std::string session_id_;
  bool announces_ = false;
};

// The context of a message of the legacy era in this exchange.
call::CallContext legacy_context(const Exchange& exchange);

// The sender of the request.
policy::Client client_of(const Exchange& exchange);

// A fault as JSON-RPC, with the HTTP status of the fault. `id` is raw JSON, or empty for null.
void refuse_call(Exchange& exchange, mcp::McpSessions& sessions, const rpc::FaultReport& report,
                 std::string_view id);

}  // namespace stdgate::http
