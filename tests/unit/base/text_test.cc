// Texts: escapes for terminals and logs, ASCII and positions, UTF-8, Base64.
#include "gateway/base/text.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

#include "gateway/base/encodings.h"

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
    if (code >= 0xd800 && code < 0xe000) continue;  // surrogates have no UTF-8 form
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

// A cut never leaves half of a character, which would look like an invalid byte.
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

// --- ASCII text, and positions in texts.

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

// --- UTF-8 sequences, and cuts at every position.

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
      {"\xc3", 0},  // incomplete
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

// --- Base64: the vectors of RFC 4648, and the texts that a strict decoder refuses.

TEST(Base64, EncodesForUrls) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},          {"foo", "Zm9v"},
      {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {"\xfb\xff\xfe", "-__-"},
  };
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(encode_base64url(bytes), text);
    EXPECT_EQ(decode_base64(text, Base64Alphabet::url), bytes);
  }
}

TEST(Base64, DecodesBothAlphabets) {
  EXPECT_EQ(decode_base64("+//+", Base64Alphabet::standard), "\xfb\xff\xfe");
  EXPECT_EQ(decode_base64("-__-", Base64Alphabet::url), "\xfb\xff\xfe");
  EXPECT_EQ(decode_base64("+//+", Base64Alphabet::url), std::nullopt);
  EXPECT_EQ(decode_base64("-__-", Base64Alphabet::standard), std::nullopt);
}

TEST(Base64, EveryByteComesBack) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
    EXPECT_EQ(decode_base64(encode_base64url(bytes), Base64Alphabet::url), bytes) << i;
  }
}

TEST(Base64, RefusesWhatHasNoMeaningOrASecondOne) {
  for (const char* text : {"A", "AAAAA", "Zh", "Zm9=", "Zg==", "Z g", "Zg\n", "Zm9vYmF", "Z\xc3"}) {
    EXPECT_EQ(decode_base64(text, Base64Alphabet::url), std::nullopt) << text;
  }
  EXPECT_EQ(decode_base64(std::string_view("Zg\0", 3), Base64Alphabet::url), std::nullopt);
}

}  // namespace
}  // namespace stdgate
