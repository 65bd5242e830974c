// Base64 (RFC 4648), strict: each text has one meaning and each meaning one text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stdgate {

// Section 4 is the alphabet of `openssl rand -base64`; section 5 fits into URLs and header fields.
enum class Base64Alphabet : unsigned char { standard, url };

// With the alphabet for URLs, without padding.
std::string encode_base64url(std::string_view bytes);

// Accepts no padding. Nothing if a character is not in the alphabet, the length is impossible, or
// bits beyond the last byte are set.
std::optional<std::string> decode_base64(std::string_view text, Base64Alphabet alphabet);

}  // namespace stdgate
