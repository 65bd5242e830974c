// JSON with comments and commas at ends, as a tree with the places of its values. Pure. Limit:
// kMaxSettingsDepth of nesting.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/tools/text_span.h"

namespace stdgate::tools {

struct JsonPlace {
  TextSpan value;
  std::vector<TextSpan> key_spans;  // of an object, quotes included
  std::vector<std::string> keys;    // decoded, each for the value at its place
  std::vector<JsonPlace> values;
  bool is_object = false;

  // Null: it has no such key, or is no object.
  [[nodiscard]] const JsonPlace* find(std::string_view key) const;
};

// The error names the line.
tl::expected<JsonPlace, std::string> json_places(std::string_view text);

}  // namespace stdgate::tools
