// JsonScanner: checks that bytes are JSON (RFC 8259) and says where each value ends.
//
// Job: one pass, no recursion, no allocation, no tree. Raw CR and LF between tokens become spaces.
// Its functions take the position of a value's first byte and return the position after its last
// byte, or null if there is no such value, so that the position stays in a register.
// Owner: the function that parses one text. The text and the memory for the nesting belong to the
// caller and outlive the scanner.
// Limits: containers nest as deep as the nesting memory has bytes.
// UTF-8 is not checked here byte by byte: has_non_ascii() says whether valid_utf8() is to be asked
// about the whole text (outside of strings such bytes are a syntax error anyway).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace stdgate::rpc {

// The first byte of [at, end) that a JSON string cannot hold as it is: a quote, a backslash or a
// control byte; `end` if no byte is. `non_ascii` becomes nonzero when a byte above 0x7f was seen on
// the way; it may have been a few bytes behind the answer.
inline const char* find_string_special(const char* at, const char* end, uint64_t& non_ascii) {
#if defined(__SSE2__)
  if (end - at >= 16) {
    const __m128i quotes = _mm_set1_epi8('"');
    const __m128i backslashes = _mm_set1_epi8('\\');
    const __m128i last_control = _mm_set1_epi8(0x1f);
    for (;;) {
      const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
      non_ascii |= static_cast<uint32_t>(_mm_movemask_epi8(block));
      const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(block, last_control), block);
      const __m128i special = _mm_or_si128(
          control, _mm_or_si128(_mm_cmpeq_epi8(block, quotes), _mm_cmpeq_epi8(block, backslashes)));
      const auto found = static_cast<uint32_t>(_mm_movemask_epi8(special));
      if (found != 0) return at + std::countr_zero(found);
      at += 16;
      if (end - at >= 16) continue;
      if (at == end) return end;
      at = end - 16;  // overlaps the block before, which has nothing special
    }
  }
#endif
  if constexpr (std::endian::native == std::endian::little) {
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
      if (special != 0) return at + std::countr_zero(special) / 8;
      at += 8;
    }
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
  // A string as the text spells it.
  struct String {
    std::string_view raw;  // between the quotes
    bool escapes = false;
  };

  JsonScanner(std::span<char> text, std::span<char> nesting)
      : begin_(text.data()),
        end_(text.data() + text.size()),
        closers_(nesting.data()),
        max_depth_(nesting.size()) {}

  [[nodiscard]] char* begin() const { return begin_; }
  [[nodiscard]] char* end() const { return end_; }
  [[nodiscard]] std::string_view rest(const char* at) const {
    return {at, static_cast<size_t>(end_ - at)};
  }
  // The byte at a position, NUL at the end: no JSON token starts with NUL.
  [[nodiscard]] char peek(const char* at) const { return at == end_ ? '\0' : *at; }

  // Why the last scan failed, nesting over the limit or else syntax; and where it stopped.
  [[nodiscard]] bool too_deep() const { return too_deep_; }
  [[nodiscard]] size_t stopped_at() const { return static_cast<size_t>(stopped_ - begin_); }
  char* stop(char* at) {
    stopped_ = at;
    return nullptr;
  }

  [[nodiscard]] bool has_non_ascii() const { return non_ascii_ != 0; }

  // Never null: there may be no space.
  [[nodiscard]] char* skip_space(char* at) const {
    return at == end_ || static_cast<uint8_t>(*at) > ' ' ? at : blank_space(at);
  }
  char* take(char* at, char expected) { return peek(at) == expected ? at + 1 : stop(at); }

  // Consumes an opening bracket; closer() is its match until leave().
  char* enter(char* at);
  [[nodiscard]] char closer() const { return closers_[depth_ - 1]; }
  void leave() { --depth_; }
  [[nodiscard]] size_t depth() const { return depth_; }
  void leave_to(size_t depth) { depth_ = depth; }

  char* scan_value(char* at);
  // A value that begins with a digit or a minus sign.
  char* scan_number(char* at);
  char* scan_string(char* at, String& string) {
    if (peek(at) != '"') return stop(at);
    char* const start = ++at;
    uint64_t non_ascii = 0;
    at += find_string_special(at, end_, non_ascii) - at;
    non_ascii_ |= non_ascii;
    string.escapes = peek(at) == '\\';
    if (string.escapes) at = pass_escapes(at);
    if (at == nullptr) return nullptr;
    string.raw = {start, static_cast<size_t>(at - start)};
    return take(at, '"');
  }
  // A member's key, the colon behind it and the space around.
  char* scan_key(char* at, String& key) {
    at = scan_string(at, key);
    if (at == nullptr) return nullptr;
    at = take(skip_space(at), ':');
    return at == nullptr ? nullptr : skip_space(at);
  }

 private:
  char* blank_space(char* at) const;
  char* scan_scalar(char* at);
  char* scan_digits(char* at);
  char* scan_word(char* at, std::string_view word);
  char* pass_escapes(char* at);

  char* const begin_;
  char* const end_;
  char* const closers_;  // the closing bracket due at each depth
  const size_t max_depth_;
  size_t depth_ = 0;
  char* stopped_ = nullptr;
  uint64_t non_ascii_ = 0;
  bool too_deep_ = false;
};

}  // namespace stdgate::rpc
