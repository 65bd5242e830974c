#include "transports/http/acp_endpoint.h"

#include <charconv>
#include <utility>

#include "gateway/base/text.h"
#include "gateway/rpc/json_text.h"
#include "transports/http/field_value.h"
#include "transports/http/request_head.h"
#include "transports/http/response.h"
#include "transports/http/server.h"
#include "transports/http/session_exchange.h"

namespace stdgate::http {

namespace {

constexpr HttpError kNoConnection{400,
                                  "send the Acp-Connection-Id that initialize was answered with"};
constexpr HttpError kInitializedAgain{400, "this connection has been initialized"};
constexpr HttpError kNoBatches{501, "ACP has no batches; send one message at a time"};
constexpr HttpError kNoSessionId{400, "this message is of a session: send its Acp-Session-Id"};
constexpr HttpError kOtherSessionId{400, "Acp-Session-Id and sessionId name different sessions"};
constexpr HttpError kUnknownAcpSession{.status = 404,
                                       .message = "this connection has no such session",
                                       .refusal = Refusal::unknown_session};
constexpr HttpError kFull{503, "the queue of this connection is full", {}, rpc::kRetryHint};
constexpr HttpError kBadEvent{400, "Last-Event-ID is no id of an event here"};
constexpr HttpError kShutDown{503, "the gateway is shutting down", {}, rpc::kRetryHint};
// GET wants the id of a connection, or an upgrade, and no page can send either unasked.
constexpr Guards kAcpGuards{.deliberate_get = false, .takes_tickets = true};

std::string_view field_of(const RequestHead& head, std::string_view name) {
  const HeaderField* const field = head.find(name);
  return field == nullptr ? std::string_view() : field->value;
}

bool wants_upgrade(const RequestHead& head) {
  bool wants = false;
  for_each_element(field_of(head, "upgrade"), ',', [&](std::string_view protocol) {
    wants = wants || equals_ignoring_case(protocol, "websocket");
  });
  return wants;
}

bool is_greeting(const rpc::Envelope& message) {
  return message.kind == rpc::MessageKind::request &&
         rpc::json_string_equals(message.method, "initialize");
}

}  // namespace

std::string acp_fields(std::string_view connection_id) {
  std::string fields = "Acp-Connection-Id: ";
  fields.append(connection_id).append("\r\n");
  const size_t dot = connection_id.find('.');
  if (dot == std::string_view::npos) return fields;
  fields.append("Set-Cookie: stdgate-replica=").append(connection_id.substr(0, dot));
  return fields.append("; Path=/; HttpOnly; SameSite=Lax\r\n");
}

// --- The endpoint ---------------------------------------------------------------------------

AcpEndpoint::AcpEndpoint(acp::AcpConnections& connections, std::shared_ptr<Endpoint> socket,
                         std::weak_ptr<Endpoint> former)
    : Endpoint(connections.backend().held()),
      connections_(connections),
      socket_(std::move(socket)),
      former_(std::move(former)),
      parser_(connections.backend().envelope_limits()) {}

bool AcpEndpoint::continues(const RequestHead& head) const {
  if (connections_.has(field_of(head, kAcpConnectionId))) return true;
  const std::shared_ptr<Endpoint> former = former_.lock();
  return former != nullptr && former->continues(head);
}

std::optional<HttpError> AcpEndpoint::admit(Exchange& exchange) {
  const RequestHead& head = exchange.head;
  if (head.is_ambiguous()) return kAmbiguous;
  exchange.session_id = field_of(head, kAcpConnectionId);
  if (head.method() == Method::post) return check_json_body(head);
  if (head.method() == Method::get && wants_upgrade(head)) return socket_->admit(exchange);
  if (head.method() == Method::get && !Acceptance::of(head).takes_event_stream()) {
    return kNotStream;
  }
  if (field_of(head, kAcpConnectionId).empty()) return kNoConnection;
  return std::nullopt;
}

void AcpEndpoint::serve(Exchange& exchange, std::span<char> body) {
  const std::shared_ptr<Endpoint> former = former_.lock();
  if (former != nullptr && former->continues(exchange.head)) return former->serve(exchange, body);
  switch (exchange.head.method()) {
    case Method::post:
      return post(exchange, body);
    case Method::del:
      return end(exchange);
    default:
      return wants_upgrade(exchange.head) ? socket_->serve(exchange, body) : listen(exchange);
  }
}

void AcpEndpoint::refuse(Exchange& exchange, const rpc::FaultReport& report) {
  refuse_request(exchange, report, {});
}

void AcpEndpoint::refuse_request(Exchange& exchange, const rpc::FaultReport& report,
                                 std::string_view id) {
  refuse_call(exchange, connections_.backend(), report, id, exchange.call_context());
}

acp::AcpConnection* AcpEndpoint::connection_of(Exchange& exchange) {
  const std::string_view id = field_of(exchange.head, kAcpConnectionId);
  if (id.empty()) {
    exchange.fail(kNoConnection);
    return nullptr;
  }
  acp::AcpConnection* const found =
      connections_.find(id, acp::AcpConnection::Kind::http, exchange.identity.principal.get());
  if (found == nullptr) exchange.fail(kUnknownAcpConnection);
  return found;
}

void AcpEndpoint::post(Exchange& exchange, std::span<char> body) {
  const auto document = parser_.parse(body);
  if (!document) return refuse_request(exchange, rpc::report_of(document.error()), {});
  if (document->batch) return exchange.fail(kNoBatches);
  const rpc::ParsedMessage& message = document->messages[0];
  if (!message.ok()) {
    return refuse_request(exchange,
                          rpc::faults::because(rpc::Fault::invalid_request, message.rejection),
                          message.envelope.id);
  }
  const bool names_connection = !field_of(exchange.head, kAcpConnectionId).empty();
  if (!is_greeting(message.envelope)) {
    acp::AcpConnection* const connection = connection_of(exchange);
    if (connection != nullptr) post_to(exchange, *connection, message.envelope);
  } else if (names_connection) {
    exchange.fail(kInitializedAgain);
  } else {
    initialize(exchange, message.envelope);
  }
}

void AcpEndpoint::initialize(Exchange& exchange, const rpc::Envelope& message) {
  const auto opened = connections_.open(acp::AcpConnection::Kind::http, exchange.sender());
  if (!opened) return refuse_request(exchange, opened.error(), message.id);
  auto& handler = exchange.handler<SessionExchange>();
  const std::string& id = (*opened)->id();
  handler.start({.sessions = connections_,
                 .id = id,
                 .backend = connections_.backend(),
                 .fields = acp_fields(id)},
                exchange);
  using Posted = acp::AcpConnection::Posted;
  if ((*opened)->post(message, {}, exchange.call_context(), handler) == Posted::under_way) return;
  handler.forget();
  connections_.close(**opened);
  exchange.fail(kFull);
}

void AcpEndpoint::post_to(Exchange& exchange, acp::AcpConnection& connection,
                          const rpc::Envelope& message) {
  auto& handler = exchange.handler<SessionExchange>();
  const std::string_view session = field_of(exchange.head, kAcpSessionId);
  switch (connection.post(message, session, exchange.call_context(), handler)) {
    case acp::AcpConnection::Posted::under_way:
    case acp::AcpConnection::Posted::taken:
      return exchange.respond({.status = 202});
    case acp::AcpConnection::Posted::overloaded:
      return exchange.fail(kFull);
    case acp::AcpConnection::Posted::lacks_session:
      return exchange.fail(kNoSessionId);
    case acp::AcpConnection::Posted::other_session:
      return exchange.fail(kOtherSessionId);
  }
}

void AcpEndpoint::listen(Exchange& exchange) {
  acp::AcpConnection* const connection = connection_of(exchange);
  if (connection == nullptr) return;
  if (exchange.server().draining()) return exchange.fail(kShutDown);
  const std::string_view session = field_of(exchange.head, kAcpSessionId);
  if (!session.empty() && !connection->has_session(session))
    return exchange.fail(kUnknownAcpSession);
  std::optional<uint64_t> after;
  if (const std::string_view event = field_of(exchange.head, "last-event-id"); !event.empty()) {
    uint64_t number = 0;
    const char* const end = event.data() + event.size();
    const auto [rest, error] = std::from_chars(event.data(), end, number);
    if (error != std::errc() || rest != end) return exchange.fail(kBadEvent);
    after = number;
  }
  auto& handler = exchange.handler<SessionExchange>();
  handler.start(
      {.sessions = connections_, .id = connection->id(), .backend = connections_.backend()},
      exchange);
  connection->listen(handler, session, after);
}

void AcpEndpoint::end(Exchange& exchange) {
  acp::AcpConnection* const connection = connection_of(exchange);
  if (connection == nullptr) return;
  connections_.close(*connection);
  exchange.respond({.status = 202});
}

void add_acp_route(Router& router, const std::string& prefix, std::shared_ptr<Endpoint> endpoint) {
  const std::string about = "Agent Client Protocol to " + endpoint->upstream()->name();
  router.add(prefix + "/acp", about, std::move(endpoint), kAcpGuards);
}

}  // namespace stdgate::http
