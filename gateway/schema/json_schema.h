// JsonSchema: a JSON Schema, compiled once, that values are checked against.
//
// Of draft 2020-12 (which one without `$schema` is), 2019-09, 7 and 6. References lead to places
// within the document. Formats and content are said, not checked, as the drafts have it by default.
// Numbers are compared with all their digits, patterns match in linear time. Owner: whoever has a
// schema to check by. Limits: kMaxText, kMaxNodes, kMaxChain; see SchemaCheck for those of a check.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/schema/schema_node.h"

namespace stdgate::schema {

enum class Draft : uint8_t { v6, v7, v2019, v2020 };

class JsonSchema {
 public:
  static constexpr size_t kMaxText = 512 << 10;
  static constexpr size_t kMaxNodes = 20000;
  static constexpr size_t kMaxExpressions = 500;
  // Schemas in a row for the same value: references, alternatives.
  static constexpr size_t kMaxChain = 64;

  // `text` is valid JSON. An error says why it cannot be compiled, for people.
  // `root`: a pointer to the part of the document that is the schema. `draft`: where it names none.
  static tl::expected<JsonSchema, std::string> compile(std::string_view text,
                                                       std::string_view root = {},
                                                       Draft draft = Draft::v2020);

  [[nodiscard]] const CompiledSchema& compiled() const { return *compiled_; }
  [[nodiscard]] std::string_view text() const { return compiled_->text; }
  // About, of all that it holds.
  [[nodiscard]] size_t bytes() const { return bytes_of(*compiled_); }

 private:
  explicit JsonSchema(std::unique_ptr<CompiledSchema> compiled) : compiled_(std::move(compiled)) {}

  std::unique_ptr<const CompiledSchema> compiled_;
};

}  // namespace stdgate::schema
