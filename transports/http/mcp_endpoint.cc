#include "transports/http/mcp_endpoint.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gateway/rpc/json_string.h"
#include "transports/http/fault_response.h"
#include "transports/http/json_body.h"
#include "transports/http/mcp_answers.h"
#include "transports/http/media_type.h"
#include "transports/http/server.h"
#include "transports/http/sse_endpoint.h"

namespace stdgate {

namespace {

constexpr HttpError kNotAcceptable{
    406, "send Accept: application/json, text/event-stream; the answer may be either"};
constexpr HttpError kNotStream{406, "send Accept: text/event-stream"};
constexpr HttpError kBadVersion{400,
                                "this MCP-Protocol-Version is not served; 2025-11-25, 2025-06-18, "
                                "2025-03-26 and 2024-11-05 are"};
constexpr HttpError kNoSession{400, "send the Mcp-Session-Id that initialize was answered with"};
constexpr HttpError kUnknownSession{404, "no such session, or it has ended; initialize again"};
constexpr HttpError kInitializedTwice{400, "this session has been initialized"};
constexpr HttpError kNoBatch{400, "this revision of MCP has no batches"};
constexpr HttpError kBatchedInitialize{400, "initialize cannot be part of a batch"};
// Some clients take an error for no answer, and come back for it again and again until they hear
// this.
constexpr HttpError kStreamOver{405, "this stream is over, and nothing followed this event",
                                "GET, POST, DELETE, OPTIONS"};
constexpr HttpError kUnknownEvent{400, "Last-Event-ID names no event of this session"};
constexpr HttpError kLostEvent{410, "what followed this event is no longer kept"};
constexpr HttpError kBusy{503, "too much waits for this session", {}, kDefaultRetry};
constexpr HttpError kDraining{503, "the gateway is shutting down", {}, kDefaultRetry};

bool is_initialize(const ParsedMessage& message) {
  return message.ok() && message.envelope.kind == MessageKind::request &&
         json_string_equals(message.envelope.method, "initialize");
}

bool has_initialize(const Document& document) {
  return std::any_of(document.messages.begin(), document.messages.end(), is_initialize);
}

// A request of the era without sessions, which says its version in its own text (MCP 2026-07-28).
const Envelope* modern_request(const Document& document) {
  for (const ParsedMessage& message : document.messages) {
    if (message.ok() && !modern_version(message.envelope).empty()) return &message.envelope;
  }
  return nullptr;
}

// Whether the client names a revision that this endpoint knows, or none.
bool is_known_version(const RequestHead& head) {
  const HeaderField* version = head.find("mcp-protocol-version");
  return version == nullptr || parse_mcp_revision(version->value).has_value();
}

std::string unsupported_version(const Envelope& request) {
  std::string text = R"({"jsonrpc":"2.0","id":)";
  text += request.id.empty() ? std::string_view("null") : request.id;
  text +=
      R"(,"error":{"code":-32022,"message":"unsupported protocol version","data":{"supported":[)";
  for (const std::string_view revision : kMcpRevisions) {
    text.append(text.back() == '[' ? "\"" : ",\"").append(revision).append("\"");
  }
  text.append(R"(],"requested":)").append(modern_version(request)).append("}}}");
  return text;
}

void respond_json(Responder& client, Response response, std::string_view text) {
  response.content_type = kJsonType;
  response.body = {&text, 1};
  client.respond(response);
}

}  // namespace

McpEndpoint::McpEndpoint(McpSessions& sessions, const OriginRules& rules)
    : sessions_(sessions), rules_(rules), parser_(sessions.backend().envelope_limits()) {}

std::optional<HttpError> McpEndpoint::admit(Exchange& exchange) {
  const RequestHead& head = exchange.head;
  if (!rules_.allows_origin(head, exchange.loopback_listener)) return kBadOrigin;
  if (!rules_.allows_host(head, exchange.loopback_listener)) return kBadHost;
  const Acceptance acceptance = Acceptance::of(head);
  if (head.method() == Method::post) {
    if (const auto error = check_json_body(head)) return error;
    if (!acceptance.takes_json() || !acceptance.takes_event_stream()) return kNotAcceptable;
  } else if (head.method() == Method::get && !acceptance.takes_event_stream()) {
    return kNotStream;
  }
  // A request of the other era says its version in its body too, and is judged there.
  if (head.method() != Method::post && !is_known_version(head)) return kBadVersion;
  exchange.version_known = is_known_version(head);
  if (const HeaderField* session = head.find("mcp-session-id"))
    exchange.session_id = session->value;
  if (const HeaderField* event = head.find("last-event-id")) exchange.last_event_id = event->value;
  return std::nullopt;
}

void McpEndpoint::serve(Exchange& exchange, std::span<char> body) {
  switch (exchange.head.method()) {
    case Method::post:
      return post(exchange, body);
    case Method::del:
      return end(exchange);
    default:
      return listen(exchange);
  }
}

void McpEndpoint::refuse(Exchange& exchange, Fault fault) {
  FaultReport report;
  report.fault = fault;
  refuse_call(exchange, sessions_, report, {});
}

// --- POST -----------------------------------------------------------------------------------

void McpEndpoint::post(Exchange& exchange, std::span<char> body) {
  const auto document = parser_.parse(body);
  if (!document) return refuse_call(exchange, sessions_, report_of(document.error()), {});
  if (const Envelope* modern = modern_request(*document)) {
    return respond_json(*exchange.client, {.status = 400}, unsupported_version(*modern));
  }
  if (!exchange.version_known) return exchange.client->fail(kBadVersion);
  if (!has_initialize(*document)) return post_in_session(exchange, *document);
  if (document->batch) return exchange.client->fail(kBatchedInitialize);
  if (!exchange.session_id.empty()) return exchange.client->fail(kInitializedTwice);
  initialize(exchange, *document);
}

void McpEndpoint::initialize(Exchange& exchange, const Document& document) {
  const auto session = sessions_.open(McpSession::Kind::streamable);
  if (!session) {
    const std::string_view id = document.messages[0].envelope.id;
    return refuse_call(exchange, sessions_, session.error(), id);
  }
  hand_over(exchange, **session, document, true);
}

void McpEndpoint::post_in_session(Exchange& exchange, const Document& document) {
  McpSession* session = session_of(exchange);
  if (session == nullptr) return;
  if (document.batch && !has_batches(session->revision())) return exchange.client->fail(kNoBatch);
  hand_over(exchange, *session, document, false);
}

void McpEndpoint::hand_over(Exchange& exchange, McpSession& session, const Document& document,
                            bool announces) {
  Responder& client = *exchange.client;
  exchange.mcp.start(sessions_, session, client, announces);
  exchange.owner = &exchange.mcp;
  switch (session.post(document, context_of(exchange, sessions_), exchange.mcp)) {
    case McpSession::Posted::under_way:
      return;
    case McpSession::Posted::taken:
      exchange.mcp.forget();
      return client.respond({.status = 202});
    case McpSession::Posted::overloaded:
      exchange.mcp.forget();
      return client.fail(kBusy);
  }
}

McpSession* McpEndpoint::session_of(Exchange& exchange) {
  if (exchange.session_id.empty()) {
    exchange.client->fail(kNoSession);
    return nullptr;
  }
  McpSession* session = sessions_.find(exchange.session_id, McpSession::Kind::streamable);
  if (session == nullptr) exchange.client->fail(kUnknownSession);
  return session;
}

// --- GET and DELETE -------------------------------------------------------------------------

void McpEndpoint::listen(Exchange& exchange) {
  McpSession* session = session_of(exchange);
  if (session == nullptr) return;
  Responder& client = *exchange.client;
  if (client.server().draining()) return client.fail(kDraining);
  exchange.mcp.start(sessions_, *session, client, false);
  exchange.owner = &exchange.mcp;
  if (exchange.last_event_id.empty()) return session->listen(exchange.mcp);
  switch (session->resume(exchange.mcp, exchange.last_event_id)) {
    case McpSession::Resumed::yes:
      return;
    case McpSession::Resumed::over:
      exchange.mcp.forget();
      return client.fail(kStreamOver);
    case McpSession::Resumed::unknown_event:
      exchange.mcp.forget();
      return client.fail(kUnknownEvent);
    case McpSession::Resumed::event_lost:
      exchange.mcp.forget();
      return client.fail(kLostEvent);
  }
}

void McpEndpoint::end(Exchange& exchange) {
  McpSession* session = session_of(exchange);
  if (session == nullptr) return;
  sessions_.close(*session);
  exchange.client->respond({.status = 204});
}

// --- Routes ---------------------------------------------------------------------------------

void add_mcp_routes(Router& router, const std::string& prefix, McpSessions& sessions,
                    const OriginRules& rules) {
  const std::string to = " to " + sessions.backend().name();
  router.add(prefix + "/mcp", "MCP Streamable HTTP" + to,
             std::make_unique<McpEndpoint>(sessions, rules));
  const std::string messages = prefix + "/messages";
  router.add(prefix + "/sse", "MCP over HTTP and SSE (2024-11-05)" + to,
             std::make_unique<SseEndpoint>(sessions, rules, messages));
  router.add(messages, "messages of a session opened at " + prefix + "/sse",
             std::make_unique<MessagesEndpoint>(sessions, rules));
}

}  // namespace stdgate
