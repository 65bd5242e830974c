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
  // A step is a value that is compared, or a byte that is looked at again.
  static constexpr size_t kBaseSteps = 100000;
  static constexpr size_t kStepsPerByte = 32;
};

// Whether a valid JSON text fits, and no object in it has a key twice. False: it does not, or that
// is unclear.
bool fits_plainly(const CompiledSchema& schema, NodeId node, std::string_view text);

// What fits_plainly() needs of what has been read. When all keywords of a node are read.
void prepare_plain_check(SchemaNode& node);

}  // namespace stdgate::schema
