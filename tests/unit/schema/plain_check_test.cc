// The check in one pass over a text. The pass accepts nothing that the full check refuses, and it
// accepts the usual texts.
#include "gateway/schema/plain_check.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/schema/json_schema.h"
#include "gateway/schema/schema_check.h"

namespace stdgate {
namespace {

using schema::Fit;
using schema::JsonSchema;

constexpr std::string_view kTen =
    R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer","minimum":-5},)"
    R"("c":{"type":"integer","maximum":9007199254740993},"d":{"type":"string","minLength":2,)"
    R"("maxLength":4},"e":{"enum":["x","y",1]},"f":{"type":["string","null"]},)"
    R"("g":{"type":"array","items":{"type":"number"},"maxItems":3},"h":{"const":true},)"
    R"("i":{"anyOf":[{"type":"object","required":["a"]},{"type":"boolean"}]},)"
    R"("j":{"type":"string","pattern":"^[a-z]+$"}},"required":["a"],"additionalProperties":false})";

constexpr std::string_view kSchemas[] = {
    kTen,
    "true",
    "false",
    "{}",
    R"({"type":"integer"})",
    R"({"type":["integer","string"]})",
    R"({"type":"number","exclusiveMinimum":1,"exclusiveMaximum":3})",
    R"({"minimum":1.5})",
    R"({"minimum":-1,"maximum":2})",
    R"({"exclusiveMinimum":0,"maximum":1})",
    R"({"multipleOf":2})",
    R"({"maximum":123456789012345678901234567890})",
    R"({"const":{"a":1}})",
    R"({"enum":[[1],{"a":1},"a",null]})",
    R"({"minLength":1})",
    R"({"minProperties":1,"maxProperties":2})",
    R"({"properties":{"a":false}})",
    R"({"properties":{"a\\b":{"type":"string"},"\u00e4":{"type":"integer"}}})",
    R"({"required":["a","z"]})",
    R"({"required":["z"],"additionalProperties":{"type":"integer"}})",
    R"({"additionalProperties":{"type":"string"}})",
    R"({"patternProperties":{"^a":{"type":"string"}}})",
    R"({"propertyNames":{"maxLength":1}})",
    R"({"dependentRequired":{"a":["b"]}})",
    R"({"unevaluatedProperties":false,"properties":{"a":true}})",
    R"({"prefixItems":[{"type":"integer"},{"type":"string"}],"items":false})",
    R"({"items":{"type":"integer"},"minItems":1})",
    R"({"uniqueItems":true})",
    R"({"contains":{"type":"string"}})",
    R"({"allOf":[{"type":"object"},{"required":["a"]}]})",
    R"({"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"array"}]})",
    R"({"anyOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"a":{"type":"integer"}}}]})",
    R"({"oneOf":[{"type":"integer"},{"minimum":2}]})",
    R"({"not":{"type":"string"}})",
    R"({"if":{"type":"string"},"then":{"minLength":3}})",
    R"({"type":"object","allOf":[{"additionalProperties":{"type":"integer"}}]})"};

constexpr const char* kManyKeys =
    R"({"k1":1,"k2":1,"k3":1,"k4":1,"k5":1,"k6":1,"k7":1,"k8":1,"k9":1,"k10":1,"k11":1,"k12":1,)"
    R"("k13":1,"k14":1,"k15":1,"k16":1,"k17":1})";
constexpr const char* kDeep =
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]"
    "]]]]]"
    "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]";

