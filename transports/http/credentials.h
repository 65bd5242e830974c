// The credentials in a head (RFC 6750 section 2.1, and X-API-Key).
//
// Pure. Credentials in the query are none: they end up in logs and histories. A page can send no
// header field with a WebSocket but the subprotocols that it offers, so its credential may be one
// of them, as Kubernetes has it: "stdgate.bearer." and the credential in base64url.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "transports/auth/authenticator.h"
#include "transports/http/request_head.h"

namespace stdgate::http {

// Bytes of a credential; longer ones are malformed.
inline constexpr size_t kMaxCredential = 16 << 10;

inline constexpr std::string_view kBearerProtocol = "stdgate.bearer.";

// The text of a credential that was shown in base64; overwritten when it goes.
class DecodedCredential {
 public:
  DecodedCredential() = default;
  ~DecodedCredential();
  DecodedCredential(const DecodedCredential&) = delete;
  DecodedCredential& operator=(const DecodedCredential&) = delete;

  std::string text;
};

// Nothing: none is shown; other schemes than Bearer count as none. The error is a sentence for
// people: the head could be read in more than one way, or not at all.
// `decoded` outlives it.
tl::expected<std::optional<auth::Credential>, std::string_view> read_credential(
    const RequestHead& head, DecodedCredential& decoded);

// The ticket that a request shows in its query; nothing: none. The name is found in this spelling
// only.
std::optional<std::string_view> shown_ticket(std::string_view query);

}  // namespace stdgate::http
