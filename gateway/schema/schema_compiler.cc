#include "gateway/schema/schema_compiler.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "gateway/schema/json_schema.h"
#include "gateway/schema/schema_reference.h"

namespace stdgate::schema {

namespace {

// So many properties are looked for one after the other.
constexpr size_t kFewProperties = 12;

template <class T>
T& made(std::unique_ptr<T>& part) {
  if (!part) part = std::make_unique<T>();
  return *part;
}

Property& property_of(ObjectChecks& object, std::string_view name) {
  if (!object.places.empty()) {
    const auto known = object.places.find(name);
    if (known != object.places.end()) return object.properties[known->second];
  } else {
    const auto known = std::ranges::find(object.properties, name, &Property::name);
    if (known != object.properties.end()) return *known;
  }
  const bool was_full = object.properties.size() == object.properties.capacity();
  object.properties.push_back({std::string(name)});
  if (object.properties.size() <= kFewProperties) return object.properties.back();
  // Names move with their strings.
  if (was_full || object.places.empty()) {
    object.places.clear();
    for (uint32_t i = 0; i < object.properties.size(); ++i) {
      object.places.emplace(object.properties[i].name, i);
    }
  } else {
    object.places.emplace(object.properties.back().name,
                          static_cast<uint32_t>(object.properties.size() - 1));
  }
  return object.properties.back();
}

}  // namespace

bool SchemaCompiler::compile(ValueId root) {
  if (!is_schema(root)) return fail("a schema is an object, true or false");
  if (!read_draft(root)) return false;
  begin(root);
  return add(root).has_value();
}

void SchemaCompiler::begin(ValueId document) {
  resources_.push_back({"", document});
  by_uri_.emplace("", 0);
}

std::optional<NodeId> SchemaCompiler::add(ValueId schema) {
  why_.clear();
  const size_t before = out_.nodes.size();
  if (!is_schema(schema)) {
    fail("a schema is an object, true or false");
    return std::nullopt;
  }
  note_names(schema, 0);
  const NodeId node = node_of(schema);
  if (complete(before)) return node;
  // A schema that refers to this one later fails by itself.
  std::erase_if(nodes_, [before](const auto& one) { return one.second >= before; });
  out_.nodes.resize(before);
  chains_.resize(before);
  work_.clear();
  return std::nullopt;
}

// Fills the new nodes, and the nodes that they lead to.
bool SchemaCompiler::complete(size_t first) {
  out_.resources.resize(resources_.size());
  for (; dynamic_done_ < dynamic_.size(); ++dynamic_done_) {
    const Dynamic& one = dynamic_[dynamic_done_];
    out_.resources[one.resource].emplace(one.name, node_of(one.schema));
  }
  while (!work_.empty()) {
    const auto [id, schema] = work_.back();
    work_.pop_back();
    if (!fill(id, schema)) return false;
  }
  out_.resources.resize(resources_.size());
  chains_.resize(out_.nodes.size());
  for (auto id = static_cast<NodeId>(first); id < out_.nodes.size(); ++id) {
    if (chain_of(id, 0) == 0) return fail("schemas refer to each other in a circle, or too long");
  }
  return true;
}

bool SchemaCompiler::read_draft(ValueId root) {
  const auto named = tree_.find(root, "$schema");
  if (!named) return true;
  if (tree_.kind(*named) != JsonKind::string) return fail("$schema is no text");
  std::string_view uri = tree_.string(*named, scratch_);
  if (uri.ends_with('#')) uri.remove_suffix(1);
  const size_t scheme = uri.find("://");
  const std::string_view name = scheme == std::string_view::npos ? uri : uri.substr(scheme + 3);
  constexpr std::array<std::pair<std::string_view, Draft>, 5> kDrafts = {
      {{"json-schema.org/draft/2020-12/schema", Draft::v2020},
       {"json-schema.org/schema", Draft::v2020},
       {"json-schema.org/draft/2019-09/schema", Draft::v2019},
       {"json-schema.org/draft-07/schema", Draft::v7},
       {"json-schema.org/draft-06/schema", Draft::v6}}};
  for (const auto& [known, draft] : kDrafts) {
    if (name != known) continue;
    draft_ = draft;
    return true;
  }
  return fail("$schema names a draft that is not known");
}

// --- Nodes ----------------------------------------------------------------------------------

NodeId SchemaCompiler::node_of(ValueId schema) {
  const auto [known, is_new] = nodes_.emplace(schema, static_cast<NodeId>(out_.nodes.size()));
  if (is_new) {
    out_.nodes.emplace_back();
    work_.emplace_back(known->second, schema);
  }
  return known->second;
}

bool SchemaCompiler::fill(NodeId id, ValueId schema) {
  if (out_.nodes.size() > JsonSchema::kMaxNodes) return fail("it has too many schemas");
  SchemaNode node;
  if (tree_.kind(schema) != JsonKind::object) {
    node.is_false = !tree_.is_true(schema);
    out_.nodes[id] = std::move(node);
    return true;
  }
  const auto resource = resource_of_.find(schema);
  node.resource = resource == resource_of_.end() ? uint16_t{0} : resource->second;
  const auto reference = tree_.find(schema, "$ref");
  has_condition_ = draft_ != Draft::v6 && tree_.find(schema, "if");
  const auto items = tree_.find(schema, "items");
  has_item_list_ = items && tree_.kind(*items) == JsonKind::array;
  std::string scratch;
  for (ValueId key = schema + 1; key < tree_.next(schema); key = tree_.next(key + 1)) {
    const std::string_view keyword = tree_.string(key, scratch);
    if (reference && is_old() && keyword != "$ref") continue;
    const ValueId value = key + 1;
    if (!read_keyword(node, keyword, value) || !read_array_keyword(node, keyword, value) ||
        !read_part(node, keyword, value)) {
      return false;
    }
  }
  out_.nodes[id] = std::move(node);
  return true;
}

bool SchemaCompiler::read_keyword(SchemaNode& node, std::string_view keyword, ValueId value) {
  if (keyword == "type") return read_types(node, value);
  if (keyword == "enum" || keyword == "const") return read_values(node, keyword, value);
  return read_number_keyword(node, keyword, value) && read_string_keyword(node, keyword, value) &&
         read_object_keyword(node, keyword, value);
}

bool SchemaCompiler::read_types(SchemaNode& node, ValueId value) {
  std::string scratch;
  uint8_t types = 0;
  const auto add = [&](ValueId at) {
    if (tree_.kind(at) != JsonKind::string) return false;
    const std::string_view name = tree_.string(at, scratch);
    if (name == "integer") {
      types |= kIntegerBit;
      return true;
    }
    for (size_t i = 0; i < kJsonKinds; ++i) {
      if (name != kind_name(static_cast<JsonKind>(i))) continue;
      types |= type_bit(static_cast<JsonKind>(i));
      return true;
    }
    return false;
  };
  if (tree_.kind(value) != JsonKind::array) {
    if (!add(value)) return fail("type names no type");
  } else {
    for (ValueId at = value + 1; at < tree_.next(value); at = tree_.next(at)) {
      if (!add(at)) return fail("type names no type");
    }
  }
  node.types = types;
  return true;
}

bool SchemaCompiler::read_values(SchemaNode& node, std::string_view keyword, ValueId value) {
  std::vector<ValueId> values;
  if (keyword == "const") {
    values.push_back(value);
  } else if (tree_.kind(value) == JsonKind::array) {
    for (ValueId at = value + 1; at < tree_.next(value); at = tree_.next(at)) values.push_back(at);
  } else {
    return fail("enum is no list");
  }
  node.values.push_back(std::move(values));
  return true;
}

bool SchemaCompiler::read_number_keyword(SchemaNode& node, std::string_view keyword,
                                         ValueId value) {
  struct Bound {
    std::string_view keyword;
    std::optional<JsonNumber> NumberChecks::*number;
    std::string_view NumberChecks::*text;
  };
  constexpr std::array<Bound, 5> kBounds = {
      {{"minimum", &NumberChecks::min, &NumberChecks::min_text},
       {"maximum", &NumberChecks::max, &NumberChecks::max_text},
       {"exclusiveMinimum", &NumberChecks::above, &NumberChecks::above_text},
       {"exclusiveMaximum", &NumberChecks::below, &NumberChecks::below_text},
       {"multipleOf", &NumberChecks::divisor, &NumberChecks::divisor_text}}};
  for (const Bound& bound : kBounds) {
    if (bound.keyword != keyword) continue;
    if (tree_.kind(value) != JsonKind::number) return fail(std::string(keyword) + " is no number");
    NumberChecks& checks = made(node.number);
    const std::string_view raw = tree_.raw(value);
    (checks.*bound.number).emplace(raw);
    checks.*bound.text = raw;
    if (keyword == "multipleOf" && !checks.divisor->can_divide()) {
      return fail("multipleOf is not above 0, or has too many digits");
    }
  }
  return true;
}

std::optional<TextPattern> SchemaCompiler::pattern_of(std::string_view text) {
  if (++patterns_ > JsonSchema::kMaxExpressions) {
    fail("it has too many patterns");
    return std::nullopt;
  }
  auto pattern = TextPattern::compile(text, programs_);
  if (pattern && programs_ <= JsonSchema::kMaxPrograms) return *std::move(pattern);
  fail(pattern ? "its patterns are too large together" : pattern.error());
  return std::nullopt;
}

bool SchemaCompiler::read_string_keyword(SchemaNode& node, std::string_view keyword,
                                         ValueId value) {
  if (keyword == "minLength") return read_size(made(node.string).length.min, value);
  if (keyword == "maxLength") return read_size(made(node.string).length.max, value);
  if (keyword != "pattern") return true;
  if (tree_.kind(value) != JsonKind::string) return fail("pattern is no text");
  std::string scratch;
  made(node.string).pattern = pattern_of(tree_.string(value, scratch));
  return node.string->pattern.has_value();
}

// A whole number, also 2.0; what is beyond 64 bits is as good as the greatest one.
bool SchemaCompiler::read_size(uint64_t& into, ValueId value) {
  std::string_view raw = tree_.raw(value);
  if (tree_.kind(value) != JsonKind::number || raw.starts_with('-') || !is_integer_text(raw)) {
    return fail("a size is no whole number");
  }
  if (raw.find_first_of("eE") != std::string_view::npos) return fail("a size is written with e");
  raw = raw.substr(0, raw.find('.'));
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), into);
  if (error == std::errc::result_out_of_range) into = UINT64_MAX;
  return true;
}

