// Plain check: one pass over a text by what most schemas say: types, members, sizes, bounds,
// values, references and alternatives.
//
// Job: find out cheaply that a text fits. It says nothing of a text that does not, and of schemas
// that say more: SchemaCheck decides then. Owner: none; pure. Limits: kMaxDepth, kMaxProperties,
// kMaxOthers; steps in proportion to the text.
#pragma once

#include <cstddef>
#include <string_view>

#include "gateway/schema/schema_node.h"

namespace stdgate::schema {

struct PlainLimits {
  static constexpr size_t kMaxDepth = 64;       // of schemas and values in each other
  static constexpr size_t kMaxProperties = 64;  // of an object's schema
  static constexpr size_t kMaxOthers = 16;      // members of an object that are no such properties
  static constexpr size_t kBaseSteps = 10000;
  static constexpr size_t kStepsPerByte = 4;
};

// The length of the value that a valid JSON text begins with, if it fits and no object in it has a
// key twice. 0: it does not fit, or that is unclear.
size_t plain_length(const CompiledSchema& schema, NodeId node, std::string_view text);
inline bool fits_plainly(const CompiledSchema& schema, NodeId node, std::string_view text) {
  return plain_length(schema, node, text) > 0;
}

// What plain_length() needs of what has been read. When all keywords of a node are read.
void prepare_plain_check(SchemaNode& node);

}  // namespace stdgate::schema
