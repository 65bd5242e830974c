// Canonical JSON (RFC 8785): the one spelling of a value, for digests and comparisons.
//
// Members are sorted by UTF-16 code units, strings have no needless escapes, numbers are written as
// ECMAScript does. A number that a double cannot hold keeps its digits, so that no change is
// overlooked. Owner: none; pure. Limits: the text itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stdgate::schema {

// `text` is valid JSON. Nothing: a key is there twice, or a string has half of a pair of
// surrogates, so that there is no one value; or it has too many values.
std::optional<std::string> canonical_json(std::string_view text);

// Whether a text is JSON (RFC 8259) in UTF-8, no deeper than kMaxJsonDepth.
inline constexpr size_t kMaxJsonDepth = 200;
bool is_json(std::string text);

}  // namespace stdgate::schema
