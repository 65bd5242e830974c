// Short texts: ASCII without regard to the locale, comparing, copying, and parts that are replaced.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace stdgate {

// --- ASCII text, independent of the locale: comparing and trimming for protocols

constexpr char lower_ascii(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

inline std::string to_lower_ascii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = lower_ascii(c);
  return lower;
}

// `lower` has no capital letters.
constexpr bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(),
                    [](char a, char b) { return lower_ascii(a) == b; });
}

// RFC 9110 section 5.6.2: the bytes of header field names.
inline constexpr std::array<bool, 256> kTokenBytes = [] {
  std::array<bool, 256> table{};
  for (size_t c = '0'; c <= '9'; ++c) table[c] = true;
  for (size_t c = 'a'; c <= 'z'; ++c) table[c] = true;
  for (size_t c = 'A'; c <= 'Z'; ++c) table[c] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) table[static_cast<uint8_t>(c)] = true;
  return table;
}();

constexpr bool is_token(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return kTokenBytes[static_cast<uint8_t>(c)]; });
}

// The text without the blanks at both ends.
constexpr std::string_view trim(std::string_view text, std::string_view blanks = " \t") {
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// same_text(): whether a text is a given constant. same_short_text(): whether two texts are equal;
// fast for short ones.
//
// The constant's size is known where this is inlined, so that nothing is called: names of methods
// are compared several times a call.
[[gnu::always_inline]] inline bool same_text(std::string_view text, std::string_view constant) {
  return text.size() == constant.size() &&
         std::memcmp(text.data(), constant.data(), constant.size()) == 0;
}

// Texts of four to eight bytes are compared in place.
inline bool same_short_text(std::string_view one, std::string_view other) {
  const size_t size = one.size();
  if (size != other.size()) return false;
  if (size < sizeof(uint32_t) || size > 2 * sizeof(uint32_t)) return one == other;
  const auto word = [](const char* at) {
    uint32_t bytes = 0;
    std::memcpy(&bytes, at, sizeof bytes);
    return bytes;
  };
  const size_t rest = size - sizeof(uint32_t);
  return word(one.data()) == word(other.data()) &&
         word(one.data() + rest) == word(other.data() + rest);
}

// copy_text(): copies a text to `to`, where there is room for it, and returns the end of the copy.
//
// Most pieces of messages and log lines are so short that a call of memcpy would cost more than the
// copy.
template <size_t kSize>
char* copy_ends(char* to, std::string_view text) {
  std::memcpy(to, text.data(), kSize);
  std::memcpy(to + text.size() - kSize, text.data() + text.size() - kSize, kSize);
  return to + text.size();
}

inline char* copy_text(char* to, std::string_view text) {
  const size_t size = text.size();
  if (size >= 4) {
    if (size < 8) return copy_ends<4>(to, text);
    if (size <= 16) return copy_ends<8>(to, text);
    if (size <= 32) return copy_ends<16>(to, text);
    std::memcpy(to, text.data(), size);
    return to + size;
  }
  if (size >= 2) return copy_ends<2>(to, text);
  if (size == 1) *to = text[0];
  return to + size;
}

// TextPlace: the place of a part of a text. An absent part has length zero.
struct TextPlace {
  size_t offset = 0;
  size_t length = 0;
};

// `part` is a view into `text`; an empty part has no place.
inline TextPlace place_of(std::string_view part, std::string_view text) {
  if (part.empty()) return {};
  return {static_cast<size_t>(part.data() - text.data()), part.size()};
}

// The text before the place, `with`, and the text behind the place.
inline std::array<std::string_view, 3> with_replaced(std::string_view text, TextPlace place,
                                                     std::string_view with) {
  return {text.substr(0, place.offset), with, text.substr(place.offset + place.length)};
}

}  // namespace stdgate
