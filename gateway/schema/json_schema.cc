#include "gateway/schema/json_schema.h"

#include "gateway/schema/json_pointer.h"
#include "gateway/schema/plain_check.h"
#include "gateway/schema/schema_check.h"
#include "gateway/schema/schema_compiler.h"

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

}  // namespace stdgate::schema