bool SchemaCompiler::read_schema(NodeId& into, ValueId value) {
  if (!is_schema(value)) return fail("a schema is an object, true or false");
  into = node_of(value);
  return true;
}

bool SchemaCompiler::read_schemas(std::vector<NodeId>& into, ValueId value) {
  if (tree_.kind(value) != JsonKind::array) return fail("a list of schemas is no list");
  for (ValueId at = value + 1; at < tree_.next(value); at = tree_.next(at)) {
    into.emplace_back();
    if (!read_schema(into.back(), at)) return false;
  }
  return true;
}

bool SchemaCompiler::read_array_keyword(SchemaNode& node, std::string_view keyword, ValueId value) {
  const bool has_lists = draft_ != Draft::v2020;
  if (keyword == "minItems") return read_size(made(node.array).items_count.min, value);
  if (keyword == "maxItems") return read_size(made(node.array).items_count.max, value);
  if (keyword == "uniqueItems") {
    made(node.array).is_unique = tree_.is_true(value);
    return true;
  }
  if (keyword == "items" && has_lists && tree_.kind(value) == JsonKind::array) {
    return read_schemas(made(node.array).prefix, value);
  }
  if (keyword == "items") return read_schema(made(node.array).items, value);
  if (keyword == "additionalItems" && has_lists) {
    return !has_item_list_ || read_schema(made(node.array).items, value);
  }
  if (keyword == "prefixItems" && !has_lists) return read_schemas(made(node.array).prefix, value);
  if (keyword == "contains") {
    made(node.array).contains_counts = draft_ == Draft::v2020;
    return read_schema(node.array->contains, value);
  }
  if (is_old()) return true;
  if (keyword == "minContains") return read_size(made(node.array).contained.min, value);
  if (keyword == "maxContains") return read_size(made(node.array).contained.max, value);
  if (keyword == "unevaluatedItems") return read_schema(made(node.array).unevaluated, value);
  return true;
}

