#include "transports/websocket/websocket_endpoint.h"

#include <memory>
#include <string>
#include <utility>

#include "transports/http/backend_paths.h"
#include "transports/http/fault_response.h"
#include "transports/websocket/handshake.h"
#include "transports/websocket/websocket_connection.h"

namespace stdgate {

WebSocketEndpoint::WebSocketEndpoint(Backend& backend, const OriginRules& rules)
    : backend_(backend), rules_(rules), parser_(backend.envelope_limits()) {}

std::optional<HttpError> WebSocketEndpoint::admit(Exchange& exchange) {
  const RequestHead& head = exchange.head;
  if (!rules_.allows_origin(head, exchange.loopback_listener)) return kBadOrigin;
  if (!rules_.allows_host(head, exchange.loopback_listener)) return kBadHost;
  if (const auto handshake = read_handshake(head); !handshake) return handshake.error();
  return std::nullopt;
}

void WebSocketEndpoint::serve(Exchange& exchange, std::span<char> /*body*/) {
  Responder& client = *exchange.client;
  auto connection = std::make_unique<WebSocketConnection>(
      client.server(), WebSocketConnection::Route{backend_, parser_}, client.connection_number(),
      exchange.trace_id);
  if (const auto opened = connection->open_session(); !opened) {
    return refuse_session(client, opened.error());
  }
  client.upgrade(handshake_fields(*read_handshake(exchange.head)), std::move(connection));
}

void WebSocketEndpoint::refuse_session(Responder& client, const FaultReport& report) {
  std::string text;
  append_fault_response(text, {}, report, backend_.codes(), false);
  const std::string_view body = text;
  Response response = fault_response(report.fault, report.retry_after);
  response.content_type = kJsonType;
  response.body = {&body, 1};
  client.respond(response);
}

void add_websocket_routes(Router& router, const BackendSet& backends, const OriginRules& rules) {
  for_each_backend_path(backends, [&](const std::string& prefix, Backend& backend) {
    router.add(prefix + "/ws", "JSON-RPC 2.0 over WebSocket to " + backend.name(),
               std::make_unique<WebSocketEndpoint>(backend, rules));
  });
}

}  // namespace stdgate
