// McpExchange: one HTTP exchange of an MCP session: the response that a stream of the session has.
//
// Owner: the Exchange. Knows the session by its id; detaches from it when the client goes.
#pragma once

#include <string>
#include <string_view>

#include "gateway/mcp/mcp_sessions.h"
#include "transports/http/responder.h"

namespace stdgate::http {

class McpExchange final : public session::EventSink, public ExchangeOwner {
 public:
  // From here on the session may use the response. `announces`: its head names the session, unless
  // the session has not begun by then (2025-11-25, transports: session management).
  void start(mcp::McpSessions& sessions, const mcp::McpSession& session, Responder& client,
             bool announces);
  // The session has not taken it after all.
  void forget() { client_ = nullptr; }

  // EventSink
  void respond(std::span<const std::string_view> json) override;
  void respond_scope(std::span<const std::string_view> json, std::string_view scope) override;
  void begin_stream() override;
  void write_event(const session::StreamEvent& event) override;
  void end_stream() override;
  [[nodiscard]] bool is_backed_up() const override;
  // ExchangeOwner
  void on_writable() override;
  void on_gone() override;

 private:
  // Header lines of the response.
  [[nodiscard]] std::string head_fields() const;

  mcp::McpSessions* sessions_ = nullptr;
  Responder* client_ = nullptr;  // null: over
  std::string session_id_;
  bool announces_ = false;
  bool streaming_ = false;
};

}  // namespace stdgate::http