constexpr std::string_view kTexts[] = {
    "{}",
    "[]",
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1",
    "2",
    "-6",
    "1.0",
    "1.5",
    "0.5",
    "-0.5",
    "-0.0",
    "-1.0",
    "-1.5",
    "2.0",
    "2.5",
    "2.5e-1",
    "9007199254740993.5",
    "10e-1",
    "2E0",
    "9007199254740992",
    "9007199254740993",
    "9007199254740994",
    "123456789012345678901234567890",
    R"("")",
    R"("a")",
    R"("\u0061")",
    R"("ä")",
    R"("abc")",
    "[1]",
    "[ 1 , \"a\" ]",
    R"(["a",1])",
    "[1,1]",
    R"([{"a":1,"a":2}])",
    R"({"a":1})",
    R"({"a":1.0})",
    R"({"a":"x"})",
    R"({"\u0061":1})",
    R"({"a":1,"a":1})",
    R"({"a":1,"\u0061":1})",
    R"({"z":1,"z":1})",
    R"({"z":{"y":1,"y":2}})",
    R"({ "a" : 1 , "b" : -5 })",
    R"({"a":1,"b":-6})",
    R"({"b":1})",
    R"({"a":1,"c":9007199254740993})",
    R"({"a":1,"c":9007199254740994})",
    R"({"a":1,"d":"abcd"})",
    R"({"a":1,"d":"abcde"})",
    R"({"a":1,"d":"ä"})",
    R"({"a":1,"e":"x"})",
    R"({"a":1,"e":1.0})",
    R"({"a":1,"e":"z"})",
    R"({"a":1,"f":null,"g":[1,2.5,-3e7]})",
    R"({"a":1,"g":[1,2,3,4]})",
    R"({"a":1,"g":["1"]})",
    R"({"a":1,"h":true,"i":{"a":0}})",
    R"({"a":1,"i":{}})",
    R"({"a":1,"i":false,"j":"abc"})",
    R"({"a":1,"j":"ABC"})",
    R"({"a":1,"k":1})",
    R"({"a\\b":"x"})",
    R"({"a\\b":1})",
    R"({"ä":1})",
    R"({"ä":"x"})",
    R"({"a":1,"b":2,"c":3})",
    kManyKeys,
    kDeep,
};

bool is_plainly(std::string_view schema_text, std::string_view text) {
  const auto compiled = JsonSchema::compile(schema_text);
  EXPECT_TRUE(compiled) << compiled.error();
  return schema::fits_plainly(compiled->compiled(), 0, text) != schema::PlainFit::unclear;
}

TEST(PlainCheck, NeverSaysMoreThanTheWholeCheck) {
  size_t plain = 0;
  for (const std::string_view text : kSchemas) {
    // Keywords that the one pass does not know make the full check run instead.
    const auto whole = JsonSchema::compile(R"({"not":false,"allOf":[)" + std::string(text) + "]}");
    ASSERT_TRUE(whole) << whole.error();
    schema::SchemaCheck check;
    for (const std::string_view value : kTexts) {
      if (!is_plainly(text, value)) continue;
      ++plain;
      EXPECT_EQ(check.check(*whole, value), Fit::fits) << text << " of " << value;
      EXPECT_FALSE(check.repeated_key()) << text << " of " << value;
    }
  }
  EXPECT_GT(plain, 400U);
}

TEST(PlainCheck, SaysWhatIsUsual) {
  for (const std::string_view text :
       {R"({"a":1})", R"({"a":1,"b":-5,"c":9007199254740993})", R"({"a":-7,"d":"abc","e":"y"})",
        R"({"j":"abc","a":1})", R"({ "a" : 1 , "f" : null , "g" : [ 1 , 2.5 ] })",
        R"({"a":1,"h":true,"i":{"a":0,"z":[1]}})", R"({"a":1,"i":false})"}) {
    EXPECT_TRUE(is_plainly(kTen, text)) << text;
  }
  const std::string_view nested =
      R"({"$defs":{"p":{"type":"object","properties":{"n":{"$ref":"#/$defs/p"}}}},"$ref":"#/$defs/p"})";
  EXPECT_TRUE(is_plainly(nested, R"({"n":{"n":{"n":{}}}})"));
  EXPECT_FALSE(is_plainly(nested, R"({"n":{"n":{"n":1}}})"));
}