bool SchemaCompiler::read_object_keyword(SchemaNode& node, std::string_view keyword,
                                         ValueId value) {
  if (keyword == "properties") return read_properties(node, value);
  if (keyword == "required") return read_required(node, value);
  if (keyword == "minProperties") return read_size(made(node.object).members.min, value);
  if (keyword == "maxProperties") return read_size(made(node.object).members.max, value);
  if (keyword == "additionalProperties") return read_schema(made(node.object).additional, value);
  if (keyword == "propertyNames") return read_schema(made(node.object).names, value);
  if (keyword == "unevaluatedProperties" && !is_old()) {
    return read_schema(made(node.object).unevaluated, value);
  }
  const bool is_dependency =
      keyword == "dependencies" || keyword == "dependentRequired" || keyword == "dependentSchemas";
  if (is_dependency && (keyword == "dependencies" || !is_old())) {
    return read_dependencies(node, value);
  }
  if (keyword != "patternProperties") return true;
  if (tree_.kind(value) != JsonKind::object) return fail("patternProperties is no object");
  std::string scratch;
  for (ValueId at = value + 1; at < tree_.next(value); at = tree_.next(at + 1)) {
    auto pattern = pattern_of(tree_.string(at, scratch));
    if (!pattern) return false;
    made(node.object).patterns.emplace_back(*std::move(pattern), kNoNode);
    if (!read_schema(node.object->patterns.back().second, at + 1)) return false;
  }
  return true;
}

