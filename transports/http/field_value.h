// Header field values as RFC 9110 section 5.6 builds them: tokens, white space, lists. Pure
// functions over views.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gateway/base/ascii.h"

namespace stdgate::http {

// Visible characters, obs-text, space and tab (section 5.5).
bool is_field_value(std::string_view text);

// Digits only, without sign, and within 64 bits.
std::optional<uint64_t> parse_digits(std::string_view text);

// Calls visit(element) for each element of a list cut at `separator`, empty ones included. A
// separator inside of a quoted string does not count (section 5.6.4).
template <class Visitor>
void for_each_element(std::string_view list, char separator, Visitor&& visit) {
  for (;;) {
    size_t end = 0;
    for (bool quoted = false; end < list.size() && (quoted || list[end] != separator); ++end) {
      if (list[end] == '"') quoted = !quoted;
      if (quoted && list[end] == '\\' && end + 1 < list.size()) ++end;
    }
    visit(trim(list.substr(0, end)));
    if (end == list.size()) return;
    list.remove_prefix(end + 1);
  }
}

}  // namespace stdgate::http
