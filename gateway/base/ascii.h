// ASCII text, independent of the locale: comparing and trimming for protocols.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stdgate {

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

}  // namespace stdgate
