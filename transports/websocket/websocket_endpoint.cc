#include "transports/websocket/websocket_endpoint.h"

#include <memory>
#include <string>
#include <utility>

#include "transports/http/backend_paths.h"
#include "transports/http/response.h"
#include "transports/websocket/handshake.h"
#include "transports/websocket/websocket_connection.h"

namespace stdgate::websocket {

namespace {

// A page can send a handshake only with new WebSocket(), which adds an Origin (RFC 6455 section
// 4.1).
constexpr http::Guards kGuards{.deliberate_get = false, .takes_tickets = true};

}  // namespace

WebSocketEndpoint::WebSocketEndpoint(backend::Upstream& upstream)
    : Endpoint(upstream.held()), upstream_(upstream), parser_(upstream.envelope_limits()) {}

std::optional<http::HttpError> WebSocketEndpoint::admit(http::Exchange& exchange) {
  const http::RequestHead& head = exchange.head;
  if (!exchange.can_upgrade()) return kNoUpgrade;
  if (const auto handshake = read_handshake(head); !handshake) return handshake.error();
  return std::nullopt;
}

void WebSocketEndpoint::serve(http::Exchange& exchange, std::span<char> /*body*/) {
  auto connection = std::make_unique<WebSocketConnection>(
      exchange.server(), shared_from_this(), WebSocketConnection::Route{upstream_, parser_},
      WebSocketConnection::Greeting{exchange.connection_number(), exchange.trace, exchange.identity,
                                    exchange.payer()});
  if (const auto opened = connection->open_session(exchange.client()); !opened) {
    return refuse_session(exchange, opened.error());
  }
  exchange.upgrade(handshake_fields(*read_handshake(exchange.head)), std::move(connection));
}

void WebSocketEndpoint::refuse_session(http::Exchange& exchange, const rpc::FaultReport& report) {
  http::Response response = http::fault_response(report.fault, report.retry_after);
  response.content_type = http::kJsonType;
  Refusal refusal = Refusal::overloaded;
  if (report.fault == rpc::Fault::rate_limited) refusal = Refusal::rate_limited;
  if (report.fault == rpc::Fault::denied) refusal = Refusal::forbidden;
  response.refusal = {refusal, "no session can be opened"};
  exchange.respond(response, http::fault_body({}, report, upstream_.codes()));
}

void add_websocket_routes(http::Router& router, const backend::Upstreams& backends) {
  http::for_each_backend_path(
      backends, [&](const std::string& prefix, backend::Upstream& upstream) {
        // Some clients expect it next to the path of the POST.
        for (const char* path : {"/ws", "/rpc/ws"}) {
          router.add(prefix + path, "JSON-RPC 2.0 over WebSocket to " + upstream.name(),
                     std::make_unique<WebSocketEndpoint>(upstream), kGuards);
        }
      });
}

}  // namespace stdgate::websocket
