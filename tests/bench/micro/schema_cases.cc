// gateway/schema: a check of arguments.
#include <cstdlib>
#include <memory>

#include "gateway/schema/json_schema.h"
#include "gateway/schema/schema_check.h"
#include "tests/bench/micro/case.h"

namespace stdgate::bench {

namespace {

// Ten members of the schema, and as many in the text. `more`: other keywords of the schema.
Case ten_members(const std::string& name, const std::string& member, const std::string& value,
                 const std::string& more = "") {
  std::string schema = R"({"type":"object","additionalProperties":false,"required":["a"],)";
  std::string text;
  schema += more + R"("properties":{)";
  for (char key = 'a'; key < 'k'; ++key) {
    schema.append(key == 'a' ? "\"" : ",\"").append(1, key).append("\":").append(member);
    text.append(key == 'a' ? "{\"" : ",\"").append(1, key).append("\":").append(value);
  }
  schema += "}}";
  text += "}";
  return {"check/" + name, text.size(), [schema, text]() -> Step {
            auto compiled =
                std::make_shared<schema::JsonSchema>(*schema::JsonSchema::compile(schema));
            auto check = std::make_shared<schema::SchemaCheck>();
            return [compiled, check, text] {
              if (check->check(*compiled, text) != schema::Fit::fits) std::abort();
              if (check->repeated_key()) std::abort();
            };
          }};
}

}  // namespace

std::vector<Case> schema_cases() {
  return {ten_members("ten-integers", R"({"type":"integer"})", "12345"),
          ten_members("ten-bounds", R"({"type":"integer","minimum":0,"maximum":99999})", "12345"),
          ten_members("ten-texts", R"({"type":"string","maxLength":9})", R"("abcde")"),
          // Beyond one pass (plain_check.h).
          ten_members("ten-integers-whole", R"({"type":"integer"})", "12345", R"("not":false,)")};
}

}  // namespace stdgate::bench
