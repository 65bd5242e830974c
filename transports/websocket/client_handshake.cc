#include "transports/websocket/client_handshake.h"

#include <charconv>

#include "gateway/base/ascii.h"
#include "transports/websocket/websocket_endpoint.h"

namespace stdgate::websocket {

std::string handshake_request(const ClientHandshake& handshake) {
  std::string text = "GET ";
  text.append(handshake.target.empty() ? std::string_view("/") : handshake.target);
  text.append(" HTTP/1.1\r\nHost: ").append(handshake.authority);
  text.append("\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13");
  text.append("\r\nSec-WebSocket-Key: ").append(handshake.key);
  if (!handshake.protocol.empty()) {
    text.append("\r\nSec-WebSocket-Protocol: ").append(handshake.protocol);
  }
  for (const std::string& field : handshake.fields) text.append("\r\n").append(field);
  return text.append("\r\n\r\n");
}

std::optional<remote::WebHead> parse_response_head(std::string_view text) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  remote::WebHead head;
  if (!text.starts_with(kVersion)) return std::nullopt;
  const char* const digits = text.data() + kVersion.size();
  const auto [end, error] = std::from_chars(digits, text.data() + text.size(), head.status);
  if (error != std::errc() || end != digits + 3) return std::nullopt;
  text.remove_prefix(std::min(text.find("\r\n"), text.size()));
  while (text.starts_with("\r\n") && text.size() > 2) {
    text.remove_prefix(2);
    const std::string_view line = text.substr(0, text.find("\r\n"));
    text.remove_prefix(line.size());
    if (line.empty()) continue;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return std::nullopt;
    head.fields.emplace_back(to_lower_ascii(line.substr(0, colon)), trim(line.substr(colon + 1)));
  }
  return head;
}

const char* handshake_problem(const remote::WebHead& head, std::string_view key,
                              std::string_view offered_protocol) {
  if (!equals_ignoring_case(head.find("upgrade"), "websocket"))
    return "it upgrades to another protocol";
  if (head.find("sec-websocket-accept") != accept_value(key))
    return "Sec-WebSocket-Accept is wrong";
  if (!head.find("sec-websocket-extensions").empty())
    return "it has extensions that nobody offered";
  const std::string_view protocol = head.find("sec-websocket-protocol");
  if (!protocol.empty() && protocol != offered_protocol)
    return "it speaks a subprotocol that nobody offered";
  return nullptr;
}

}  // namespace stdgate::websocket
