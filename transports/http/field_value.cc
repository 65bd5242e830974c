#include "transports/http/field_value.h"

#include <charconv>

namespace stdgate {

namespace {

// Section 5.6.2.
constexpr std::array<bool, 256> token_table() {
  std::array<bool, 256> table{};
  for (size_t c = '0'; c <= '9'; ++c) table[c] = true;
  for (size_t c = 'a'; c <= 'z'; ++c) table[c] = true;
  for (size_t c = 'A'; c <= 'Z'; ++c) table[c] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) table[static_cast<uint8_t>(c)] = true;
  return table;
}

constexpr std::array<bool, 256> value_table() {
  std::array<bool, 256> table{};
  for (size_t c = 0x20; c < table.size(); ++c) table[c] = c != 0x7f;
  table['\t'] = true;
  return table;
}

constexpr std::array<bool, 256> kToken = token_table();
constexpr std::array<bool, 256> kValue = value_table();

bool all_in(std::string_view text, const std::array<bool, 256>& table) {
  for (const char c : text) {
    if (!table[static_cast<uint8_t>(c)]) return false;
  }
  return true;
}

bool is_space(char c) { return c == ' ' || c == '\t'; }

}  // namespace

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c) != lower[i]) return false;
  }
  return true;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool is_token(std::string_view text) { return !text.empty() && all_in(text, kToken); }

bool is_field_value(std::string_view text) { return all_in(text, kValue); }

std::optional<uint64_t> parse_digits(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace stdgate
