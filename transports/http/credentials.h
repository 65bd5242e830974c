// What a head shows of its sender (RFC 6750 section 2.1, and X-API-Key).
//
// Pure. Credentials in the query are none: they end up in logs and histories.
#pragma once

#include <optional>
#include <string_view>
#include <tl/expected.hpp>

#include "transports/auth/authenticator.h"
#include "transports/http/request_head.h"

namespace stdgate::http {

// Bytes of a credential; longer ones are malformed.
inline constexpr size_t kMaxCredential = 16 << 10;

// Nothing: none is shown; other schemes than Bearer count as none. The error is a sentence for
// people: the head could be read in more than one way, or not at all.
tl::expected<std::optional<auth::Credential>, std::string_view> read_credential(
    const RequestHead& head);

}  // namespace stdgate::http
