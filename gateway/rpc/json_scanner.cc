#include "gateway/rpc/json_scanner.h"

#include <simdjson.h>

#include <algorithm>
#include <array>

namespace stdgate::rpc {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_hex(char c) {
  const char lower = static_cast<char>(c | 0x20);
  return is_digit(c) || (lower >= 'a' && lower <= 'f');
}

// Bytes that may follow a backslash, except u.
constexpr std::array<bool, 256> kSimpleEscapes = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("\"\\/bfnrt")) table[static_cast<uint8_t>(c)] = true;
  return table;
}();

}  // namespace

bool valid_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

// Only a few bytes of a compact text, or none, are space.
char* JsonScanner::blank_space(char* at) const {
  for (; at != end_ && static_cast<uint8_t>(*at) <= ' '; ++at) {
    if (*at == '\n' || *at == '\r') {
      *at = ' ';
    } else if (*at != ' ' && *at != '\t') {
      break;
    }
  }
  return at;
}

char* JsonScanner::enter(char* at) {
  if (depth_ == max_depth_) {
    too_deep_ = true;
    return stop(at);
  }
  // In ASCII the closing bracket of '[' and of '{' comes two after it.
  closers_[depth_++] = static_cast<char>(*at + 2);
  return at + 1;
}

char* JsonScanner::scan_value(char* at) {
  const size_t outer_depth = depth_;
  String key;
  for (;;) {
    const char first = peek(at);
    if (first == '{' || first == '[') {
      at = enter(at);
      if (at == nullptr) return nullptr;
      at = skip_space(at);
      if (peek(at) != closer()) {
        if (first == '{') at = scan_key(at, key);
        if (at == nullptr) return nullptr;
        continue;
      }
    } else {
      at = scan_scalar(at);
      if (at == nullptr) return nullptr;
    }
    // Behind a value: what ends here is closed, then a comma is passed and, in an object, a key.
    for (;;) {
      if (depth_ == outer_depth) return at;
      at = skip_space(at);
      if (peek(at) != closer()) break;
      ++at;
      leave();
    }
    at = take(at, ',');
    if (at == nullptr) return nullptr;
    at = skip_space(at);
    if (closer() == '}') at = scan_key(at, key);
    if (at == nullptr) return nullptr;
  }
}

inline char* JsonScanner::scan_scalar(char* at) {
  String string;
  switch (peek(at)) {
    case '"':
      return scan_string(at, string);
    case 't':
      return scan_word(at, "true");
    case 'f':
      return scan_word(at, "false");
    case 'n':
      return scan_word(at, "null");
    default:
      return scan_number(at);
  }
}

char* JsonScanner::scan_word(char* at, std::string_view word) {
  if (!std::string_view(at, static_cast<size_t>(end_ - at)).starts_with(word)) return stop(at);
  return at + word.size();
}

// RFC 8259 section 6. Any magnitude: the text is passed on, not computed with.
char* JsonScanner::scan_number(char* at) {
  if (peek(at) == '-') ++at;
  at = peek(at) == '0' ? at + 1 : scan_digits(at);
  if (at != nullptr && peek(at) == '.') at = scan_digits(at + 1);
  if (at == nullptr || (peek(at) | 0x20) != 'e') return at;
  ++at;
  if (peek(at) == '+' || peek(at) == '-') ++at;
  return scan_digits(at);
}

inline char* JsonScanner::scan_digits(char* at) {
  char* const start = at;
  while (at != end_ && is_digit(*at)) ++at;
  return at == start ? stop(at) : at;
}

// Passes from a backslash to the next byte that is neither text nor escape. A lone surrogate is
// grammatical (RFC 8259 section 8.2), so it is let through.
char* JsonScanner::pass_escapes(char* at) {
  do {
    const auto left = static_cast<size_t>(end_ - at);
    if (left < 2) return stop(at);
    if (kSimpleEscapes[static_cast<uint8_t>(at[1])]) {
      at += 2;
    } else {
      if (left < 6 || at[1] != 'u' || !std::all_of(at + 2, at + 6, is_hex)) return stop(at);
      at += 6;
    }
    at += find_string_special(at, end_, non_ascii_) - at;
  } while (peek(at) == '\\');
  return at;
}

}  // namespace stdgate::rpc
