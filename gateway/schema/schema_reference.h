// How a schema refers to parts of its document: URIs, and JSON pointers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gateway/schema/json_tree.h"

namespace stdgate::schema {

// Reference: a reference of a schema to a part of its document: a URI (RFC 3986) whose fragment may
// be a JSON pointer (RFC 6901).
//
// Nothing is fetched: a reference is resolved to compare it with the names within the document.
// Owner: none; pure.
struct Reference {
  std::string uri;       // without the fragment
  std::string fragment;  // decoded
};

// `base` has no fragment; it may be empty.
Reference resolve_reference(std::string_view base, std::string_view reference);

// Appends a token of a pointer, with its slash.
void append_pointer(std::string& pointer, std::string_view token);

// PointerIndex: finds values of a JSON text by JSON pointers (RFC 6901).
//
// Job: follow many pointers into the same text in the time of one look at each object and array. A
// large object or array is indexed when a pointer first leads through it. Owner: the code that
// follows the pointers; the tree outlives it. Limits: the limits of the tree.
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
