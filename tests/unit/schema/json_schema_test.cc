// JSON Schema beyond its test suite: places of errors, limits, hostile schemas and texts.
#include "gateway/schema/json_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "gateway/schema/schema_check.h"

namespace stdgate {

namespace {

using schema::Fit;
using schema::JsonSchema;
using schema::SchemaCheck;

struct Result {
  Fit fit = Fit::fits;
  std::string words;
};

Result check(std::string_view schema_text, std::string_view text) {
  const auto compiled = JsonSchema::compile(schema_text);
  EXPECT_TRUE(compiled) << compiled.error();
  SchemaCheck check;
  const Fit fit = check.check(*compiled, text);
  return {fit, text_of(check.misfits(), "arguments")};
}

TEST(JsonSchema, SaysWhereAndWhatWasExpected) {
  struct Case {
    std::string_view schema;
    std::string_view text;
    std::string_view words;
  };
  constexpr Case kCases[] = {
      {R"({"type":"object"})", "[]", "arguments: expected object, not array"},
      {R"({"properties":{"a":{"type":["string","null"]}}})", R"({"a":1})",
       "/a: expected null or string, not number"},
      {R"({"properties":{"a":{"type":"integer"}}})", R"({"a":1.5})",
       "/a: expected integer, not a fraction"},
      {R"({"required":["a","b"]})", R"({"b":1})", R"(arguments: expected a member "a")"},
      {R"({"properties":{"a":{}},"additionalProperties":false})", R"({"a":1,"b/c":2})",
       R"(arguments: expected no member "b/c")"},
      {R"({"properties":{"a/b":{"items":{"enum":["x","y"]}}}})", R"({"a/b":["x","z"]})",
       R"(/a~1b/1: expected one of "x", "y")"},
      {R"({"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}})", R"({"a":1})",
       "/a: expected string or null"},
      {R"({"minimum":3})", "2", "arguments: expected at least 3"},
      {R"({"multipleOf":0.01})", "0.001", "arguments: expected a multiple of 0.01"},
      {R"({"minLength":2,"maxLength":3})", R"("ä")",
       "arguments: expected at least 2, at most 3 characters"},
      {R"({"pattern":"^a"})", R"("b")", "arguments: expected a text that matches ^a"},
      {R"({"uniqueItems":true})", R"([{"a":1},{"a":1.0}])",
       "arguments: expected elements that differ"},
      {R"({"properties":{"a":{"type":"string"},"b":{"minimum":2}},"required":["c"]})",
       R"({"a":1,"b":1})",
       "/a: expected string, not number; /b: expected at least 2; arguments: expected a member "
       "\"c\""},
  };
  for (const auto& [text_of_schema, text, words] : kCases) {
    const Result result = check(text_of_schema, text);
    EXPECT_EQ(result.fit, Fit::differs) << text_of_schema;
    EXPECT_EQ(result.words, words) << text_of_schema;
  }
}

TEST(JsonSchema, LosesNoDigit) {
  constexpr std::string_view kSchema = R"({"maximum":9007199254740992})";
  EXPECT_EQ(check(kSchema, "9007199254740992").fit, Fit::fits);
  EXPECT_EQ(check(kSchema, "9007199254740993").fit, Fit::differs);
  EXPECT_EQ(check(R"({"const":12345678901234567890123})", "12345678901234567890124").fit,
            Fit::differs);
}

TEST(JsonSchema, RefusesWhatItCannotCompile) {
  for (const std::string_view text : {
           R"(1)",
           R"({"type":"strin"})",
           R"({"$schema":"http://json-schema.org/draft-04/schema#"})",
           R"({"$ref":"http://example.com/other.json"})",
           R"({"$ref":"#/$defs/none"})",
           R"({"$ref":"#"})",
           R"({"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#"}]}}})",
           R"x({"pattern":"(?=a)"})x",
           R"({"items":[{}]})",
           R"({"properties":[]})",
           R"({"minLength":-1})",
           R"({"multipleOf":0})",
           R"({"type":"object","type":"array"})",
       }) {
    EXPECT_FALSE(JsonSchema::compile(text)) << text;
  }
  EXPECT_FALSE(
      JsonSchema::compile("{\"description\":\"" + std::string(JsonSchema::kMaxText, 'x') + "\"}"));
  std::string many = R"({"anyOf":[{})";
  for (size_t i = 0; i < JsonSchema::kMaxNodes; ++i) many += ",{}";
  EXPECT_FALSE(JsonSchema::compile(many + "]}"));
}

TEST(JsonSchema, FollowsRecursionAsDeepAsTheTextGoes) {
  constexpr std::string_view kTree =
      R"({"type":"object","properties":{"next":{"$ref":"#"}},"additionalProperties":false})";
  std::string deep = "{}";
  for (int i = 0; i < 100; ++i) deep = R"({"next":)" + deep + "}";
  EXPECT_EQ(check(kTree, deep).fit, Fit::fits);
  std::string deeper = "1";
  for (int i = 0; i < 100; ++i) deeper = R"({"next":)" + deeper + "}";
  EXPECT_EQ(check(kTree, deeper).fit, Fit::differs);
  std::string deepest = "{}";
  for (size_t i = 0; i < SchemaCheck::kMaxDepth; ++i) deepest = R"({"next":)" + deepest + "}";
  EXPECT_EQ(check(kTree, deepest).fit, Fit::unclear);
}

TEST(JsonSchema, GivesUpInBoundedTime) {
  std::string schema_text = R"({"$ref":"#/$defs/d0","$defs":{)";
  for (int i = 0; i < 30; ++i) {
    const std::string next = R"({"$ref":"#/$defs/d)" + std::to_string(i + 1) + "\"}";
    schema_text += "\"d" + std::to_string(i) + R"(":{"anyOf":[)" + next + "," + next + "]},";
  }
  schema_text += R"("d30":false}})";
  const auto start = std::chrono::steady_clock::now();
  const Result result = check(schema_text, "1");
  EXPECT_EQ(result.fit, Fit::unclear);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(JsonSchema, DoesNotTakeANegationOfWhatItGaveUpForAFit) {
  std::string schema_text = R"({"not":{"$ref":"#/$defs/d0"},"$defs":{)";
  for (int i = 0; i < 30; ++i) {
    const std::string next = R"({"$ref":"#/$defs/d)" + std::to_string(i + 1) + "\"}";
    schema_text += "\"d" + std::to_string(i) + R"(":{"anyOf":[)" + next + "," + next + "]},";
  }
  EXPECT_EQ(check(schema_text + R"("d30":false}})", "1").fit, Fit::unclear);
}

}  // namespace

// Keys that could be mistaken for keys that a schema declares.

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
