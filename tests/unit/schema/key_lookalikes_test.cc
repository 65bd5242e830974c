// Keys that could be taken for those that a schema declares.
#include <gmock/gmock.h>

#include <string>

#include "gateway/schema/json_schema.h"

namespace stdgate {
namespace {

using schema::JsonSchema;
using schema::KeyLookalikes;
using testing::HasSubstr;

std::string found(const std::string& schema_text, const std::string& text) {
  const auto compiled = JsonSchema::compile(schema_text);
  EXPECT_TRUE(compiled) << schema_text;
  return KeyLookalikes::find(compiled->compiled(), text).value_or("");
}

TEST(KeyLookalikesTest, AreFoundInAllSchemasForTheWhole) {
  for (const char* const schema :
       {R"({"properties":{"a1":{}}})", R"({"oneOf":[{"properties":{"a1":{}}},false]})",
        R"({"if":{"properties":{"a1":{}}},"then":{}})",
        R"({"$ref":"#/$defs/x","$defs":{"x":{"properties":{"a1":{}}}}})",
        R"({"properties":{"x":{}},"dependentSchemas":{"x":{"properties":{"a1":{}}}}})"}) {
    EXPECT_EQ(found(schema, R"({"A1":1})"), R"(no member "A1", which resembles "a1")") << schema;
    EXPECT_EQ(found(schema, R"({"a1":1,"b1":2})"), "") << schema;
  }
  EXPECT_EQ(found(R"({"properties":{"x":{"properties":{"a1":{}}}}})", R"({"A1":1})"), "");
  EXPECT_EQ(found("true", R"({"A1":1})"), "");
  EXPECT_EQ(found(R"({"properties":{"a1":{}}})", "[1]"), "");
}

TEST(KeyLookalikesTest, ManyKeysAndSchemasAreBounded) {
  std::string schema = R"({"allOf":[)";
  for (int i = 0; i < 1000; ++i) schema += R"({"properties":{"a":{}}},)";
  schema.back() = ']';
  std::string text = "{";
  for (int i = 0; i < 20000; ++i) text += "\"k" + std::to_string(i) + "\":1,";
  text.back() = '}';
  EXPECT_THAT(found(schema + "}", text), HasSubstr("it takes too long"));
}

}  // namespace
}  // namespace stdgate
