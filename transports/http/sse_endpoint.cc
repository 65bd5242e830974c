#include "transports/http/sse_endpoint.h"

#include <utility>

#include "transports/http/fault_response.h"
#include "transports/http/json_body.h"
#include "transports/http/mcp_answers.h"
#include "transports/http/media_type.h"
#include "transports/http/url.h"

namespace stdgate {

namespace {

constexpr HttpError kNotStream{406, "send Accept: text/event-stream"};
constexpr HttpError kNoSession{400, "the query parameter session is missing"};
constexpr HttpError kUnknownSession{404, "no such session, or it has ended; open /sse again"};
constexpr HttpError kBusy{503, "too much waits for this session", {}, kDefaultRetry};

}  // namespace

SseEndpoint::SseEndpoint(McpSessions& sessions, const OriginRules& rules, std::string messages_path)
    : sessions_(sessions), rules_(rules), messages_path_(std::move(messages_path)) {}

std::optional<HttpError> SseEndpoint::admit(Exchange& exchange) {
  const RequestHead& head = exchange.head;
  if (!rules_.allows_origin(head, exchange.loopback_listener)) return kBadOrigin;
  if (!rules_.allows_host(head, exchange.loopback_listener)) return kBadHost;
  if (!Acceptance::of(head).takes_event_stream()) return kNotStream;
  return std::nullopt;
}

void SseEndpoint::serve(Exchange& exchange, std::span<char> /*body*/) {
  Responder& client = *exchange.client;
  if (exchange.head_only) {  // asks what it would get, not for a session
    client.begin_stream({.backend = sessions_.backend().id()});
    return client.end_stream(StreamEnd::bare);
  }
  const auto session = sessions_.open(McpSession::Kind::sse);
  if (!session) return refuse_call(exchange, sessions_, session.error(), {});
  exchange.mcp.start(sessions_, **session, client, false);
  exchange.owner = &exchange.mcp;
  (*session)->listen(exchange.mcp);
  (*session)->announce("endpoint", messages_path_ + "?session=" + (*session)->id());
}

MessagesEndpoint::MessagesEndpoint(McpSessions& sessions, const OriginRules& rules)
    : sessions_(sessions), rules_(rules), parser_(sessions.backend().envelope_limits()) {}

std::optional<HttpError> MessagesEndpoint::admit(Exchange& exchange) {
  const RequestHead& head = exchange.head;
  if (!rules_.allows_origin(head, exchange.loopback_listener)) return kBadOrigin;
  if (!rules_.allows_host(head, exchange.loopback_listener)) return kBadHost;
  if (const auto error = check_json_body(head)) return error;
  const auto session = query_parameter(head.query(), "session");
  if (!session) return kNoSession;
  exchange.session_id = *session;
  return std::nullopt;
}

void MessagesEndpoint::serve(Exchange& exchange, std::span<char> body) {
  const auto document = parser_.parse(body);
  if (!document) return refuse_call(exchange, sessions_, report_of(document.error()), {});
  Responder& client = *exchange.client;
  McpSession* session = sessions_.find(exchange.session_id, McpSession::Kind::sse);
  if (session == nullptr) return client.fail(kUnknownSession);
  const auto posted = session->post(*document, context_of(exchange, sessions_), exchange.mcp);
  if (posted == McpSession::Posted::overloaded) return client.fail(kBusy);
  client.respond({.status = 202});
}

void MessagesEndpoint::refuse(Exchange& exchange, Fault fault) {
  FaultReport report;
  report.fault = fault;
  refuse_call(exchange, sessions_, report, {});
}

}  // namespace stdgate
