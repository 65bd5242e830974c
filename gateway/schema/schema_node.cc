#include "gateway/schema/schema_node.h"

namespace stdgate::schema {

const Property* find_property(const ObjectChecks& checks, std::string_view name) {
  if (!checks.places.empty()) {
    const auto place = checks.places.find(name);
    return place == checks.places.end() ? nullptr : &checks.properties[place->second];
  }
  for (const Property& property : checks.properties) {
    if (property.name == name) return &property;
  }
  return nullptr;
}

// The bytes that a compiled schema holds, about.

namespace {

// Bytes of a node of a map, about.
constexpr size_t kOfNode = 48;

size_t bytes_of(const std::vector<NodeId>& nodes) { return nodes.capacity() * sizeof(NodeId); }

size_t bytes_of(const ArrayChecks& array) { return sizeof(array) + bytes_of(array.prefix); }

size_t bytes_of(const ObjectChecks& object) {
  size_t bytes = sizeof(object) + object.properties.capacity() * sizeof(Property);
  for (const Property& property : object.properties) bytes += property.name.capacity();
  bytes += object.places.size() * kOfNode + object.places.bucket_count() * sizeof(void*);
  for (const auto& [pattern, node] : object.patterns) {
    bytes += sizeof(object.patterns[0]) + pattern.bytes();
  }
  for (const auto& [name, names] : object.dependent_names) {
    bytes += sizeof(object.dependent_names[0]) + name.capacity();
    for (const std::string& one : names) bytes += sizeof(std::string) + one.capacity();
  }
  for (const auto& one : object.dependent_schemas) bytes += sizeof(one) + one.first.capacity();
  return bytes;
}

size_t bytes_of(const SchemaParts& parts) {
  return sizeof(parts) + bytes_of(parts.all) + bytes_of(parts.any) + bytes_of(parts.one) +
         parts.dynamic_anchor.capacity();
}

size_t bytes_of(const SchemaNode& node) {
  size_t bytes = sizeof(node);
  for (const auto& values : node.values) {
    bytes += sizeof(std::vector<ValueId>) + values.capacity() * sizeof(ValueId);
  }
  if (node.number) bytes += sizeof(NumberChecks);
  if (node.string) bytes += sizeof(StringChecks);
  if (node.string && node.string->pattern) bytes += node.string->pattern->bytes();
  if (node.array) bytes += bytes_of(*node.array);
  if (node.object) bytes += bytes_of(*node.object);
  if (node.parts) bytes += bytes_of(*node.parts);
  return bytes;
}

}  // namespace

size_t bytes_of(const CompiledSchema& schema) {
  size_t bytes = sizeof(schema) + schema.text.capacity() + schema.tree.bytes();
  bytes += (schema.nodes.capacity() - schema.nodes.size()) * sizeof(SchemaNode);
  for (const SchemaNode& node : schema.nodes) bytes += bytes_of(node);
  for (const DynamicAnchors& anchors : schema.resources) {
    bytes += sizeof(DynamicAnchors);
    for (const auto& [name, node] : anchors) {
      bytes += kOfNode + sizeof(DynamicAnchors::value_type) + name.capacity();
    }
  }
  return bytes;
}

}  // namespace stdgate::schema