bool SchemaCompiler::read_properties(SchemaNode& node, ValueId value) {
  if (tree_.kind(value) != JsonKind::object) return fail("properties is no object");
  std::string scratch;
  for (ValueId at = value + 1; at < tree_.next(value); at = tree_.next(at + 1)) {
    Property& property = property_of(made(node.object), tree_.string(at, scratch));
    if (!read_schema(property.node, at + 1)) return false;
  }
  return true;
}

bool SchemaCompiler::read_required(SchemaNode& node, ValueId value) {
  if (tree_.kind(value) != JsonKind::array) return fail("required is no list of names");
  std::string scratch;
  for (ValueId at = value + 1; at < tree_.next(value); at = tree_.next(at)) {
    if (tree_.kind(at) != JsonKind::string) return fail("required is no list of names");
    Property& property = property_of(made(node.object), tree_.string(at, scratch));
    if (!std::exchange(property.is_required, true)) ++node.object->required;
  }
  return true;
}

bool SchemaCompiler::read_dependencies(SchemaNode& node, ValueId value) {
  if (tree_.kind(value) != JsonKind::object) return fail("dependencies are no object");
  std::string scratch;
  for (ValueId key = value + 1; key < tree_.next(value); key = tree_.next(key + 1)) {
    const std::string name(tree_.string(key, scratch));
    const ValueId wanted = key + 1;
    if (tree_.kind(wanted) != JsonKind::array) {
      made(node.object).dependent_schemas.emplace_back(name, kNoNode);
      if (!read_schema(node.object->dependent_schemas.back().second, wanted)) return false;
      continue;
    }
    std::vector<std::string> names;
    for (ValueId at = wanted + 1; at < tree_.next(wanted); at = tree_.next(at)) {
      if (tree_.kind(at) != JsonKind::string) return fail("a dependency is no name");
      names.emplace_back(tree_.string(at, scratch));
    }
    made(node.object).dependent_names.emplace_back(name, std::move(names));
  }
  return true;
}

bool SchemaCompiler::read_part(SchemaNode& node, std::string_view keyword, ValueId value) {
  if (keyword == "allOf") return read_schemas(made(node.parts).all, value);
  if (keyword == "anyOf") return read_schemas(made(node.parts).any, value);
  if (keyword == "oneOf") return read_schemas(made(node.parts).one, value);
  if (keyword == "not") return read_schema(made(node.parts).none, value);
  if (keyword == "$ref") return read_reference(node, keyword, value);
  if (draft_ == Draft::v2020 && keyword == "$dynamicRef") {
    return read_reference(node, keyword, value);
  }
  if (draft_ == Draft::v2019 && keyword == "$recursiveRef") return fail("it uses $recursiveRef");
  if (!has_condition_) return true;
  if (keyword == "if") return read_schema(made(node.parts).condition, value);
  if (keyword == "then") return read_schema(made(node.parts).then, value);
  if (keyword == "else") return read_schema(made(node.parts).otherwise, value);
  return true;
}

bool SchemaCompiler::read_reference(SchemaNode& node, std::string_view keyword, ValueId value) {
  if (tree_.kind(value) != JsonKind::string) return fail("a reference is no text");
  std::string scratch;
  const std::string_view text = tree_.string(value, scratch);
  const Reference reference = resolve_reference(resources_[node.resource].uri, text);
  const auto target = resolve(reference);
  if (!target) return fail("a reference leads nowhere in the document");
  NodeId to = kNoNode;
  if (!read_schema(to, *target)) return false;
  const bool is_dynamic =
      keyword == "$dynamicRef" && std::ranges::any_of(dynamic_, [&](const Dynamic& one) {
        return one.schema == *target && one.name == reference.fragment;
      });
  if (is_dynamic) {
    made(node.parts).dynamic_anchor = reference.fragment;
    node.parts->dynamic_default = to;
  } else {
    made(node.parts).all.push_back(to);
  }
  return true;
}

}  // namespace stdgate::schema
