#include "gateway/rpc/json_scanner.h"

#include <simdjson.h>

#include <algorithm>
#include <array>

namespace stdgate {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_hex(char c) {
  const char lower = static_cast<char>(c | 0x20);
  return is_digit(c) || (lower >= 'a' && lower <= 'f');
}

// What may follow a backslash, \u aside.
constexpr std::array<bool, 256> kSimpleEscapes = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("\"\\/bfnrt")) table[static_cast<uint8_t>(c)] = true;
  return table;
}();

}  // namespace

bool valid_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

bool JsonScanner::enter() {
  if (depth_ == max_depth_) {
    too_deep_ = true;
    return false;
  }
  // In ASCII the closing bracket of '[' and of '{' comes two after it.
  closers_[depth_++] = static_cast<char>(*at_++ + 2);
  return true;
}

bool JsonScanner::leave() {
  if (!take(closers_[depth_ - 1])) return false;
  --depth_;
  return true;
}

bool JsonScanner::scan_value() {
  const size_t outer_depth = depth_;
  for (;;) {
    const char first = peek();
    if (first == '{' || first == '[') {
      if (!enter()) return false;
      skip_space();
      if (peek() != closers_[depth_ - 1]) {
        String key;
        if (first == '{' && !scan_key(key)) return false;
        continue;
      }
    } else {
      if (!scan_scalar()) return false;
      if (depth_ == outer_depth) return true;
      skip_space();
    }
    bool done = false;
    if (!to_next_value(outer_depth, done)) return false;
    if (done) return true;
  }
}

// Behind a value inside of a container: closes what ends here, then passes the comma and, in an
// object, the key. `done` when everything down to `outer_depth` is closed.
bool JsonScanner::to_next_value(size_t outer_depth, bool& done) {
  while (leave()) {
    done = depth_ == outer_depth;
    if (done) return true;
    skip_space();
  }
  if (!take(',')) return false;
  skip_space();
  String key;
  return closers_[depth_ - 1] != '}' || scan_key(key);
}

bool JsonScanner::scan_scalar() {
  String string;
  switch (peek()) {
    case '"':
      return scan_string(string);
    case 't':
      return scan_word("true");
    case 'f':
      return scan_word("false");
    case 'n':
      return scan_word("null");
    default:
      return scan_number();
  }
}

bool JsonScanner::scan_word(std::string_view word) {
  if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(word)) return false;
  at_ += word.size();
  return true;
}

// RFC 8259 section 6. Any magnitude: the text is passed on, not computed with.
bool JsonScanner::scan_number() {
  take('-');
  if (!take('0') && !scan_digits()) return false;
  if (take('.') && !scan_digits()) return false;
  if (!take('e') && !take('E')) return true;
  if (!take('+')) take('-');
  return scan_digits();
}

bool JsonScanner::scan_digits() {
  const char* start = at_;
  while (at_ != end_ && is_digit(*at_)) ++at_;
  return at_ != start;
}

// From a backslash to the next byte that is neither text nor escape. A lone surrogate is
// grammatical (RFC 8259 section 8.2), so it is let through.
bool JsonScanner::pass_escapes() {
  do {
    const auto left = static_cast<size_t>(end_ - at_);
    if (left < 2) return false;
    if (kSimpleEscapes[static_cast<uint8_t>(at_[1])]) {
      at_ += 2;
    } else {
      if (left < 6 || at_[1] != 'u') return false;
      if (!std::all_of(at_ + 2, at_ + 6, is_hex)) return false;
      at_ += 6;
    }
    at_ += find_string_special(at_, end_, non_ascii_) - at_;
  } while (peek() == '\\');
  return true;
}

}  // namespace stdgate
