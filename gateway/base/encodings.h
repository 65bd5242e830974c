// Encodings of texts and bytes: UTF-8, what a terminal may show, and Base64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stdgate {

// --- UTF-8: where a sequence ends, cuts that do not split one, and foreign text made visible

// U+FEFF, which some editors put at the front of a file.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// The size of the well-formed sequence at the front of `text`, which is not empty. 0: there is none
// (Unicode standard, table 3-7).
size_t utf8_sequence_size(std::string_view text);

// Number of bytes at the end of `text` that begin a sequence without completing it; 0 to 3.
size_t incomplete_utf8_tail(std::string_view text);

// The first `limit` bytes of `text`, or up to 3 fewer, so that no sequence is split.
std::string_view cut_utf8(std::string_view text, size_t limit);

// Visible text: foreign text in a form that is safe on a terminal or in a log.
//
// Escapes control characters (C0, DEL, C1), line and paragraph separators, characters that change
// the direction of text (Unicode TR 36, "bidirectional text spoofing"), the byte order mark, and
// bytes that are no UTF-8. Copies everything else.
enum class VisibleText : uint8_t {
  json,    // the inside of a JSON string: quotes and backslashes are escaped; a bad byte is \ufffd
  quoted,  // like json, but a bad byte shows its value: \x9b
  line,    // a message of one line: a line feed is escaped, quotes and backslashes are not
  lines,   // several lines: line feeds are copied
};

// Appends `text`. An escape is at most 6 times as long as the original.
void append_visible(std::string& out, std::string_view text, VisibleText form);

std::string visible(std::string_view text, VisibleText form);

// --- Base64 (RFC 4648), strict: each text has one meaning and each meaning one text

// Section 4 is the alphabet of `openssl rand -base64`; section 5 fits into URLs and header fields.
enum class Base64Alphabet : unsigned char { standard, url };

// With the alphabet for URLs, without padding.
std::string encode_base64url(std::string_view bytes);

// Accepts no padding. Nothing if a character is not in the alphabet, the length is impossible, or
// bits beyond the last byte are set.
std::optional<std::string> decode_base64(std::string_view text, Base64Alphabet alphabet);

}  // namespace stdgate
