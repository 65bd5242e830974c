#include "gateway/schema/json_tree.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

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
}  // namespace stdgate
