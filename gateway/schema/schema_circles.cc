// Schemas that refer to each other in a circle, or too long.
#include <algorithm>

#include "gateway/schema/schema_compiler.h"

namespace stdgate::schema {

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
