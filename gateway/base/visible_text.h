// Visible text: foreign text in a form that is safe on a terminal or in a log.
//
// Escapes control characters (C0, DEL, C1), line and paragraph separators, characters that change
// the direction of text (Unicode TR 36, "bidirectional text spoofing"), the byte order mark, and
// bytes that are no UTF-8. Copies everything else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stdgate {

enum class VisibleText : uint8_t {
  json,    // the inside of a JSON string: quotes and backslashes are escaped; a bad byte is \ufffd
  quoted,  // like json, but a bad byte shows its value: \x9b
  line,    // a message of one line: a line feed is escaped, quotes and backslashes are not
  lines,   // several lines: line feeds are copied
};

// Appends `text`. An escape is at most 6 times as long as the original.
void append_visible(std::string& out, std::string_view text, VisibleText form);

std::string visible(std::string_view text, VisibleText form);

}  // namespace stdgate
