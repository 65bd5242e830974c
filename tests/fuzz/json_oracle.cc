#include "tests/fuzz/json_oracle.h"

#include <simdjson.h>

#include <algorithm>
#include <regex>
#include <string>

namespace stdgate::test {
namespace {

// Cuts a text into strings, words that look like numbers, and single bytes, without checking them.
template <class OnString, class OnNumber, class OnByte>
void cut(std::string_view text, OnString on_string, OnNumber on_number, OnByte on_byte) {
  while (!text.empty()) {
    size_t size = 1;
    if (text[0] == '"') {
      while (size < text.size() && text[size] != '"') size += text[size] == '\\' ? 2 : 1;
      size = std::min(size + 1, text.size());
      on_string(text.substr(0, size));
    } else if (text[0] == '-' || (text[0] >= '0' && text[0] <= '9')) {
      size = std::min(text.find_first_not_of("0123456789+-.eE"), text.size());
      on_number(text.substr(0, size));
    } else {
      on_byte(text[0]);
    }
    text.remove_prefix(size);
  }
}

bool is_hex(char c) {
  return std::string_view("0123456789abcdefABCDEF").find(c) != std::string::npos;
}

// Replaces \uD800 to \uDFFF in a string.
std::string without_surrogates(std::string_view string) {
  std::string out(string);
  for (size_t at = 0; at + 1 < out.size(); ++at) {
    if (out[at] != '\\') continue;
    const bool surrogate =
        out.size() - at >= 6 && out[at + 1] == 'u' && (out[at + 2] | 0x20) == 'd' &&
        std::string_view("89abcdefABCDEF").find(out[at + 3]) != std::string::npos;
    if (surrogate && is_hex(out[at + 4]) && is_hex(out[at + 5])) out.replace(at, 6, "\\u0041");
    ++at;
  }
  return out;
}

bool is_number(std::string_view word) {
  static const std::regex kGrammar(R"(-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?)");
  // Shortens long runs of digits, because the regular expression recurses for each digit. The
  // number of digits does not affect the result.
  std::string shortened;
  for (size_t i = 0; i < word.size(); ++i) {
    const bool tenth_digit = i >= 10 && std::all_of(&word[i - 10], &word[i] + 1,
                                                    [](char c) { return c >= '0' && c <= '9'; });
    if (!tenth_digit) shortened += word[i];
  }
  return std::regex_match(shortened, kGrammar);
}

}  // namespace

bool oracle_accepts(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) return false;  // newer simdjson accepts a byte order mark
  std::string shown;
  cut(
      text, [&](std::string_view string) { shown += without_surrogates(string); },
      [&](std::string_view word) { shown += is_number(word) ? "0" : word; },
      [&](char byte) { shown += byte; });
  simdjson::dom::parser parser;
  if (parser.allocate(std::max<size_t>(shown.size(), 64), deepest_nesting(text) + 2)) return false;
  return parser.parse(shown).error() == simdjson::SUCCESS;
}

size_t deepest_nesting(std::string_view text) {
  size_t depth = 0;
  size_t deepest = 0;
  cut(
      text, [](std::string_view) {}, [](std::string_view) {},
      [&](char byte) {
        if (byte == '{' || byte == '[') deepest = std::max(deepest, ++depth);
        if ((byte == '}' || byte == ']') && depth > 0) --depth;
      });
  return deepest;
}

}  // namespace stdgate::test
