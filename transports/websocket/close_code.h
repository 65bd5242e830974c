// CloseCode: why a WebSocket ends (RFC 6455 section 7.4, and IANA's registry of close codes).
#pragma once

#include <cstdint>

namespace stdgate::websocket {

enum class CloseCode : uint16_t {
  normal = 1000,
  going_away = 1001,
  protocol_error = 1002,
  unsupported_data = 1003,  // not text
  no_status = 1005,         // never on the wire: the close frame had none
  invalid_data = 1007,      // not UTF-8
  policy_violation = 1008,
  too_big = 1009,
  internal_error = 1011,
  try_again_later = 1013,
};

// Whether a peer may send it (section 7.4.2): registered for the wire, or for libraries and
// applications.
constexpr bool is_wire_code(uint16_t code) {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
         (code >= 3000 && code <= 4999);
}

}  // namespace stdgate::websocket
