// Laying JSON out for people.
#include <gtest/gtest.h>

#include "gateway/tools/listing.h"

namespace stdgate::tools {
namespace {

TEST(JsonLayout, OneMemberALine) {
  EXPECT_EQ(laid_out(R"({"a":[1, 2.50],"b":{},"c":[ ],"d":{"e":null}})"), R"({
  "a": [
    1,
    2.50
  ],
  "b": {},
  "c": [],
  "d": {
    "e": null
  }
})");
}

TEST(JsonLayout, ValuesStayAsTheyAreSpelled) {
  for (const char* const value :
       {"12345678901234567890", "-0.0e+00", R"("a,b:{c}\"\u00e9")", "true", "[]", "\"\""}) {
    EXPECT_EQ(laid_out(value), value);
  }
}

TEST(JsonLayout, WhatATerminalWouldObeyIsMadeVisible) {
  EXPECT_EQ(laid_out("\"a\xc2\x9b"
                     "b\""),
            "\"a\\u009bb\"");
}

}  // namespace
}  // namespace stdgate::tools
