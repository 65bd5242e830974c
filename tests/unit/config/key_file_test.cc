// Files of keys: what is read, and what is said of a bad line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/config/config_files.h"

namespace stdgate::config {
namespace {

SecretKey key_of(uint8_t byte) {
  SecretKey key;
  key.fill(byte);
  return key;
}

std::string hex_of(uint8_t byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < 32; ++i) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

// 32 times 0xff, which the two alphabets write differently.
const std::string kStandard = "//////////////////////////////////////////8";
const std::string kUrl = "__________________________________________8";

TEST(KeyFile, Reads) {
  const std::pair<std::string, std::vector<SecretKey>> cases[] = {
      {hex_of(1), {key_of(1)}},
      {hex_of(1) + "\n", {key_of(1)}},
      {hex_of(0xab) + "\n" + hex_of(2) + "\r\n\n", {key_of(0xab), key_of(2)}},
      {"# 2026\n\n \t" + hex_of(2) + "\t# comment " + hex_of(3) + "\n#" + hex_of(4), {key_of(2)}},
      {"\xef\xbb\xbf" + hex_of(1), {key_of(1)}},
      {std::string(64, 'F'), {key_of(255)}},
      {kStandard, {key_of(255)}},
      {kStandard + "=", {key_of(255)}},
      {kUrl, {key_of(255)}},
      {kUrl + "=#", {key_of(255)}},
      {"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n", {key_of(0)}},
  };
  for (const auto& [text, keys] : cases) {
    const auto read = parse_key_file(text);
    ASSERT_TRUE(read) << text << ": " << read.error().message;
    EXPECT_EQ(*read, keys) << text;
  }
}

TEST(KeyFile, SaysWhatIsWrongAndWhereWithoutTheKey) {
  const std::string expected =
      "expected a key of 32 bytes, as 64 hex digits or 44 characters of base64; openssl rand -hex "
      "32 makes one";
  struct Case {
    std::string text;
    int line;
    std::string message;
  };
  const Case cases[] = {
      {"", 0, "holds no key; " + expected},
      {"# later\n\n", 0, "holds no key; " + expected},
      {"secret", 1, expected},
      {hex_of(1) + "\n\n" + hex_of(2).substr(1) + "\n", 3, expected},
      {hex_of(1) + "0", 1, expected},
      {hex_of(1).substr(2) + "0g", 1, expected},
      {"0x" + hex_of(1), 1, expected},
      {"key=" + hex_of(1), 1, expected},
      {hex_of(1) + " " + hex_of(2), 1, expected},
      {kStandard + "==", 1, expected},
      {kStandard.substr(1), 1, expected},
      {kStandard + "/", 1, expected},
      {kStandard.substr(0, 42) + "9", 1, expected},  // bits beyond the last byte
      {kStandard.substr(0, 20) + kUrl.substr(20), 1, expected},
      {hex_of(1) + std::string(1, '\0'), 1, expected},
      {hex_of(1) + "\n" + hex_of(1), 2,
       "this key is in a line above already; remove one of the two"},
      {hex_of(255) + "\n" + kUrl, 2, "this key is in a line above already; remove one of the two"},
  };
  for (const Case& bad : cases) {
    const auto read = parse_key_file(bad.text);
    ASSERT_FALSE(read) << bad.text;
    EXPECT_EQ(read.error().line, bad.line) << bad.text;
    EXPECT_EQ(read.error().message, bad.message) << bad.text;
  }
}

TEST(KeyFile, HasALimit) {
  std::string text;
  for (size_t i = 0; i < kMaxKeys; ++i) text += hex_of(static_cast<uint8_t>(i)) + "\n";
  EXPECT_EQ(parse_key_file(text)->size(), kMaxKeys);
  const auto more = parse_key_file(text + hex_of(99));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().line, 17);
  EXPECT_EQ(more.error().message, "at most 16 keys; remove the last ones, which are the oldest");
}

}  // namespace
}  // namespace stdgate::config
