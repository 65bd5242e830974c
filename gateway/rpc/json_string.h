// JSON strings (RFC 8259 section 7): reading and writing the escapes of one string.
//
// `raw` is always what stands between two quotes of a text that has been validated, `value` a value
// of it.
#pragma once

#include <string>
#include <string_view>

namespace stdgate::rpc {

// Whether `raw`, the inside of a valid string, has half of a pair of surrogates, which stands for
// no character (RFC 8259 section 8.2).
bool has_lone_surrogate(std::string_view raw);
// The string that `raw` stands for, with escapes decoded to UTF-8; a lone surrogate becomes U+FFFD.
// Gives `raw` itself when it has no escapes, else a view of `scratch`.
std::string_view decode_string(std::string_view raw, std::string& scratch);

inline bool has_escapes(std::string_view raw) { return raw.find('\\') != std::string_view::npos; }

// The text between the quotes of a string; empty for any other value.
inline std::string_view string_content(std::string_view value) {
  return !value.empty() && value[0] == '"' ? value.substr(1, value.size() - 2) : std::string_view();
}

// Whether `raw` stands for `decoded`. Allocates nothing.
bool json_string_equals(std::string_view raw, std::string_view decoded);

// Whether `raw` stands for `key`, a word of ASCII, when case is ignored as Unicode does
// (simple case folding), which some readers of JSON do for the keys of objects. Allocates nothing.
bool json_string_resembles(std::string_view raw, std::string_view key);

// The same for all keys that resemble each other, as far as the letters of ASCII say so. `raw`
// resembles `key` if both have the same.
std::string folded_key(std::string_view raw);

// Appends `text` as a JSON string, quotes included, that a terminal may show: see VisibleText. Each
// byte that is no UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace stdgate::rpc