// Names of all lengths, many with equal beginnings or ends.
TEST(PlainCheck, KnowsPropertiesInAnyOrder) {
  constexpr std::string_view kNames =
      R"({"properties":{"a":{"type":"integer"},"sixsix":{"type":"integer"},)"
      R"("filename_one":{"type":"string"},"filename_two":{"type":"integer"},)"
      R"("filename_of_the_first_place":{"type":"string"},)"
      R"("filename_of_the_other_place":{"type":"integer"},"ab":{"type":"boolean"}},)"
      R"("required":["filename_two","ab"],"additionalProperties":false})";
  for (const std::string_view text :
       {R"({"ab":true,"filename_two":2})", R"({"filename_two":2,"ab":false})",
        R"({"a":1,"sixsix":6,"filename_one":"1","filename_two":2,"filename_of_the_first_place":"",)"
        R"("filename_of_the_other_place":3,"ab":true})",
        R"({"filename_of_the_other_place":3,"filename_of_the_first_place":"x","ab":true,)"
        R"("filename_two" : 2 , "a":-1})",
        R"({"sixsix":0,"ab":true,"a":1,"filename_two":2,"filename_one":"with \" and \u0041"})"}) {
    EXPECT_TRUE(is_plainly(kNames, text)) << text;
  }
  for (const std::string_view text :
       {R"({"ab":true})", R"({"ab":true,"filename_two":"2"})", R"({"ab":true,"filename_tw0":2})",
        R"({"ab":true,"filename_two":2,"ab":true})", R"({"filename_two":2,"ab":1})",
        R"({"ab":true,"filename_two":2,"filename_two":2})", R"({"ab":true,"filename_twoo":2})",
        R"({"ab":true,"filename_two":2,"filename_of_the_third_place":"x"})",
        R"({"ab":true,"filename_two":2,"filename_of_the_other_plate":3})",
        R"({"ab":true,"filename_two":2.5})", R"({"ab":true,"filename_two":2,"abc":true})"}) {
    EXPECT_FALSE(is_plainly(kNames, text)) << text;
  }
}

// Strings of all lengths, with a special byte at each position, at the end of the text and before
// it. No byte follows the text.
TEST(PlainCheck, FindsWhereStringsEnd) {
  constexpr std::array<std::string_view, 4> kTails = {R"("})", R"(" })", R"(","z":""})",
                                                      R"(","z":"a longer one"})"};
  const auto schema = JsonSchema::compile(
      R"({"properties":{"s":{"type":"string","maxLength":12},"t":{"type":"string"},)"
      R"("u":{"items":{"type":"string"}},"v":{"enum":["ab","cd","longer"]}}})");
  ASSERT_TRUE(schema) << schema.error();
  const auto is_plain = [&](const std::string& text) {
    const std::vector<char> bytes(text.begin(), text.end());
    const std::string_view view(bytes.data(), bytes.size());
    return schema::fits_plainly(schema->compiled(), 0, view) != schema::PlainFit::unclear;
  };
  for (size_t size = 0; size < 40; ++size) {
    const std::string plain(size, 'x');
    for (const std::string_view tail : kTails) {
      EXPECT_EQ(is_plain(R"({"s":")" + plain + std::string(tail)), size <= 12) << size << tail;
      EXPECT_TRUE(is_plain(R"({"t":")" + plain + std::string(tail))) << size << tail;
    }
    EXPECT_TRUE(is_plain(R"({"u":[")" + plain + "\"]}"));
    EXPECT_TRUE(is_plain(R"({"u":[")" + plain + R"(",")" + plain + "\"],\"t\":\"\"}"));
    for (const char* const special : {R"(\")", R"(\\)", R"(\\\")", "é", R"(A)"}) {
      for (size_t at = 0; at <= size; ++at) {
        std::string text = plain;
        text.insert(at, special);
        EXPECT_TRUE(is_plain(R"({"t":")" + text + "\"}")) << text;
        EXPECT_TRUE(is_plain(R"({"t":")" + text + R"(","s":"x"})")) << text;
        EXPECT_EQ(is_plain(R"({"s":")" + text + "\"}"), size < 12 && special[0] == 'A') << text;
      }
    }
  }
  for (const char* const value : {"ab", "cd", "longer"}) {
    EXPECT_TRUE(is_plain(R"({"v":")" + std::string(value) + "\"}")) << value;
  }
  for (const char* const value :
       {"", "a", "ad", "abc", "cb", "longes", "xonger", "lonxer", "longerr"}) {
    EXPECT_FALSE(is_plain(R"({"v":")" + std::string(value) + "\"}")) << value;
  }
}

