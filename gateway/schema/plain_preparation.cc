// Prepares a schema for the plain check, once.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

#include "gateway/schema/plain_check.h"

namespace stdgate::schema {

namespace {

std::optional<int64_t> whole(std::string_view raw) {
  if (raw.size() > PlainLimits::kMaxWhole) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), value);
  if (error != std::errc() || end != raw.data() + raw.size()) return std::nullopt;
  return value;
}

// Whether parts of the schema say nothing but what all or any of others say.
bool is_plain(const SchemaParts& parts) {
  return parts.one.empty() && parts.none == kNoNode && parts.condition == kNoNode &&
         parts.dynamic_default == kNoNode;
}

bool is_plain(const ObjectChecks& checks) {
  return checks.properties.size() <= PlainLimits::kMaxProperties && checks.patterns.empty() &&
         checks.names == kNoNode && checks.dependent_names.empty() &&
         checks.dependent_schemas.empty() && checks.unevaluated == kNoNode;
}

// Prepares the bytes with which a member of this name nearly always begins.
void prepare(Property& property) {
  property.first = 1;  // with this mask, nothing begins with it
  property.mask = 0;
  if (!is_plain_text(property.name)) return;
  property.start = "\"" + property.name + "\":";
  const size_t size = std::min(property.start.size(), sizeof property.first);
  const std::string ones(size, '\xff');
  std::memcpy(&property.first, property.start.data(), size);
  std::memcpy(&property.mask, ones.data(), size);
}

void prepare(ObjectChecks& checks, const CompiledSchema& schema) {
  for (Property& property : checks.properties) {
    prepare(property);
    const NodeId id = property.node == kNoNode ? checks.additional : property.node;
    property.checked_by = id == kNoNode ? nullptr : &schema.nodes[id];
  }
  if (!is_plain(checks)) return;
  uint64_t bit = 1;
  for (Property& property : checks.properties) {
    property.bit = bit;
    if (property.is_required) checks.required_bits |= bit;
    bit <<= 1U;
  }
}

bool is_plain(const ArrayChecks& checks) {
  return !checks.is_unique && checks.contains == kNoNode && checks.unevaluated == kNoNode;
}

void prepare(SchemaNode& node, const CompiledSchema& schema) {
  node.is_plain = !node.is_false && (!node.parts || is_plain(*node.parts)) &&
                  (!node.object || is_plain(*node.object)) &&
                  (!node.array || is_plain(*node.array));
  node.is_plain_alone = node.is_plain && !node.parts;
  if (node.object) prepare(*node.object, schema);
  node.plain_types = node.is_plain_alone ? node.types : 0;
  node.bare_types = node.values.empty() ? node.plain_types : 0;
  if (node.number) node.bare_types &= static_cast<uint8_t>(~kNumberBits);
  if (node.string) node.bare_types &= static_cast<uint8_t>(~kStringBit);
  if (!node.number) return;
  NumberChecks& checks = *node.number;
  checks.least = INT64_MIN;
  checks.most = INT64_MAX;
  // Of a bound that is no small whole number, nothing is known: no number fits.
  const auto raise = [&](std::string_view text, int64_t by) {
    const auto bound = whole(text);
    checks.least = bound ? std::max(checks.least, *bound + by) : INT64_MAX;
  };
  const auto lower = [&](std::string_view text, int64_t by) {
    const auto bound = whole(text);
    checks.most = bound ? std::min(checks.most, *bound - by) : INT64_MIN;
  };
  if (checks.min) raise(checks.min_text, 0);
  if (checks.above) raise(checks.above_text, 1);
  if (checks.max) lower(checks.max_text, 0);
  if (checks.below) lower(checks.below_text, 1);
  if (checks.divisor) checks.least = INT64_MAX;
}

}  // namespace

bool is_plain_text(std::string_view text) {
  return std::ranges::none_of(
      text, [](char c) { return c == '\\' || c == '"' || static_cast<unsigned char>(c) >= 0x80; });
}

void prepare_plain_check(CompiledSchema& schema) {
  for (SchemaNode& node : schema.nodes) prepare(node, schema);
}

}  // namespace stdgate::schema
