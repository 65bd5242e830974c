// JsonScanner: checks that bytes are JSON (RFC 8259) and says where each value ends.
//
// Job: one pass, no recursion, no allocation, no tree. Raw CR and LF between tokens become spaces.
// Owner: on the stack of whoever parses one text; the text and the memory for the nesting are the
// caller's and outlive it.
// Limits: containers nest as deep as the nesting memory has bytes.
// UTF-8 is not checked here byte by byte: has_non_ascii() says whether valid_utf8() is to be asked
// about the whole text (outside of strings such bytes are a syntax error anyway).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>

#include <bit>
#endif

namespace stdgate {

// The first byte of [at, end) that a JSON string cannot hold as it is: a quote, a backslash or a
// control byte; `end` when there is none. `non_ascii` becomes nonzero when a byte above 0x7f was
// seen on the way; it may have been a few bytes behind the answer.
inline const char* find_string_special(const char* at, const char* end, uint64_t& non_ascii) {
#if defined(__SSE2__)
  const __m128i quotes = _mm_set1_epi8('"');
  const __m128i backslashes = _mm_set1_epi8('\\');
  const __m128i last_control = _mm_set1_epi8(0x1f);
  while (end - at >= 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    non_ascii |= static_cast<uint32_t>(_mm_movemask_epi8(block));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(block, last_control), block);
    const __m128i special = _mm_or_si128(
        control, _mm_or_si128(_mm_cmpeq_epi8(block, quotes), _mm_cmpeq_epi8(block, backslashes)));
    const auto found = static_cast<uint32_t>(_mm_movemask_epi8(special));
    if (found != 0) return at + std::countr_zero(found);
    at += 16;
  }
#endif
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHighBits = 0x8080808080808080;
  while (end - at >= 8) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    const uint64_t quote = word ^ (kOnes * '"');
    const uint64_t backslash = word ^ (kOnes * '\\');
    // The high bit of each byte that is zero or, for control bytes, below 0x20. A borrow can set
    // it wrongly, but only above a byte where it is right.
    const uint64_t special = (((quote - kOnes) & ~quote) | ((backslash - kOnes) & ~backslash) |
                              ((word - kOnes * 0x20) & ~word)) &
                             kHighBits;
    non_ascii |= word & kHighBits;
    if (special != 0) break;
    at += 8;
  }
  for (; at != end; ++at) {
    const auto byte = static_cast<uint8_t>(*at);
    if (byte < 0x20 || byte == '"' || byte == '\\') break;
    non_ascii |= byte & 0x80u;
  }
  return at;
}

// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
bool valid_utf8(std::string_view text);

// JSON-RPC 2.0 section 4: a string, a number or null. `raw` is a valid JSON value.
inline bool is_id_value(std::string_view raw) {
  const char first = raw.empty() ? '\0' : raw[0];
  return first == '"' || first == '-' || (first >= '0' && first <= '9') || first == 'n';
}

class JsonScanner {
 public:
  struct String {
    std::string_view raw;  // between the quotes
    bool escapes = false;
  };

  JsonScanner(std::span<char> text, std::span<char> nesting)
      : begin_(text.data()),
        at_(text.data()),
        end_(text.data() + text.size()),
        closers_(nesting.data()),
        max_depth_(nesting.size()) {}

  [[nodiscard]] bool at_end() const { return at_ == end_; }
  // The next byte, NUL at the end: no JSON token starts with NUL.
  [[nodiscard]] char peek() const { return at_ == end_ ? '\0' : *at_; }
  [[nodiscard]] const char* position() const { return at_; }
  [[nodiscard]] size_t offset() const { return static_cast<size_t>(at_ - begin_); }
  [[nodiscard]] std::string_view since(const char* start) const {
    return {start, static_cast<size_t>(at_ - start)};
  }
  // Why the last scan failed: nesting over the limit, otherwise syntax.
  [[nodiscard]] bool too_deep() const { return too_deep_; }
  [[nodiscard]] bool has_non_ascii() const { return non_ascii_ != 0; }

  void skip_space() {
    while (at_ != end_ && static_cast<uint8_t>(*at_) <= ' ') {
      if (*at_ == '\n' || *at_ == '\r') {
        *at_ = ' ';
      } else if (*at_ != ' ' && *at_ != '\t') {
        return;
      }
      ++at_;
    }
  }
  bool take(char expected) {
    if (peek() != expected) return false;
    ++at_;
    return true;
  }

  // Each stands at the first byte of its subject, and behind it afterwards; false: not JSON, or
  // too deep. enter() takes an opening bracket, leave() the closing one that belongs to it.
  bool enter();
  bool leave();
  bool scan_value();
  bool scan_string(String& string) {
    if (!take('"')) return false;
    const char* start = at_;
    at_ += find_string_special(at_, end_, non_ascii_) - at_;
    string.escapes = peek() == '\\';
    if (string.escapes && !pass_escapes()) return false;
    string.raw = since(start);
    return take('"');
  }
  // A member's key, the colon behind it and the space around.
  bool scan_key(String& key) {
    if (!scan_string(key)) return false;
    skip_space();
    if (!take(':')) return false;
    skip_space();
    return true;
  }

 private:
  bool scan_scalar();
  bool scan_number();
  bool scan_digits();
  bool scan_word(std::string_view word);
  bool pass_escapes();
  bool to_next_value(size_t outer_depth, bool& done);

  char* const begin_;
  char* at_;
  char* const end_;
  char* const closers_;  // the closing bracket due at each depth
  const size_t max_depth_;
  size_t depth_ = 0;
  uint64_t non_ascii_ = 0;
  bool too_deep_ = false;
};

}  // namespace stdgate
