// JsonNode: a value of a JSON or TOML text, with its content and the places where it stands.
//
// JSON may have comments, and commas before closing brackets. TOML: what settings of clients use of
// TOML 1.0 (tables, dotted and quoted keys, arrays, inline tables, all kinds of strings); its
// numbers, dates and the like become the texts that they are written as. A byte order mark is
// passed over. Owner: the function that reads the text. Pure. Limits of nesting: kMaxJsonDepth,
// kMaxTomlDepth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace stdgate::tools {

inline constexpr size_t kMaxJsonDepth = 1024;
inline constexpr size_t kMaxTomlDepth = 32;

// A part of a text.
struct TextSpan {
  size_t begin = 0;
  size_t end = 0;  // behind the last byte

  [[nodiscard]] bool is_empty() const { return begin == end; }
  [[nodiscard]] std::string_view of(std::string_view text) const {
    return text.substr(begin, end - begin);
  }
};

struct JsonNode {
  enum class Kind : uint8_t { object, array, scalar };
  Kind kind = Kind::object;
  std::vector<std::string> keys;  // of an object, decoded, each for the item at its place
  std::vector<JsonNode> items;    // of an array or an object, in their order
  std::string scalar;             // as JSON

  TextSpan value;                 // empty: a TOML table of headers or dotted keys
  TextSpan pair;                  // of an object's item: from the first key to the value's end
  std::vector<TextSpan> headers;  // of a TOML table: "[a.b]"

  // Null: it has no such key, or is no object.
  [[nodiscard]] const JsonNode* find(std::string_view key) const;
  JsonNode* find(std::string_view key);
  // The decoded text of a string; nothing: the node is no string.
  [[nodiscard]] std::optional<std::string> text() const;
  // A number or a boolean as it is written; nothing: the node is neither.
  [[nodiscard]] std::optional<std::string> literal() const;
  [[nodiscard]] std::string json() const;

  // The value of the item with this key. Empty, false or 0: no such item, or one of another kind.
  [[nodiscard]] std::string text_at(std::string_view key) const;
  [[nodiscard]] bool is_true(std::string_view key) const;
  [[nodiscard]] double number_at(std::string_view key) const;
  [[nodiscard]] const std::vector<JsonNode>& list_at(std::string_view key) const;
};

// Errors are sentences, with the line if that is known.
tl::expected<JsonNode, std::string> read_json(std::string_view text,
                                              size_t max_depth = kMaxJsonDepth);
tl::expected<JsonNode, std::string> read_toml(std::string_view text);

}  // namespace stdgate::tools
