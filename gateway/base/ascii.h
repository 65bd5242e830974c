// ASCII text, whatever the locale: what protocols compare and trim.
#pragma once

#include <algorithm>
#include <string_view>

namespace stdgate {

constexpr char lower_ascii(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

// `lower` has no capital letters.
constexpr bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(),
                    [](char a, char b) { return lower_ascii(a) == b; });
}

// Without the blanks at both ends.
constexpr std::string_view trim(std::string_view text, std::string_view blanks = " \t") {
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace stdgate
