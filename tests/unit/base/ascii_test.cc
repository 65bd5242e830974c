// ASCII text, and places in texts.

#include "gateway/base/ascii.h"

#include <gtest/gtest.h>

#include "gateway/base/text_place.h"

namespace stdgate {
namespace {

TEST(Ascii, EqualsIgnoringCase) {
  EXPECT_TRUE(equals_ignoring_case("Content-LENGTH", "content-length"));
  EXPECT_TRUE(equals_ignoring_case("", ""));
  EXPECT_FALSE(equals_ignoring_case("content-lengt", "content-length"));
  EXPECT_FALSE(equals_ignoring_case("\xc3\x84", "\xc3\xa4")) << "no ASCII, so no case";
  EXPECT_FALSE(equals_ignoring_case("@[", "`{")) << "beside the letters";
}

TEST(Ascii, Trim) {
  EXPECT_EQ(trim("\t a b \t"), "a b");
  EXPECT_EQ(trim(" \t"), "");
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim("\na\n"), "\na\n");
  EXPECT_EQ(trim("\na\n", " \n"), "a");
}

TEST(TextPlace, WithReplaced) {
  const std::string_view text = R"({"id":12})";
  const TextPlace place = place_of(text.substr(6, 2), text);
  EXPECT_EQ(place.offset, 6U);
  EXPECT_EQ(place.length, 2U);
  const auto parts = with_replaced(text, place, "7");
  EXPECT_EQ(parts[0], R"({"id":)");
  EXPECT_EQ(parts[1], "7");
  EXPECT_EQ(parts[2], "}");
  EXPECT_EQ(place_of({}, text).length, 0U);
}

}  // namespace
}  // namespace stdgate
