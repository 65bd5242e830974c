#include "transports/http/sse_endpoint.h"

#include <utility>

#include "transports/http/mcp_exchange.h"
#include "transports/http/media_type.h"
#include "transports/http/response.h"
#include "transports/http/url.h"

namespace stdgate::http {

namespace {

constexpr HttpError kNoSession{400, "the query parameter session is missing"};
constexpr HttpError kUnknownSession{.status = 404,
                                    .message = "no such session, or it has ended; open /sse again",
                                    .refusal = Refusal::unknown_session};
constexpr HttpError kBusy{503, "the queue of this session is full", {}, rpc::kRetryHint};

}  // namespace

SseEndpoint::SseEndpoint(mcp::McpSessions& sessions, std::string messages_path)
    : Endpoint(sessions.backend().held()),
      sessions_(sessions),
      messages_path_(std::move(messages_path)) {}

std::optional<HttpError> SseEndpoint::admit(Exchange& exchange) {
  const RequestHead& head = exchange.head;
  if (!Acceptance::of(head).takes_event_stream()) return kNotStream;
  return std::nullopt;
}

void SseEndpoint::serve(Exchange& exchange, std::span<char> /*body*/) {
  if (exchange.is_head_request()) {  // asks what it would get, not for a session
    exchange.begin_stream({.backend = sessions_.backend().id()});
    return exchange.end_stream(StreamEnd::bare);
  }
  const auto session = sessions_.open(mcp::McpSession::Kind::sse, client_of(exchange));
  if (!session) return refuse_call(exchange, sessions_, session.error(), {});
  auto& handler = exchange.handler<McpExchange>();
  handler.start(sessions_, **session, exchange, false);
  (*session)->listen(handler);
  (*session)->announce("endpoint", messages_path_ + "?session=" + (*session)->id());
}

MessagesEndpoint::MessagesEndpoint(mcp::McpSessions& sessions)
    : Endpoint(sessions.backend().held()),
      sessions_(sessions),
      parser_(sessions.backend().envelope_limits()) {}

bool MessagesEndpoint::continues(const RequestHead& head) const {
  const auto session = query_parameter(head.query(), "session");
  return session && sessions_.has(*session);
}

std::optional<HttpError> MessagesEndpoint::admit(Exchange& exchange) {
  const RequestHead& head = exchange.head;
  if (const auto error = check_json_body(head)) return error;
  const auto session = query_parameter(head.query(), "session");
  if (!session) return kNoSession;
  exchange.session_id = *session;
  return std::nullopt;
}

void MessagesEndpoint::serve(Exchange& exchange, std::span<char> body) {
  const auto document = parser_.parse(body);
  if (!document) return refuse_call(exchange, sessions_, rpc::report_of(document.error()), {});
  mcp::McpSession* session = sessions_.find(exchange.session_id, mcp::McpSession::Kind::sse,
                                            exchange.identity.principal.get());
  if (session == nullptr) return exchange.fail(kUnknownSession);
  const auto posted =
      session->post(*document, legacy_context(exchange), exchange.handler<McpExchange>());
  if (posted == mcp::McpSession::Posted::overloaded) return exchange.fail(kBusy);
  exchange.respond({.status = 202});
}

void MessagesEndpoint::refuse(Exchange& exchange, const rpc::FaultReport& report) {
  refuse_call(exchange, sessions_, report, {});
}

}  // namespace stdgate::http
