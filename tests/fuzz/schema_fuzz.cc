// Fuzz target: any text is a JSON Schema, or is refused with a reason. Any value is checked by the
// schema in bounded time, and a second check has the same result. The first line of the input is
// the schema, the others are values.
#include <algorithm>
#include <string>

#include "gateway/schema/canonical_json.h"
#include "gateway/schema/schema_check.h"
#include "tests/fuzz/fuzz_target.h"

namespace stdgate::test::schema_fuzz {
namespace {

void check(std::string_view input) {
  const size_t line = std::min(input.find('\n'), input.size());
  const std::string schema(input.substr(0, line));
  const std::string value(input.substr(std::min(line + 1, input.size())));
  if (!schema::is_json(schema)) return;
  const auto compiled = schema::JsonSchema::compile(schema);
  if (!compiled) return require(!compiled.error().empty(), "what is refused has a reason", input);
  // A schema can be checked as a value too.
  for (const std::string& text : {value, schema}) {
    if (!schema::is_json(text)) continue;
    schema::SchemaCheck first;
    const schema::Fit fit = first.check(*compiled, text);
    require((fit == schema::Fit::fits) == first.misfits().empty(), "a misfit is told", input);
    schema::SchemaCheck second;
    require(second.check(*compiled, text) == fit, "the verdict is the same again", input);
    require(second.misfits().size() == first.misfits().size(), "so are the misfits", input);
  }
}

}  // namespace

void run(std::string_view input) { check(input); }

}  // namespace stdgate::test::schema_fuzz
