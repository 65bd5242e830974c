// The opening handshake of a WebSocket (RFC 6455 section 4.2), server's side. Pure functions; the
// endpoint writes the answer.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "transports/http/request_head.h"
#include "transports/http/response.h"

namespace stdgate::websocket {

struct Handshake {
  std::string_view key;  // of the client, a view into the head
  // The first one offered that is known, else beside a credential any that is offered; empty: none.
  std::string_view protocol;
};

// Where no WebSocket is asked for, or none can be opened.
inline constexpr http::HttpError kNoUpgrade{
    426,
    "open a WebSocket here: GET over HTTP/1.1 with Upgrade: websocket "
    "and Connection: Upgrade",
    {},
    {},
    "Upgrade: websocket\r\nConnection: Upgrade\r\n"};

// What the client asks for; the HTTP error of a request that asks for no WebSocket, or not as the
// section demands. Extensions are ignored: the answer never offers one.
tl::expected<Handshake, http::HttpError> read_handshake(const http::RequestHead& head);

// The value of Sec-WebSocket-Accept (section 4.2.2).
std::string accept_value(std::string_view key);

// The header lines of the 101.
std::string handshake_fields(const Handshake& handshake);

}  // namespace stdgate::websocket
