#include "gateway/schema/json_tree.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "gateway/schema/schema_reference.h"

namespace stdgate {

namespace {

using schema::JsonKind;
using schema::JsonTree;

TEST(JsonTree, KnowsEveryValueAndWhatIsBehind) {
  JsonTree tree;
  const std::string text = R"( {"a" : [1, {"b":null}, "x\u0041"], "c":true,"\u0064":-1.5e3 } )";
  ASSERT_TRUE(tree.read(text));
  EXPECT_EQ(tree.size(), 12U);
  EXPECT_EQ(tree.count(0), 3U);
  const auto a = tree.find(0, "a");
  ASSERT_TRUE(a);
  EXPECT_EQ(tree.kind(*a), JsonKind::array);
  EXPECT_EQ(tree.count(*a), 3U);
  EXPECT_EQ(tree.raw(*a), R"([1, {"b":null}, "x\u0041"])");
  std::string scratch;
  EXPECT_EQ(tree.string(*a + 5, scratch), "xA");
  EXPECT_EQ(tree.raw(*tree.find(0, "d")), "-1.5e3");
  EXPECT_EQ(tree.next(0), tree.size());
  EXPECT_FALSE(tree.find(0, "b"));
}

TEST(JsonTree, HasALimit) {
  JsonTree tree;
  std::string text = "[0";
  for (size_t i = 2; i < JsonTree::kMaxValues; ++i) text += ",0";
  EXPECT_TRUE(tree.read(text + "]"));
  EXPECT_FALSE(tree.read(text + ",0]"));
}

TEST(JsonTree, FindsKeysThatAreThereTwice) {
  const auto has_twice = [](const std::string& text) {
    JsonTree tree;
    EXPECT_TRUE(tree.read(text));
    return schema::find_duplicate_key(tree).has_value();
  };
  EXPECT_TRUE(has_twice(R"({"a":1,"a":2})"));
  EXPECT_TRUE(has_twice(R"({"a":1,"\u0061":2})"));
  EXPECT_TRUE(has_twice(R"([{"x":{"a":1,"b":1,"a":2}}])"));
  EXPECT_FALSE(has_twice(R"({"a":{"a":1},"b":{"a":1},"A":1})"));
  std::string many = "{";
  for (int i = 0; i < 100; ++i) many += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_FALSE(has_twice(many + "\"z\":0}"));
  EXPECT_TRUE(has_twice(many + "\"k50\":0}"));
}

TEST(JsonTree, ComparesValues) {
  const auto equal = [](const std::string& one, const std::string& other) {
    JsonTree first;
    JsonTree second;
    EXPECT_TRUE(first.read(one) && second.read(other));
    size_t steps = 1000;
    const bool is_equal = equal_values(first, 0, second, 0, steps);
    EXPECT_TRUE(!is_equal || hash_value(first, 0) == hash_value(second, 0)) << one;
    return is_equal;
  };
  EXPECT_TRUE(equal(R"({"a":1,"b":[1.0,"x"]})", R"({"b":[1,"\u0078"],"a":10e-1})"));
  EXPECT_FALSE(equal(R"({"a":1})", R"({"a":1,"b":1})"));
  EXPECT_FALSE(equal("[1,2]", "[2,1]"));
  EXPECT_FALSE(equal("0", "false"));
  EXPECT_FALSE(equal("1", "\"1\""));
  EXPECT_FALSE(equal("9007199254740992", "9007199254740993"));
}

}  // namespace

namespace {

using schema::JsonNumber;

TEST(JsonNumber, ComparesWithAllDigits) {
  struct Case {
    std::string_view less;
    std::string_view more;
  };
  constexpr Case kCases[] = {
      {"9007199254740992", "9007199254740993"},
      {"-9007199254740993", "-9007199254740992"},
      {"99999999999999999999999999999998", "99999999999999999999999999999999"},
      {"0.1", "0.10000000000000000000001"},
      {"-1", "0"},
      {"0", "1e-400"},
      {"1e400", "1e401"},
      {"9.99e2", "1000"},
      {"-1e10", "-1e9"},
      {"1e999999999999999999999", "1.1e999999999999999999999"},
  };
  for (const auto& [less, more] : kCases) {
    EXPECT_LT(JsonNumber(less), JsonNumber(more)) << less;
    EXPECT_GT(JsonNumber(more), JsonNumber(less)) << less;
  }
}

TEST(JsonNumber, IsTheSameHoweverItIsWritten) {
  for (const std::string_view text : {"100", "1e2", "1.0E+2", "1000e-1", "100.000"}) {
    EXPECT_EQ(JsonNumber(text), JsonNumber("100")) << text;
    EXPECT_EQ(JsonNumber(text).hash(), JsonNumber("100").hash()) << text;
    EXPECT_TRUE(schema::is_integer_text(text)) << text;
  }
  EXPECT_EQ(JsonNumber("-0"), JsonNumber("0.0e5"));
  EXPECT_FALSE(schema::is_integer_text("1e-1"));
  EXPECT_FALSE(schema::is_integer_text("1.5"));
  EXPECT_TRUE(schema::is_integer_text("1.5e1"));
}

TEST(JsonNumber, DividesWithoutLoss) {
  struct Case {
    std::string_view number;
    std::string_view divisor;
    bool divides;
  };
  constexpr Case kCases[] = {
      {"0.3", "0.1", true},
      {"4.5", "1.5", true},
      {"35", "1.5", false},
      {"0.0075", "0.0001", true},
      {"0.00751", "0.0001", false},
      {"1e308", "0.123456789", false},
      {"12391239123", "1e-8", true},
      {"9007199254740993", "2", false},
      {"-10", "5", true},
      {"0", "7", true},
      {"1e1000000000", "7", false},
      {"7e1000000000", "7", true},
      {"10", "100", false},
      {"200", "100", true},
  };
  for (const auto& [number, divisor, divides] : kCases) {
    EXPECT_EQ(JsonNumber(number).is_multiple_of(JsonNumber(divisor)), divides)
        << number << " / " << divisor;
  }
  EXPECT_FALSE(JsonNumber("0").can_divide());
  EXPECT_FALSE(JsonNumber("-1").can_divide());
  EXPECT_TRUE(JsonNumber("123456789012345678").can_divide());
  EXPECT_FALSE(JsonNumber("1234567890123456789").can_divide());
}

}  // namespace

// JSON pointers into small and large objects and arrays.

namespace {

using schema::JsonTree;
using schema::PointerIndex;

std::string raw_at(const std::string& text, const std::string& pointer) {
  JsonTree tree;
  EXPECT_TRUE(tree.read(text));
  PointerIndex index(tree);
  std::string found = "none";
  // The second look-up uses the index.
  for (int look = 0; look < 2; ++look) {
    const auto at = index.follow(0, pointer);
    found = at ? std::string(tree.raw(*at)) : "none";
  }
  return found;
}

TEST(PointerIndex, LeadsToMembersAndElements) {
  for (const size_t count : {3UL, size_t{PointerIndex::kFew}, PointerIndex::kFew + 1UL, 5000UL}) {
    std::string object = R"({"a/b":"slash","m~n":"tilde","":"empty","\u00e4":"umlaut")";
    std::string array = "[";
    for (size_t i = 0; i < count; ++i) {
      object += R"(,"k)" + std::to_string(i) + "\":" + std::to_string(i);
      array += (i > 0 ? "," : "") + std::to_string(i);
    }
    const std::string last = std::to_string(count - 1);
    const std::string text = R"({"o":)" + object + R"(},"l":)" + array + "]}";
    EXPECT_EQ(raw_at(text, "/o/k" + last), last);
    EXPECT_EQ(raw_at(text, "/o/k" + std::to_string(count)), "none");
    EXPECT_EQ(raw_at(text, "/o/a~1b"), R"("slash")");
    EXPECT_EQ(raw_at(text, "/o/m~0n"), R"("tilde")");
    EXPECT_EQ(raw_at(text, "/o/"), R"("empty")");
    EXPECT_EQ(raw_at(text, "/o/ä"), R"("umlaut")");
    EXPECT_EQ(raw_at(text, "/l/" + last), last);
    EXPECT_EQ(raw_at(text, "/l/" + std::to_string(count)), "none");
    for (const std::string wrong : {"/l/-", "/l/x", "/l/1x", "o", "/o/k0/x", "/l/0/0"}) {
      EXPECT_EQ(raw_at(text, wrong), "none") << wrong;
    }
    EXPECT_EQ(raw_at(text, ""), text);
  }
}

}  // namespace

}  // namespace stdgate
