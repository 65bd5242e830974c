// What of the header is passed on (W3C Baggage, section 3.3).
#include "gateway/base/baggage.h"

#include <gtest/gtest.h>

#include <string>

namespace stdgate {
namespace {

TEST(Baggage, IsPassedOnAsItCame) {
  for (const std::string good :
       {"a=1", "a=", "key1=value1;property1;property2, key2 = value2, key3=value3; propertyKey=x",
        "serverNode=DF%2028,isProduction=false", "a=b=c", "!#$%&'*+-.^_`|~0Az=!~[]{}<>@/?:()",
        "a\t=\t1 ;\tp , b=2"}) {
    EXPECT_EQ(Baggage(good).text(), good);
    EXPECT_FALSE(Baggage(good).is_none()) << good;
  }
}

TEST(Baggage, IsNoneIfAnyOfItIsMalformed) {
  for (const std::string bad :
       {"",       " ",      ",",     "a",          "=1",         "a=1,",  ",a=1",    "a=1,,b=2",
        "a=1;",   "a=1;;p", "a;p=1", "a=1;=2",     "a b=1",      "a=b c", "a=\"b\"", "a=\\",
        "a=\x7f", "a=\x01", "a=1\n", "\xc3\xa4=1", "a=\xc3\xa4", "a=1,b", "a=1;p q"}) {
    EXPECT_TRUE(Baggage(bad).is_none()) << bad;
    EXPECT_EQ(Baggage(bad).text(), "");
  }
}

TEST(Baggage, UpToItsLimits) {
  const std::string longest = "a=" + std::string(Baggage::kMaxBytes - 2, 'x');
  EXPECT_EQ(Baggage(longest).text(), longest);
  EXPECT_TRUE(Baggage(longest + "x").is_none());
  std::string most = "a=1";
  for (size_t i = 1; i < Baggage::kMaxMembers; ++i) most += ",a=1";
  EXPECT_EQ(Baggage(most).text(), most);
  EXPECT_TRUE(Baggage(most + ",a=1").is_none());
}

TEST(Baggage, CopiesShareTheText) {
  const Baggage one("a=1");
  const Baggage copy = one;  // NOLINT(performance-unnecessary-copy-initialization): that is tested
  EXPECT_EQ(one.text().data(), copy.text().data());
  EXPECT_EQ(one, Baggage("a=1"));
  EXPECT_NE(one, Baggage());
}

}  // namespace
}  // namespace stdgate
