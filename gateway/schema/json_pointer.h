// PointerIndex: finds values of a JSON text by JSON pointers (RFC 6901).
//
// Job: follow many pointers into the same text in the time of one look at each object and array.
// Those that are large are indexed when a pointer first leads through them. Owner: whoever follows
// pointers; the tree outlives it. Limits: those of the tree.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gateway/schema/json_tree.h"

namespace stdgate::schema {

class PointerIndex {
 public:
  // Smaller objects and arrays are searched.
  static constexpr uint32_t kFew = 16;

  explicit PointerIndex(const JsonTree& tree) : tree_(tree) {}

  // Nothing: there is no such place.
  std::optional<ValueId> follow(ValueId from, std::string_view pointer);

 private:
  std::optional<ValueId> member(ValueId object, const std::string& key);
  std::optional<ValueId> element(ValueId array, std::string_view token);

  const JsonTree& tree_;
  std::unordered_map<ValueId, std::unordered_map<std::string, ValueId>> objects_;
  std::unordered_map<ValueId, std::vector<ValueId>> arrays_;
};

}  // namespace stdgate::schema
