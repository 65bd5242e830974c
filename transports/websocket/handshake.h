// The opening handshake of a WebSocket (RFC 6455 section 4.2), server's side. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "transports/http/request_head.h"
#include "transports/http/response.h"

namespace stdgate {

struct Handshake {
  std::string_view key;       // of the client, a view into the head
  std::string_view protocol;  // a constant: the first one offered that is known; empty: none
};

// What a client asks for, or the answer to a request that asks for no WebSocket or not rightly so.
// Extensions are not looked at, as none is offered back.
tl::expected<Handshake, HttpError> read_handshake(const RequestHead& head);

// Section 4.2.2: what proves that the key was read.
std::string accept_value(std::string_view key);

// The header lines of the 101.
std::string handshake_fields(const Handshake& handshake);

}  // namespace stdgate
