#include "transports/http/mcp_exchange.h"

#include <utility>

#include "transports/http/response.h"

namespace stdgate::http {

void McpExchange::start(mcp::McpSessions& sessions, const mcp::McpSession& session,
                        Exchange& exchange, bool announces) {
  sessions_ = &sessions;
  session_id_ = session.id();
  exchange_ = &exchange;
  announces_ = announces;
}

// A client that was given the id of a session whose initialization failed would try to end it.
std::string McpExchange::head_fields() const {
  if (!announces_ || sessions_->has_ended(session_id_)) return {};
  return "Mcp-Session-Id: " + session_id_ + "\r\n";
}

void McpExchange::respond(std::span<const std::string_view> json) {
  if (exchange_ == nullptr) return;
  const std::string fields = head_fields();
  Response response;
  response.content_type = kJsonType;
  response.more_fields = fields;
  response.body = json;
  std::exchange(exchange_, nullptr)->respond(response);
}

void McpExchange::respond_scope(std::span<const std::string_view> json, std::string_view scope) {
  if (exchange_ == nullptr) return;
  const std::string fields = exchange_->scope_challenge(scope) + head_fields();
  Response response;
  response.status = rpc::fault_http_status(rpc::Fault::insufficient_scope);
  response.content_type = kJsonType;
  response.more_fields = fields;
  response.body = json;
  std::exchange(exchange_, nullptr)->respond(response);
}

void McpExchange::begin_stream() {
  if (exchange_ == nullptr || exchange_->is_streaming()) return;
  const backend::Upstream& backend = sessions_->backend();
  const std::string fields = head_fields();
  exchange_->begin_stream(
      {.backend = backend.id(),
       .slow_client = backend.owns_children() ? SlowClient::waited_for : SlowClient::dropped,
       .more_fields = fields});
}

void McpExchange::write_event(const session::StreamEvent& event) {
  if (exchange_ == nullptr) return;
  begin_stream();
  exchange_->write_event(event);
}

void McpExchange::end_stream() {
  if (exchange_ == nullptr) return;
  begin_stream();
  std::exchange(exchange_, nullptr)->end_stream(StreamEnd::bare);
}

bool McpExchange::is_backed_up() const { return exchange_ != nullptr && exchange_->is_backed_up(); }

void McpExchange::on_writable() {
  if (exchange_ != nullptr) sessions_->on_sink_writable(session_id_);
}

void McpExchange::on_gone() {
  rpc_.on_gone();
  if (std::exchange(exchange_, nullptr) != nullptr) sessions_->detach(session_id_, *this);
}

void McpExchange::rest() {
  rpc_.rest();
  forget();
}

void McpExchange::leave() {
  rpc_.leave();
  session_id_.clear();
  meta.forget();
}

call::CallContext legacy_context(const Exchange& exchange) {
  call::CallContext context = exchange.call_context();
  context.peer_kind = PeerKind::stateful;
  return context;
}

policy::Client client_of(const Exchange& exchange) {
  return {exchange.client(), exchange.identity.principal, AccountRef(exchange.payer().account)};
}

void refuse_call(Exchange& exchange, mcp::McpSessions& sessions, const rpc::FaultReport& report,
                 std::string_view id) {
  backend::Upstream& backend = sessions.backend();
  backend.count_refused(report, {id, exchange.body_bytes()}, legacy_context(exchange));
  Response response = fault_response(report.fault, report.retry_after);
  response.content_type = kJsonType;
  exchange.respond(response, fault_body(id, report, backend.codes()));
}

}  // namespace stdgate::http
