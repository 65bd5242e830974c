// SchemaNode: a schema of JSON Schema as it is checked: each keyword read, each reference resolved.
//
// Made by SchemaCompiler, read by SchemaCheck. Nodes refer to each other by index, because schemas
// may refer to each other in circles. Keywords that few schemas have are in separate structs, so
// that most nodes are small. Owner: JsonSchema.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gateway/schema/json_tree.h"
#include "gateway/schema/text_pattern.h"

namespace stdgate::schema {

using NodeId = uint32_t;
inline constexpr NodeId kNoNode = UINT32_MAX;

// Bits of JsonKind, and one more.
inline constexpr uint8_t kIntegerBit = uint8_t{1} << kJsonKinds;
inline constexpr uint8_t kAnyType = (uint8_t{1} << (kJsonKinds + 1)) - 1;
constexpr uint8_t type_bit(JsonKind kind) {
  return static_cast<uint8_t>(1U << static_cast<unsigned>(kind));
}
inline constexpr uint8_t kNumberBits = type_bit(JsonKind::number) | kIntegerBit;
inline constexpr uint8_t kStringBit = type_bit(JsonKind::string);

// Bounds of a count: of characters, elements or members.
struct Sizes {
  uint64_t min = 0;
  uint64_t max = UINT64_MAX;
  [[nodiscard]] bool any() const { return min > 0 || max < UINT64_MAX; }
};

// The keywords about numbers.
struct NumberChecks {
  std::optional<JsonNumber> min;
  std::optional<JsonNumber> max;
  std::optional<JsonNumber> above;
  std::optional<JsonNumber> below;
  std::optional<JsonNumber> divisor;
  // Their texts, for people.
  std::string_view min_text, max_text, above_text, below_text, divisor_text;
  // Whole numbers from least to most fit. Other numbers are compared with the bounds above.
  int64_t least = INT64_MAX;
  int64_t most = INT64_MIN;
};

// The keywords about strings.
struct StringChecks {
  Sizes length;
  std::optional<TextPattern> pattern;
};

// The keywords about arrays.
struct ArrayChecks {
  Sizes items_count;
  bool is_unique = false;
  std::vector<NodeId> prefix;
  NodeId items = kNoNode;  // of those behind the prefix
  NodeId contains = kNoNode;
  Sizes contained{1};
  bool contains_counts = false;  // what `contains` fits counts as evaluated (2020-12)
  NodeId unevaluated = kNoNode;
};

struct SchemaNode;

// A property of an object's schema.
struct Property {
  std::string name;
  NodeId node = kNoNode;
  bool is_required = false;
  // Of a member, `"name":`; empty: its name may be written in another way.
  std::string start{};
  uint64_t first = 1;  // of `start`, the bytes that `mask` shows
  uint64_t mask = 0;
  uint64_t bit = 0;                        // its own among the properties, if they are few
  const SchemaNode* checked_by = nullptr;  // what its value has to fit; null: every value fits
};

// The keywords about objects.
struct ObjectChecks {
  Sizes members;
  std::vector<Property> properties;
  // Index into `properties` by name; filled only for objects with many properties.
  std::unordered_map<std::string_view, uint32_t> places;
  uint32_t required = 0;       // number of required properties
  uint64_t required_bits = 0;  // a bit for each of the properties, if they are few
  std::vector<std::pair<TextPattern, NodeId>> patterns;
  NodeId additional = kNoNode;
  NodeId names = kNoNode;
  std::vector<std::pair<std::string, std::vector<std::string>>> dependent_names;
  std::vector<std::pair<std::string, NodeId>> dependent_schemas;
  NodeId unevaluated = kNoNode;
};

// Null: none has this name.
const Property* find_property(const ObjectChecks& checks, std::string_view name);

// Schemas for the same value.
struct SchemaParts {
  std::vector<NodeId> all;  // also what it refers to
  std::vector<NodeId> any;
  std::vector<NodeId> one;
  NodeId none = kNoNode;
  NodeId condition = kNoNode;
  NodeId then = kNoNode;
  NodeId otherwise = kNoNode;
  // Another schema than `all` has for it may be meant where the check comes from elsewhere.
  std::string dynamic_anchor;
  NodeId dynamic_default = kNoNode;
};

// One schema within the whole, compiled: a value has to pass all of its checks.
struct SchemaNode {
  uint8_t types = kAnyType;
  bool is_false = false;
  bool is_plain = false;        // see plain_check.h
  bool is_plain_alone = false;  // and has no parts
  uint8_t plain_types = 0;      // if it is plain alone, its types
  // The types in `plain_types` of which nothing else is checked. Arrays and objects do not count.
  uint8_t bare_types = 0;
  uint16_t resource = 0;  // the schema resource that contains it
  // `enum` and `const`: lists of values in the schema's text. The value must be in each list.
  std::vector<std::vector<ValueId>> values;
  std::unique_ptr<NumberChecks> number;
  std::unique_ptr<StringChecks> string;
  std::unique_ptr<ArrayChecks> array;
  std::unique_ptr<ObjectChecks> object;
  std::unique_ptr<SchemaParts> parts;
};

// The `$dynamicAnchor` names of a schema resource, with their nodes.
using DynamicAnchors = std::map<std::string, NodeId, std::less<>>;

// A whole schema: its text, and a node for each schema in it. Made by the SchemaCompiler.
struct CompiledSchema {
  std::string text;
  JsonTree tree;                  // of the text
  std::vector<SchemaNode> nodes;  // the first is the whole
  std::vector<DynamicAnchors> resources;
};

// An estimate of the memory of the schema, with the memory that matching its patterns may take.
size_t bytes_of(const CompiledSchema& schema);

}  // namespace stdgate::schema
