// JSON walk: where a string or a value ends, without checking it again.
//
// Of a text that is not valid JSON, or is cut, each function still ends, at the end of the text at
// the latest. [at, end) is what is left of the text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "gateway/rpc/json_scanner.h"

namespace stdgate::rpc {

inline bool is_json_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

inline const char* skip_json_space(const char* at, const char* end) {
  while (at != end && is_json_space(*at)) ++at;
  return at;
}

// Behind the closing quote of the string that opens at `at`.
inline const char* skip_json_string(const char* at, const char* end) {
  ++at;
  uint64_t non_ascii = 0;
  while (at != end) {
    at = find_string_special(at, end, non_ascii);
    if (at == end) break;
    if (*at == '"') return at + 1;
    at += std::min<ptrdiff_t>(*at == '\\' ? 2 : 1, end - at);
  }
  return end;
}

// Behind the value that begins at `at`. A number or a word ends at what separates values; space
// before that belongs to it.
inline const char* skip_json_value(const char* at, const char* end) {
  size_t depth = 0;
  while (at != end) {
    const char c = *at;
    if (c == '"') {
      at = skip_json_string(at, end);
      if (depth == 0) return at;
      continue;
    }
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at;
      if (--depth == 0) return at + 1;
    } else if (c == ',' && depth == 0) {
      return at;
    }
    ++at;
  }
  return at;
}

}  // namespace stdgate::rpc