std::string repeated(const std::string& head, const std::string& one, size_t times,
                     const std::string& tail) {
  std::string text = head;
  for (size_t i = 0; i < times; ++i) text += one;
  return text + tail;
}

TEST(PlainCheck, ItsLimitsLeadToTheWholeCheck) {
  const auto members = [](size_t count) {
    std::string text = "{";
    for (size_t i = 0; i < count; ++i) {
      text += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":1";
    }
    return text + "}";
  };
  using schema::PlainLimits;
  EXPECT_TRUE(is_plainly("{}", members(PlainLimits::kMaxOthers)));
  EXPECT_FALSE(is_plainly("{}", members(PlainLimits::kMaxOthers + 1)));
  const auto nested = [](size_t depth) {
    return repeated("", "[", depth, "") + repeated("", "]", depth, "");
  };
  EXPECT_TRUE(is_plainly("{}", nested(PlainLimits::kMaxDepth)));
  EXPECT_FALSE(is_plainly("{}", nested(PlainLimits::kMaxDepth + 1)));
  const auto properties = [](size_t count) {
    std::string text = R"({"properties":{)";
    for (size_t i = 0; i < count; ++i) {
      text += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":true";
    }
    return text + "}}";
  };
  EXPECT_TRUE(is_plainly(properties(PlainLimits::kMaxProperties), R"({"k63":1})"));
  EXPECT_FALSE(is_plainly(properties(PlainLimits::kMaxProperties + 1), R"({"k63":1})"));
}

// Nested alternatives would take 3^20 looks.
TEST(PlainCheck, AlternativesAreBounded) {
  std::string text = R"({"type":"integer"})";
  for (int i = 0; i < 20; ++i) {
    text = R"({"anyOf":[)" + text + R"(,{"type":"null"}]})";
  }
  std::string defs = R"({"$defs":{"d0":{"type":"integer"})";
  for (int i = 1; i <= 20; ++i) {
    const std::string ref = R"({"$ref":"#/$defs/d)" + std::to_string(i - 1) + "\"}";
    defs += ",\"d" + std::to_string(i) + R"(":{"anyOf":[)" + ref + "," + ref + "," + ref + "]}";
  }
  defs += R"(},"$ref":"#/$defs/d20"})";
  EXPECT_FALSE(is_plainly(defs, R"("x")"));
  EXPECT_TRUE(is_plainly(text, "null"));
}

// Each look at a long text counts by its length, whatever its result.
TEST(PlainCheck, LooksAtALongTextAreBounded) {
  std::string defs = R"({"$defs":{"d0":{"type":"boolean"})";
  for (int i = 1; i <= 20; ++i) {
    const std::string ref = R"({"$ref":"#/$defs/d)" + std::to_string(i - 1) + "\"}";
    defs += ",\"d" + std::to_string(i) + R"(":{"anyOf":[)" + ref + "," + ref + "," + ref + "," +
            ref + "]}";
  }
  defs += R"(},"$ref":"#/$defs/d20"})";
  for (const std::string& text :
       {"\"" + std::string(300'000, 'x') + "\"", std::string(300'000, '7')}) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(is_plainly(defs, text));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  }
}

// An alternative that fails at the first character counts too.
TEST(PlainCheck, AlternativesThatFailAtOnceAreBounded) {
  const auto many = [](const std::string& one, int times) {
    std::string all = R"({"anyOf":[)" + one;
    for (int i = 1; i < times; ++i) all.append(",").append(one);
    return all + "]}";
  };
  const auto ref = [](const std::string& name) { return R"({"$ref":"#/$defs/)" + name + "\"}"; };
  const std::string schema = R"({"properties":{"a":)" + many(ref("c"), 60) + R"(},"$defs":{"c":)" +
                             many(ref("b"), 1000) + R"(,"b":)" + many("false", 10'000) + "}}";
  const std::string text = R"({"a":1,"b":")" + std::string(20'000, 'x') + "\"}";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(is_plainly(schema, text));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

}  // namespace
}  // namespace stdgate
