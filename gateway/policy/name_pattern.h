// Patterns of names: `*` stands for any characters, none too; all others for themselves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stdgate::policy {

// Takes time in proportion to both lengths, multiplied, at most. Allocates nothing.
bool matches(std::string_view pattern, std::string_view name);
bool matches_any(const std::vector<std::string>& patterns, std::string_view name);

// Whether everybody who reads `name` takes it for the same: no control characters, and of a
// sensible length.
bool is_plain_name(std::string_view name);
// Beside that: no segment that a reader of files leaves out or goes back with ("." and "..", empty
// ones), no backslash, no letter, digit, point or slash spelled with %, and a scheme in lower case
// (RFC 3986 section 6.2.2).
bool is_plain_uri(std::string_view uri);

inline constexpr size_t kMaxPlainName = 8192;

}  // namespace stdgate::policy
