// TOML: what settings of clients use of TOML 1.0 (tables, dotted and quoted keys, arrays, inline
// tables, all kinds of strings), as JSON, or as a tree with the places of its values. Numbers,
// dates and the like become the texts that they are written as. Pure. Limit: kMaxTomlDepth of
// nesting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/tools/json_places.h"

namespace stdgate::tools {

inline constexpr size_t kMaxTomlDepth = 32;

struct TomlNode {
  enum class Kind : uint8_t { table, array, scalar };
  Kind kind = Kind::table;
  std::vector<std::string> keys;  // of a table, each for the item at its place
  std::vector<TomlNode> items;    // of an array or a table, in their order
  std::string json;               // of a scalar

  TextSpan value;                 // of a value; empty: a table of headers or dotted keys
  TextSpan pair;                  // from the first key to the value's end
  std::vector<TextSpan> headers;  // "[a.b]"

  // Null: the table has no such key.
  TomlNode* find(std::string_view key);
  [[nodiscard]] const TomlNode* find(std::string_view key) const;
};

// The error names the line.
tl::expected<TomlNode, std::string> read_toml(std::string_view text);
tl::expected<std::string, std::string> toml_as_json(std::string_view text);

}  // namespace stdgate::tools
