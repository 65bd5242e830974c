// What is escaped for a terminal or a log, in each form.
#include "gateway/base/visible_text.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

#include "gateway/base/utf8.h"

namespace stdgate {
namespace {

constexpr std::array kForms{VisibleText::json, VisibleText::quoted, VisibleText::line,
                            VisibleText::lines};

std::string utf8(uint32_t code) {
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) {
    return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
  }
  return {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
          static_cast<char>(0x80 | (code & 0x3f))};
}

std::string code_unit(uint32_t code) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "\\u%04x", code);
  return text.data();
}

bool must_be_escaped(uint32_t code) {
  return (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

TEST(VisibleText, EscapesEachHiddenCharacterAndNoOther) {
  for (uint32_t code = 0x7f; code <= 0xffff; ++code) {
    if (code >= 0xd800 && code < 0xe000) continue;  // surrogates have no UTF-8
    const std::string expected = must_be_escaped(code) ? code_unit(code) : utf8(code);
    for (const VisibleText form : kForms) {
      ASSERT_EQ(visible("a" + utf8(code) + "b", form), "a" + expected + "b") << std::hex << code;
    }
  }
}

TEST(VisibleText, EscapesControlBytes) {
  for (uint32_t byte = 0; byte < 0x20; ++byte) {
    const std::string expected = byte == '\n'   ? "\\n"
                                 : byte == '\r' ? "\\r"
                                 : byte == '\t' ? "\\t"
                                                : code_unit(byte);
    for (const VisibleText form : kForms) {
      if (byte == '\n' && form == VisibleText::lines) continue;
      EXPECT_EQ(visible(std::string(1, static_cast<char>(byte)), form), expected) << byte;
    }
  }
  EXPECT_EQ(visible("a\nb", VisibleText::lines), "a\nb");
}

TEST(VisibleText, EscapesQuotesAndBackslashesWithinQuotesOnly) {
  EXPECT_EQ(visible(R"("\)", VisibleText::json), R"(\"\\)");
  EXPECT_EQ(visible(R"("\)", VisibleText::quoted), R"(\"\\)");
  EXPECT_EQ(visible(R"("\)", VisibleText::line), R"("\)");
  EXPECT_EQ(visible(R"("\)", VisibleText::lines), R"("\)");
}

TEST(VisibleText, EscapesBytesThatAreNoUtf8) {
  struct Case {
    std::string_view text;
    const char* quoted;
    const char* json;
  };
  const Case cases[] = {
      {"\x9b", "\\x9b", "\\ufffd"},
      {"\xff", "\\xff", "\\ufffd"},
      {"\xc2", "\\xc2", "\\ufffd"},
      {"\xe2\x80", "\\xe2\\x80", "\\ufffd\\ufffd"},
      {"\xe2\x80z", "\\xe2\\x80z", "\\ufffd\\ufffdz"},
      {"\xc0\x9b", "\\xc0\\x9b", "\\ufffd\\ufffd"},  // an overlong U+001B
      {"\xed\xa0\x80", "\\xed\\xa0\\x80", "\\ufffd\\ufffd\\ufffd"},
      {"\xc2\xc2\x9b", "\\xc2\\u009b", "\\ufffd\\u009b"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(visible(c.text, VisibleText::json), c.json) << c.json;
    for (const VisibleText form : {VisibleText::quoted, VisibleText::line, VisibleText::lines}) {
      EXPECT_EQ(visible(c.text, form), c.quoted) << c.quoted;
    }
  }
}

// Where a text is cut, no half of a character is left that would look like a bad byte.
TEST(VisibleText, ACutTextHasNoBadBytes) {
  const std::string text = "x\xc2\x9by\xe2\x80\xae\xf0\x9f\x98\x80\xe2\x80\xa8z";
  for (size_t limit = 0; limit <= text.size(); ++limit) {
    const std::string shown = visible(cut_utf8(text, limit), VisibleText::quoted);
    EXPECT_EQ(shown.find("\\x"), std::string::npos) << limit << ": " << shown;
    const std::string whole = R"(x\u009by\u202e😀\u2028z)";
    EXPECT_TRUE(whole.starts_with(shown)) << limit << ": " << shown;
  }
}

TEST(VisibleText, AnEscapeIsAtMostSixTimesAsLong) {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    for (const VisibleText form : kForms) {
      EXPECT_LE(visible(std::string(1, static_cast<char>(byte)), form).size(), 6U);
    }
  }
}

}  // namespace
}  // namespace stdgate
