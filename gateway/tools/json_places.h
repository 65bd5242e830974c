// JSON with comments and commas at ends: as a tree with the places of its values, and as plain
// JSON. Pure. Limit: kMaxSettingsDepth of nesting.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace stdgate::tools {

// A part of a text, and texts with other parts. Pure.
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

struct JsonPlace {
  TextSpan value;
  std::vector<TextSpan> key_spans;  // of an object, quotes included
  std::vector<std::string> keys;    // decoded, each for the value at its place
  std::vector<JsonPlace> values;
  bool is_object = false;

  // Null: it has no such key, or is no object.
  [[nodiscard]] const JsonPlace* find(std::string_view key) const;
};

// Errors name the line.
tl::expected<JsonPlace, std::string> json_places(std::string_view text);
// Without comments, and without commas before closing brackets.
tl::expected<std::string, std::string> plain_json(std::string_view text);

}  // namespace stdgate::tools
