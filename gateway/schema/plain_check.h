// Plain check: one pass over a text that checks the keywords of most schemas: types, members,
// sizes, bounds, values, references and alternatives.
//
// Job: find out cheaply that a text fits. If it may not fit, or if the schema has other keywords,
// SchemaCheck decides. Owner: none; pure. Limits: kMaxDepth, kMaxProperties, kMaxOthers; steps in
// proportion to the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gateway/schema/schema_node.h"

namespace stdgate::schema {

// The limits of a plain check. Beyond them, SchemaCheck decides.
struct PlainLimits {
  static constexpr size_t kMaxDepth = 64;       // of schemas and values in each other
  static constexpr size_t kMaxProperties = 64;  // of an object's schema
  static constexpr size_t kMaxOthers = 16;      // members of an object that are no such properties
  static constexpr size_t kMaxWhole = 18;       // characters of a number that is of 64 bits
  // A step is a value that is compared, or a byte that is looked at again.
  static constexpr size_t kBaseSteps = 100000;
  static constexpr size_t kStepsPerByte = 32;
};

enum class PlainFit : uint8_t {
  unclear,   // it does not fit, or that is unclear
  open,      // it fits, and no object in it has a key twice
  declared,  // the same, and the schema has properties for all members of the whole
};

// Whether a valid JSON text fits.
PlainFit fits_plainly(const CompiledSchema& schema, NodeId node, std::string_view text);

// Without quotes, escapes and anything beyond ASCII.
bool is_plain_text(std::string_view text);

// Prepares the nodes for fits_plainly(). Called when all of them have been read; none moves then.
void prepare_plain_check(CompiledSchema& schema);

}  // namespace stdgate::schema
