// A part of a text, and texts with other parts. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate::tools {

struct TextSpan {
  size_t begin = 0;
  size_t end = 0;  // behind the last byte

  [[nodiscard]] bool is_empty() const { return begin == end; }
  [[nodiscard]] std::string_view of(std::string_view text) const {
    return text.substr(begin, end - begin);
  }
};

struct TextChange {
  TextSpan span;
  std::string text;  // instead of it
};

// The changes must not overlap; their order is free.
std::string changed_text(std::string_view text, std::vector<TextChange> changes);

}  // namespace stdgate::tools
