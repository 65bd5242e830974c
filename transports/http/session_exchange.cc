#include "transports/http/session_exchange.h"

#include <utility>

#include "transports/http/response.h"

namespace stdgate::http {

void SessionExchange::start(const Source& source, Exchange& exchange) {
  sessions_ = &source.sessions;
  session_id_ = source.id;
  backend_ = &source.backend;
  if (fields_.size() + source.fields.size() > 0) fields_ = source.fields;
  exchange_ = &exchange;
}

// A client that was told of a session whose initialization failed would try to end it.
std::string_view SessionExchange::head_fields() const {
  return fields_.empty() || sessions_->has_ended(session_id_) ? std::string_view() : fields_;
}

void SessionExchange::respond(std::span<const std::string_view> json) {
  if (exchange_ == nullptr) return;
  Response response;
  response.content_type = kJsonType;
  response.more_fields = head_fields();
  response.body = json;
  std::exchange(exchange_, nullptr)->respond(response);
}

void SessionExchange::respond_scope(std::span<const std::string_view> json,
                                    std::string_view scope) {
  if (exchange_ == nullptr) return;
  const std::string fields = exchange_->scope_challenge(scope).append(head_fields());
  Response response;
  response.status = rpc::fault_http_status(rpc::Fault::insufficient_scope);
  response.content_type = kJsonType;
  response.more_fields = fields;
  response.body = json;
  std::exchange(exchange_, nullptr)->respond(response);
}

void SessionExchange::begin_stream() {
  if (exchange_ == nullptr || exchange_->is_streaming()) return;
  // Children that many clients share are not held for one of them.
  exchange_->begin_stream(
      {.backend = backend_->id(),
       .slow_client = backend_->owns_children() ? SlowClient::waited_for : SlowClient::dropped,
       .more_fields = head_fields()});
}

void SessionExchange::write_event(const session::StreamEvent& event) {
  if (exchange_ == nullptr) return;
  begin_stream();
  exchange_->write_event(event);
}

void SessionExchange::end_stream() {
  if (exchange_ == nullptr) return;
  begin_stream();
  std::exchange(exchange_, nullptr)->end_stream(StreamEnd::bare);
}

bool SessionExchange::is_backed_up() const {
  return exchange_ != nullptr && exchange_->is_backed_up();
}

void SessionExchange::on_writable() {
  if (exchange_ != nullptr) sessions_->on_sink_writable(session_id_);
}

void SessionExchange::on_gone() {
  if (std::exchange(exchange_, nullptr) != nullptr) sessions_->detach(session_id_, *this);
}

void SessionExchange::leave() {
  session_id_.clear();
  fields_.clear();
}

void refuse_call(Exchange& exchange, backend::Upstream& backend, const rpc::FaultReport& report,
                 std::string_view id, const call::CallContext& context) {
  backend.count_refused(report, {id, exchange.body_bytes()}, context);
  Response response = fault_response(report.fault, report.retry_after);
  response.content_type = kJsonType;
  exchange.respond(response, fault_body(id, report, backend.codes()));
}

}  // namespace stdgate::http
