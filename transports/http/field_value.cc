#include "transports/http/field_value.h"

#include <charconv>

namespace stdgate::http {

namespace {

constexpr std::array<bool, 256> value_table() {
  std::array<bool, 256> table{};
  for (size_t c = 0x20; c < table.size(); ++c) table[c] = c != 0x7f;
  table['\t'] = true;
  return table;
}

constexpr std::array<bool, 256> kValue = value_table();

bool all_in(std::string_view text, const std::array<bool, 256>& table) {
  for (const char c : text) {
    if (!table[static_cast<uint8_t>(c)]) return false;
  }
  return true;
}

}  // namespace

bool is_field_value(std::string_view text) { return all_in(text, kValue); }

std::optional<uint64_t> parse_digits(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace stdgate::http
