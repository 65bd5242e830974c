// The opening handshake of a WebSocket (RFC 6455 section 4.1), client's side. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/remote/web_client.h"

namespace stdgate::websocket {

struct ClientHandshake {
  std::string_view authority;
  std::string_view target;                 // path and query
  std::string_view key;                    // 16 bytes of chance in base64
  std::string_view protocol;               // that is offered; empty: none
  const std::vector<std::string>& fields;  // further ones, "Name: value"
};

std::string handshake_request(const ClientHandshake& handshake);

// A response's head, from its status line to the empty line behind it. Nothing: it is none.
std::optional<remote::WebHead> parse_response_head(std::string_view text);

// Why a response with 101 opens no WebSocket; nothing: it does. A constant phrase.
const char* handshake_problem(const remote::WebHead& head, std::string_view key,
                              std::string_view offered_protocol);

}  // namespace stdgate::websocket
