// UTF-8 sequences, and cuts at every position.
#include "gateway/base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace stdgate {
namespace {

TEST(Utf8, SizesOfSequences) {
  const std::pair<std::string_view, size_t> cases[] = {
      {"a", 1},
      {"\x7f", 1},
      {"\xc2\x80", 2},
      {"\xdf\xbf", 2},
      {"\xe0\xa0\x80", 3},
      {"\xef\xbf\xbf", 3},
      {"\xf0\x90\x80\x80", 4},
      {"\xf4\x8f\xbf\xbf", 4},
      {"\x80", 0},              // a continuation
      {"\xc1\xbf", 0},          // overlong
      {"\xe0\x9f\xbf", 0},      // overlong
      {"\xf0\x8f\xbf\xbf", 0},  // overlong
      {"\xed\xa0\x80", 0},      // a surrogate
      {"\xf4\x90\x80\x80", 0},  // beyond U+10FFFF
      {"\xf5\x80\x80\x80", 0},
      {"\xff", 0},
      {"\xc3", 0},  // cut off
      {"\xe2\x82", 0},
      {"\xc3(", 0},
  };
  for (const auto& [text, size] : cases) EXPECT_EQ(utf8_sequence_size(text), size) << text;
}

TEST(Utf8, CutsBetweenCharactersWhereverTheLimitIs) {
  const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";  // aé€😀z
  const size_t ends[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
  for (size_t limit = 0; limit < std::size(ends); ++limit) {
    EXPECT_EQ(cut_utf8(text, limit), text.substr(0, ends[limit])) << limit;
  }
}

TEST(Utf8, CutsBytesThatAreNoUtf8AtTheLimit) {
  EXPECT_EQ(cut_utf8("\x80\x80\x80\x80\x80", 4), "\x80\x80\x80\x80");
  EXPECT_EQ(cut_utf8("\xff\xff\xff", 2), "\xff\xff");
  EXPECT_EQ(cut_utf8("\xc3\xa9\xa9\xa9", 3), "\xc3\xa9\xa9");
  EXPECT_EQ(cut_utf8("\xc3", 1), "\xc3");  // nothing is cut
}

}  // namespace
}  // namespace stdgate
