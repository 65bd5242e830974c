#include "transports/http/mcp_exchange.h"

#include <utility>

namespace stdgate::http {

void McpExchange::start(mcp::McpSessions& sessions, const mcp::McpSession& session,
                        Responder& client, bool announces) {
  sessions_ = &sessions;
  session_id_ = session.id();
  client_ = &client;
  streaming_ = false;
  announces_ = announces;
}

// A client that was given the id of a session whose initialization failed would try to end it.
std::string McpExchange::head_fields() const {
  if (!announces_ || sessions_->has_ended(session_id_)) return {};
  return "Mcp-Session-Id: " + session_id_ + "\r\n";
}

void McpExchange::respond(std::span<const std::string_view> json) {
  if (client_ == nullptr) return;
  const std::string fields = head_fields();
  Response response;
  response.content_type = kJsonType;
  response.more_fields = fields;
  response.body = json;
  std::exchange(client_, nullptr)->respond(response);
}

void McpExchange::respond_scope(std::span<const std::string_view> json, std::string_view scope) {
  if (client_ == nullptr) return;
  const std::string fields = client_->scope_challenge(scope) + head_fields();
  Response response;
  response.status = rpc::fault_http_status(rpc::Fault::insufficient_scope);
  response.content_type = kJsonType;
  response.more_fields = fields;
  response.body = json;
  std::exchange(client_, nullptr)->respond(response);
}

void McpExchange::begin_stream() {
  if (client_ == nullptr || std::exchange(streaming_, true)) return;
  const backend::Upstream& backend = sessions_->backend();
  const std::string fields = head_fields();
  client_->begin_stream(
      {.backend = backend.id(),
       .slow_client = backend.owns_children() ? SlowClient::waited_for : SlowClient::dropped,
       .more_fields = fields});
}

void McpExchange::write_event(const session::StreamEvent& event) {
  if (client_ == nullptr) return;
  begin_stream();
  client_->write_event(event);
}

void McpExchange::end_stream() {
  if (client_ == nullptr) return;
  begin_stream();
  std::exchange(client_, nullptr)->end_stream(StreamEnd::bare);
}

bool McpExchange::is_backed_up() const { return client_ != nullptr && client_->is_backed_up(); }

void McpExchange::on_writable() { sessions_->on_sink_writable(session_id_); }

void McpExchange::on_gone() {
  if (std::exchange(client_, nullptr) != nullptr) sessions_->detach(session_id_, *this);
}

}  // namespace stdgate::http
