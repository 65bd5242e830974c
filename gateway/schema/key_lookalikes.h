// Key lookalikes: keys of an object that its schema does not declare, but that resemble a declared
// one (rpc/json_text.h).
//
// A reader that ignores case may take such a member for the declared one, and its value has not
// been checked. Owner: none; pure. Limits: kBaseSteps, kStepsPerByte; linear in the text and in the
// schema.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/schema/schema_node.h"

namespace stdgate::schema {

struct KeyLookalikes {
  static constexpr size_t kBaseSteps = 100000;
  static constexpr size_t kStepsPerByte = 32;

  // What was expected in place of the first such key of `text`, which is valid JSON and fits; for
  // people. Nothing: there is no such key. A key is declared if one of the schemas for the whole
  // names it, or has a pattern for it.
  static std::optional<std::string> find(const CompiledSchema& schema, std::string_view text);
};

}  // namespace stdgate::schema
