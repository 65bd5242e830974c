// sha1_base64: what the opening handshake of a WebSocket asks for (RFC 6455 section 4.2.2). No
// protection of anything.
#pragma once

#include <string>
#include <string_view>

namespace stdgate::tls {

// The SHA-1 of `text`, in base64 with padding.
std::string sha1_base64(std::string_view text);

}  // namespace stdgate::tls
