#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "gateway/schema/json_tree.h"

namespace stdgate {
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
}  // namespace stdgate
