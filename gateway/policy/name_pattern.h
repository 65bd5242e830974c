// Patterns of names: `*` stands for any characters, none too; all others for themselves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stdgate::policy {

// Takes time in proportion to both lengths, multiplied, at most. Allocates nothing.
bool matches(std::string_view pattern, std::string_view name);
bool matches_any(const std::vector<std::string>& patterns, std::string_view name);

// Whether all readers take `name` for the same name: it has no control characters and a sensible
// length.
bool is_plain_name(std::string_view name);
// Whether it is also a URI in normal form: no segment ".", ".." or empty, no backslash, no letter,
// digit, point or slash spelled with %, and a scheme in lower case (RFC 3986 section 6.2.2).
bool is_plain_uri(std::string_view uri);

inline constexpr size_t kMaxPlainName = 8192;

}  // namespace stdgate::policy
