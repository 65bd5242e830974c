// Canonical JSON (RFC 8785), with the examples of the RFC.
#include "gateway/schema/canonical_json.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "gateway/schema/json_tree.h"

namespace stdgate {
namespace {

using schema::canonical_json;

TEST(CanonicalJson, HasOneSpellingOfAValue) {
  const std::pair<std::string, std::string> cases[] = {
      {" null ", "null"},
      {"[ ]", "[]"},
      {"{ }", "{}"},
      {R"({ "b" : 1 , "a" : [ true , false ] })", R"({"a":[true,false],"b":1})"},
      // RFC 8785, section 3.2.2.
      {R"({"numbers":[1E30,4.50,2e-3,0.000000000000000000000000001],)"
       R"("string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]})",
       R"({"literals":[null,true,false],"numbers":[1e+30,4.5,0.002,1e-27],)"
       "\"string\":\"\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"},
      // Section 3.2.3: keys are sorted by UTF-16 code units, so a surrogate comes before U+FB33.
      {R"({"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7})",
       "{\"\\r\":2,\"1\":4,\"\u0080\":6,\"\u00f6\":7,\"\u20ac\":1,\"\U0001F600\":5,\"\uFB33\":3}"},
      {R"({"":1,"\u0000":2})", R"({"":1,"\u0000":2})"},
      {"-0", "0"},
      {"-0.0", "0"},
      {"1.0", "1"},
      {"10e-1", "1"},
      {"1e21", "1e+21"},
      {"1e20", "100000000000000000000"},
      {"1e-7", "1e-7"},
      {"0.000001", "0.000001"},
      {"9007199254740992", "9007199254740992"},
  };
  for (const auto& [text, canonical] : cases) {
    EXPECT_EQ(canonical_json(text).value_or("nothing"), canonical) << text;
    EXPECT_EQ(canonical_json(canonical).value_or("nothing"), canonical);
  }
}

TEST(CanonicalJson, NumbersThatNoDoubleHoldsStayApart) {
  EXPECT_NE(canonical_json("9007199254740993"), canonical_json("9007199254740992"));
  EXPECT_NE(canonical_json("1e400"), canonical_json("1e401"));
}

TEST(CanonicalJson, AKeyThatIsThereTwiceIsNoOneValue) {
  for (const char* text : {R"({"a":1,"a":1})", R"([{"b":{"a":1,"\u0061":2}}])", R"({"":1,"":2})"}) {
    EXPECT_FALSE(canonical_json(text)) << text;
  }
  EXPECT_TRUE(canonical_json(R"({"a":{"a":1},"b":[{"a":1},{"a":1}]})"));
}

// RFC 8785, section 3.2.2.2.
TEST(CanonicalJson, HalfOfAPairOfSurrogatesIsNoText) {
  for (const char* text : {R"("\ud800")", R"(["\udc00"])", R"({"a":"x\ud800\n"})",
                           R"({"\udfff":1})", R"("\ud800\ud800\udc00")", R"("\\\ud800")"}) {
    EXPECT_FALSE(canonical_json(text)) << text;
  }
  for (const char* text : {R"("\ud83d\ude00")", R"("\\ud800")", R"("\ufffd\"")"}) {
    EXPECT_TRUE(canonical_json(text)) << text;
  }
}

TEST(CanonicalJson, OfManyValuesIsNothing) {
  std::string text = "[";
  for (size_t i = 0; i + 1 < schema::JsonTree::kMaxValues; ++i) text += "0,";
  text.back() = ']';
  EXPECT_TRUE(canonical_json(text));
  text.insert(1, "0,");
  EXPECT_FALSE(canonical_json(text));
}

TEST(CanonicalJson, IsJsonToItsDepth) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(schema::is_json(nested(schema::kMaxJsonDepth)));
  EXPECT_FALSE(schema::is_json(nested(schema::kMaxJsonDepth + 1)));
  for (const char* text : {"", "{", "nul", "[1,]", "{\"a\":1,}", "\"\xff\"", "1 2", "'a'"}) {
    EXPECT_FALSE(schema::is_json(text)) << text;
  }
}

}  // namespace
}  // namespace stdgate
