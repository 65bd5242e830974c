// JsonSchema: a JSON Schema, compiled once. KeyLookalikes: keys that resemble keys that it
// declares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/schema/schema_node.h"

namespace stdgate::schema {

// The drafts of JSON Schema that are known.
enum class Draft : uint8_t { v6, v7, v2019, v2020 };

// JsonSchema: a JSON Schema, compiled once, that values are checked against.
//
// Drafts 2020-12, 2019-09, 7 and 6; a schema without `$schema` has draft 2020-12. References lead
// to places within the document. `format` and `content…` are annotations and not checked, which is
// the default of the drafts. Numbers are compared with all their digits, patterns match in linear
// time. Owner: the code that checks values. Limits: kMaxText, kMaxNodes, kMaxExpressions,
// kMaxPrograms, kMaxChain; SchemaCheck has the limits of a check.
class JsonSchema {
 public:
  static constexpr size_t kMaxText = 512 << 10;
  static constexpr size_t kMaxNodes = 20000;
  static constexpr size_t kMaxExpressions = 500;
  static constexpr size_t kMaxPrograms = 50'000;  // RE2 instructions of all patterns
  // Schemas that apply to the same value one after another, by references and alternatives.
  static constexpr size_t kMaxChain = 64;

  // `text` is valid JSON. The error says for people why the schema cannot be compiled.
  // `root`: a pointer to the part of the document that is the schema. `draft`: the draft of a
  // schema without `$schema`. `steps`, if not null, grows by what it has cost, also where it fails:
  // one for 16 bytes of text, and one for each instruction of a pattern (about 2 us).
  static tl::expected<JsonSchema, std::string> compile(std::string_view text,
                                                       std::string_view root = {},
                                                       Draft draft = Draft::v2020,
                                                       size_t* steps = nullptr);

  [[nodiscard]] const CompiledSchema& compiled() const { return *compiled_; }
  [[nodiscard]] std::string_view text() const { return compiled_->text; }
  // An estimate of the memory of the schema.
  [[nodiscard]] size_t bytes() const { return bytes_of(*compiled_); }

 private:
  explicit JsonSchema(std::unique_ptr<CompiledSchema> compiled) : compiled_(std::move(compiled)) {}

  std::unique_ptr<const CompiledSchema> compiled_;
};

// KeyLookalikes: finds keys of an object that its schema does not declare, but that resemble a
// declared one (rpc/json_text.h).
//
// A reader that ignores case may take such a member for the declared one, and its value has not
// been checked. Owner: none; pure. Limits: kBaseSteps, kStepsPerByte; linear in the text and in the
// schema.
struct KeyLookalikes {
  static constexpr size_t kBaseSteps = 100000;
  static constexpr size_t kStepsPerByte = 32;

  // Finds the first such key of `text`, which is valid JSON and fits. Returns what was expected in
  // its place, for people. Nothing: there is no such key. A key is declared if one of the schemas
  // for the whole names it, or has a pattern for it.
  static std::optional<std::string> find(const CompiledSchema& schema, std::string_view text);
};

}  // namespace stdgate::schema
