// Base64: RFC 4648's own vectors, and what strictness refuses.
#include "gateway/base/base64.h"

#include <gtest/gtest.h>

namespace stdgate {
namespace {

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
