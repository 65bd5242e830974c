// Names within a document, by `$id`, anchors and pointers: schemas refer to each other by them.
#include <algorithm>
#include <array>

#include "gateway/schema/schema_compiler.h"
#include "gateway/schema/schema_reference.h"

namespace stdgate::schema {

namespace {

// Where a schema has others: as its value, in a list, by names.
enum class Holds : uint8_t { schema, list, map };
struct Holder {
  std::string_view keyword;
  Holds holds;
};
constexpr std::array<Holder, 23> kHolders = {{{"properties", Holds::map},
                                              {"patternProperties", Holds::map},
                                              {"$defs", Holds::map},
                                              {"definitions", Holds::map},
                                              {"dependentSchemas", Holds::map},
                                              {"dependencies", Holds::map},
                                              {"allOf", Holds::list},
                                              {"anyOf", Holds::list},
                                              {"oneOf", Holds::list},
                                              {"prefixItems", Holds::list},
                                              {"items", Holds::list},
                                              {"items", Holds::schema},
                                              {"additionalItems", Holds::schema},
                                              {"additionalProperties", Holds::schema},
                                              {"unevaluatedItems", Holds::schema},
                                              {"unevaluatedProperties", Holds::schema},
                                              {"contains", Holds::schema},
                                              {"propertyNames", Holds::schema},
                                              {"not", Holds::schema},
                                              {"if", Holds::schema},
                                              {"then", Holds::schema},
                                              {"else", Holds::schema},
                                              {"contentSchema", Holds::schema}}};

}  // namespace

void SchemaCompiler::note_names(ValueId schema, uint16_t resource) {
  if (tree_.kind(schema) != JsonKind::object || resource_of_.contains(schema)) return;
  // Draft 7 and before know nothing beside a reference.
  if (!is_old() || !tree_.find(schema, "$ref")) note_own_names(schema, resource);
  resource_of_.emplace(schema, resource);
  std::string scratch;
  for (ValueId key = schema + 1; key < tree_.next(schema); key = tree_.next(key + 1)) {
    const std::string_view keyword = tree_.string(key, scratch);
    const ValueId value = key + 1;
    const JsonKind kind = tree_.kind(value);
    for (const auto& [name, holds] : kHolders) {
      if (name != keyword) continue;
      if (holds == Holds::schema && kind == JsonKind::object) note_names(value, resource);
      if (holds == Holds::list && kind == JsonKind::array) {
        for (ValueId at = value + 1; at < tree_.next(value); at = tree_.next(at)) {
          note_names(at, resource);
        }
      }
      if (holds == Holds::map && kind == JsonKind::object) {
        for (ValueId at = value + 1; at < tree_.next(value); at = tree_.next(at + 1)) {
          note_names(at + 1, resource);
        }
      }
    }
  }
}

void SchemaCompiler::note_own_names(ValueId schema, uint16_t& resource) {
  const auto text_of = [this, schema](std::string_view keyword) -> std::string {
    const auto value = tree_.find(schema, keyword);
    if (!value || tree_.kind(*value) != JsonKind::string) return {};
    std::string scratch;
    return std::string(tree_.string(*value, scratch));
  };
  if (const std::string id = text_of("$id"); !id.empty()) {
    const Reference reference = resolve_reference(resources_[resource].uri, id);
    if (!id.starts_with('#') && resources_.size() < UINT16_MAX) {
      const auto at = static_cast<uint16_t>(resources_.size());
      resources_.push_back({reference.uri, schema});
      by_uri_.emplace(reference.uri, at);
      resource = at;
    }
    if (is_old() && !reference.fragment.empty()) {
      anchors_.emplace(resources_[resource].uri + "#" + reference.fragment, schema);
    }
  }
  if (is_old()) return;
  if (const std::string name = text_of("$anchor"); !name.empty()) {
    anchors_.emplace(resources_[resource].uri + "#" + name, schema);
  }
  if (const std::string name = text_of("$dynamicAnchor"); !name.empty()) {
    anchors_.emplace(resources_[resource].uri + "#" + name, schema);
    dynamic_.push_back({name, resource, schema});
  }
}

std::optional<ValueId> SchemaCompiler::resolve(const Reference& reference) {
  const auto found = by_uri_.find(reference.uri);
  if (found == by_uri_.end()) return std::nullopt;
  const Resource& resource = resources_[found->second];
  if (reference.fragment.empty()) return resource.root;
  if (reference.fragment[0] != '/') {
    const auto anchor = anchors_.find(reference.uri + "#" + reference.fragment);
    return anchor == anchors_.end() ? std::nullopt : std::optional(anchor->second);
  }
  const auto target = pointers_.follow(resource.root, reference.fragment);
  // A place where no keyword has a schema.
  if (target) note_names(*target, found->second);
  return target;
}

// Schemas that refer to each other in a circle, or too long.

size_t SchemaCompiler::chain_of(NodeId id, size_t depth) {
  if (depth > JsonSchema::kMaxChain) return 0;
  if (chains_[id] != 0) return depth + chains_[id] > JsonSchema::kMaxChain ? 0 : chains_[id];
  size_t longest = 0;
  const auto visit = [&](NodeId next) {
    if (next == kNoNode) return true;
    const size_t chain = chain_of(next, depth + 1);
    longest = std::max(longest, chain);
    return chain != 0;
  };
  const auto visit_all = [&](const std::vector<NodeId>& nodes) {
    return std::ranges::all_of(nodes, visit);
  };
  const SchemaNode& node = out_.nodes[id];
  const SchemaParts* const parts = node.parts.get();
  if (parts != nullptr &&
      (!visit_all(parts->all) || !visit_all(parts->any) || !visit_all(parts->one) ||
       !visit(parts->none) || !visit(parts->condition) || !visit(parts->then) ||
       !visit(parts->otherwise))) {
    return 0;
  }
  if (node.object) {
    for (const auto& [name, next] : node.object->dependent_schemas) {
      if (!visit(next)) return 0;
    }
  }
  return chains_[id] = longest + 1;
}

}  // namespace stdgate::schema
