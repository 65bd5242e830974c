#include "transports/websocket/websocket_endpoint.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "transports/auth/digest.h"
#include "transports/http/acp_endpoint.h"
#include "transports/http/authentication.h"
#include "transports/http/field_value.h"
#include "transports/http/response.h"
#include "transports/http/router.h"
#include "transports/websocket/websocket_connection.h"

namespace stdgate::websocket {

namespace {

using namespace std::string_view_literals;

constexpr std::array kProtocols = {"mcp"sv, "jsonrpc"sv};

constexpr http::HttpError kBadVersion{426,
                                      "send Sec-WebSocket-Version: 13",
                                      {},
                                      {},
                                      "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                                      "Sec-WebSocket-Version: 13\r\n"};
constexpr http::HttpError kBadKey{400, "send one Sec-WebSocket-Key: 16 random bytes in base64"};

constexpr http::HttpError kNoOtherProtocol{
    400, "offer another subprotocol beside the credential, as \"mcp\": it is what is answered"};
constexpr size_t kMaxProtocol = 64;  // bytes of one that is answered and not known

// Over all fields of that name, as a list (RFC 9110 section 5.3).
template <class Visitor>
void for_each_value(const http::RequestHead& head, std::string_view name, Visitor&& visit) {
  for (const http::HeaderField& field : head.fields()) {
    if (equals_ignoring_case(field.name, name)) http::for_each_element(field.value, ',', visit);
  }
}

bool lists(const http::RequestHead& head, std::string_view name, std::string_view wanted) {
  bool found = false;
  for_each_value(head, name, [&](std::string_view value) {
    found = found || equals_ignoring_case(value, wanted);
  });
  return found;
}

// The one field of that name; empty: none, or several.
std::string_view only_value(const http::RequestHead& head, std::string_view name) {
  std::string_view value;
  size_t count = 0;
  for (const http::HeaderField& field : head.fields()) {
    if (!equals_ignoring_case(field.name, name)) continue;
    value = field.value;
    ++count;
  }
  return count == 1 ? value : std::string_view();
}

bool is_base64_digit(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/';
}

// 16 bytes: 22 digits and the padding.
bool is_key(std::string_view key) {
  constexpr size_t kDigits = 22;
  return key.size() == kDigits + 2 && key.ends_with("==") &&
         std::ranges::all_of(key.substr(0, kDigits), is_base64_digit);
}

// Nothing: a credential is offered (http/authentication.h) and nothing else, so that no browser
// would take the answer.
std::optional<std::string_view> choose_protocol(const http::RequestHead& head) {
  std::string_view chosen;
  std::string_view other;
  bool shows_credential = false;
  for_each_value(head, "sec-websocket-protocol", [&](std::string_view offered) {
    const auto* const known = std::ranges::find(kProtocols, offered);
    if (offered.starts_with(http::kBearerProtocol)) {
      shows_credential = true;
    } else if (known != kProtocols.end()) {
      if (chosen.empty()) chosen = *known;
    } else if (other.empty() && offered.size() <= kMaxProtocol && is_token(offered)) {
      other = offered;
    }
  });
  if (!shows_credential) return chosen;
  if (chosen.empty()) chosen = other;
  return chosen.empty() ? std::nullopt : std::optional(chosen);
}

}  // namespace

tl::expected<Handshake, http::HttpError> read_handshake(const http::RequestHead& head) {
  if (head.method() != http::Method::get || !lists(head, "upgrade", "websocket") ||
      !lists(head, "connection", "upgrade")) {
    return tl::unexpected(kNoUpgrade);
  }
  if (only_value(head, "sec-websocket-version") != "13") return tl::unexpected(kBadVersion);
  const std::string_view key = only_value(head, "sec-websocket-key");
  if (!is_key(key)) return tl::unexpected(kBadKey);
  const auto protocol = choose_protocol(head);
  if (!protocol) return tl::unexpected(kNoOtherProtocol);
  return Handshake{key, *protocol};
}

std::string accept_value(std::string_view key) {
  std::string text(key);
  text += "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  return auth::sha1_base64(text);
}

std::string handshake_fields(const Handshake& handshake) {
  std::string fields = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ";
  fields += accept_value(handshake.key);
  fields += "\r\n";
  if (!handshake.protocol.empty()) {
    fields += "Sec-WebSocket-Protocol: ";
    fields += handshake.protocol;
    fields += "\r\n";
  }
  return fields;
}

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
  open(exchange, nullptr, {}, {});
}

void WebSocketEndpoint::open(http::Exchange& exchange, acp::AcpConnections* keeper,
                             const std::string& kept_id, std::string_view fields) {
  auto connection = std::make_unique<WebSocketConnection>(
      exchange.server(), shared_from_this(),
      WebSocketConnection::Route{upstream_, parser_, keeper, kept_id},
      WebSocketConnection::Greeting{exchange.connection_number(), exchange.trace, exchange.identity,
                                    exchange.payer()});
  if (const auto opened = connection->open_session(exchange.client()); !opened) {
    return refuse_session(exchange, opened.error());
  }
  exchange.upgrade(handshake_fields(*read_handshake(exchange.head)).append(fields),
                   std::move(connection));
}

void AcpSocketEndpoint::serve(http::Exchange& exchange, std::span<char> /*body*/) {
  constexpr auto kKind = acp::AcpConnection::Kind::websocket;
  acp::AcpConnection* connection = nullptr;
  if (const http::HeaderField* const id = exchange.head.find(http::kAcpConnectionId)) {
    connection = connections_.find(id->value, kKind, exchange.identity.principal.get());
    if (connection == nullptr) return exchange.fail(http::kUnknownAcpConnection);
  } else {
    const auto opened = connections_.open(kKind, exchange.sender());
    if (!opened) return refuse_session(exchange, opened.error());
    connection = *opened;
  }
  open(exchange, &connections_, connection->id(), http::acp_fields(connection->id()));
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
