// Signatures of requests (RFC 9421): what a head says was signed, and whether that is enough.
//
// Pure. A signature suffices if it covers @method; @target-uri, or @path and any @query;
// content-digest if there is a body; and if it has created, keyid and nonce. One signature, in one
// field.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "transports/auth/authenticator.h"
#include "transports/http/request_head.h"
#include "transports/http/structured_field.h"

namespace stdgate::http {

inline constexpr size_t kMaxNonce = 256;  // bytes

struct SignatureError {
  bool is_malformed = false;  // else it could be read, and is not enough
  std::string_view message;   // a constant, for people
};

// Nothing: the request is not signed. `origin`: scheme and authority that clients use, and what
// they have in front of the paths here.
tl::expected<std::optional<auth::MessageSignature>, SignatureError> read_signature(
    const RequestHead& head, std::string_view origin);

// The signature base (section 2.5) of the signature that `input` describes.
tl::expected<std::string, SignatureError> signature_base(const DictionaryMember& input,
                                                         const RequestHead& head,
                                                         std::string_view origin);

// Whether `body` is what Content-Digest says (RFC 9530), by all digests that are known here and at
// least one. Without that field: whether it is empty.
bool is_digest_right(const RequestHead& head, std::span<const char> body);

}  // namespace stdgate::http
