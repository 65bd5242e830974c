#include "gateway/schema/json_schema.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "gateway/base/encodings.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/schema/plain_check.h"
#include "gateway/schema/schema_check.h"
#include "gateway/schema/schema_compiler.h"
#include "gateway/schema/schema_reference.h"

namespace stdgate::schema {

tl::expected<JsonSchema, std::string> JsonSchema::compile(std::string_view text,
                                                          std::string_view root, Draft draft,
                                                          size_t* steps) {
  if (text.size() > kMaxText) return tl::unexpected(std::string("it is too large"));
  auto compiled = std::make_unique<CompiledSchema>();
  compiled->text = text;
  if (!compiled->tree.read(compiled->text))
    return tl::unexpected(std::string("it has too many values"));
  if (const auto key = find_duplicate_key(compiled->tree)) {
    return tl::unexpected("a key is there twice: " +
                          place_of(compiled->tree, *key, SchemaCheck::kMaxPlace));
  }
  const auto at = PointerIndex(compiled->tree).follow(0, root);
  if (!at) return tl::unexpected(std::string("there is no such part"));
  SchemaCompiler compiler(*compiled, draft);
  const bool is_good = compiler.compile(*at);
  if (steps != nullptr) *steps += text.size() / 16 + compiler.programs();
  if (!is_good) return tl::unexpected(compiler.why());
  prepare_plain_check(*compiled);
  return JsonSchema(std::move(compiled));
}

namespace {

constexpr size_t kMaxShownKey = 100;

std::string quoted_key(std::string_view key) {
  return '"' + std::string(cut_utf8(key, kMaxShownKey)) + '"';
}

// The checks of its members in all schemas for the whole value.
std::vector<const ObjectChecks*> checks_of_whole(const CompiledSchema& schema) {
  std::vector<const ObjectChecks*> found;
  std::unordered_set<NodeId> seen;
  std::vector<NodeId> left{0};
  while (!left.empty()) {
    const NodeId id = left.back();
    left.pop_back();
    if (id == kNoNode || !seen.insert(id).second) continue;
    const SchemaNode& node = schema.nodes[id];
    if (node.object != nullptr) {
      found.push_back(node.object.get());
      for (const auto& [name, dependent] : node.object->dependent_schemas)
        left.push_back(dependent);
    }
    if (node.parts == nullptr) continue;
    const SchemaParts& parts = *node.parts;
    for (const auto* const nodes : {&parts.all, &parts.any, &parts.one}) {
      left.insert(left.end(), nodes->begin(), nodes->end());
    }
    left.insert(left.end(), {parts.condition, parts.then, parts.otherwise, parts.dynamic_default});
  }
  return found;
}

bool declares(const ObjectChecks& checks, std::string_view name) {
  if (find_property(checks, name) != nullptr) return true;
  return std::ranges::any_of(checks.patterns,
                             [&](const auto& pattern) { return pattern.first.matches(name); });
}

size_t cost_of(const ObjectChecks& checks, std::string_view name) {
  size_t cost = 1;
  for (const auto& [pattern, node] : checks.patterns) cost += pattern.cost(name.size());
  return cost;
}

}  // namespace

std::optional<std::string> KeyLookalikes::find(const CompiledSchema& schema,
                                               std::string_view text) {
  const auto checks = checks_of_whole(schema);
  size_t steps = kBaseSteps + kStepsPerByte * text.size();
  std::unordered_map<std::string, std::string_view> others;  // undeclared keys, by folded key
  std::string scratch;
  rpc::for_each_member(text, [&](std::string_view key, std::string_view /*value*/) {
    const std::string_view name = rpc::decode_string(key, scratch);
    const bool is_declared = std::ranges::any_of(checks, [&](const ObjectChecks* one) {
      if (steps == 0) return true;
      const size_t cost = cost_of(*one, name);
      steps -= std::min(steps, cost);
      return steps > 0 && declares(*one, name);
    });
    if (!is_declared) others.try_emplace(rpc::folded_key(key), key);
  });
  if (steps == 0) return "fewer members: it takes too long to compare their keys";
  if (others.empty()) return std::nullopt;
  for (const ObjectChecks* const one : checks) {
    for (const Property& property : one->properties) {
      const auto other = others.find(rpc::folded_key(property.name));
      if (other == others.end()) continue;
      return "no member " + quoted_key(rpc::decode_string(other->second, scratch)) +
             ", which resembles " + quoted_key(property.name);
    }
  }
  return std::nullopt;
}

}  // namespace stdgate::schema
