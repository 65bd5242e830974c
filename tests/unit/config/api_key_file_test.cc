// Files of API keys: what is read, and what is said of a bad line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/config/config_files.h"
#include "gateway/config/config_ranges.h"

namespace stdgate::config {
namespace {

const std::string kHash = "sha256:" + std::string(64, 'a');
const std::string kKey = "0123456789abcdef";

TEST(ApiKeyFile, Reads) {
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {kKey, {kKey}},
      {kKey + "\n", {kKey}},
      {"\xef\xbb\xbf" + kHash + "\r\n# a comment\n\n \t" + kKey + " \n", {kHash, kKey}},
      {std::string(kMaxApiKey, '~'), {std::string(kMaxApiKey, '~')}},
      {kKey + "#no-comment", {kKey + "#no-comment"}},
  };
  for (const auto& [text, keys] : cases) {
    const auto read = parse_api_key_file(text);
    ASSERT_TRUE(read) << text << ": " << read.error().message;
    EXPECT_EQ(*read, keys) << text;
  }
}

TEST(ApiKeyFile, SaysWhichLineIsBadWithoutIt) {
  const std::pair<std::string, int> cases[] = {
      {"", 0},
      {"# nothing\n", 0},
      {kKey.substr(1), 1},
      {kKey + "\nshort", 2},
      {kKey + " two words", 1},
      {std::string(kMaxApiKey + 1, 'x'), 1},
      {kHash.substr(1), 0},
      {"sha256:" + std::string(63, 'a'), 1},
      {"sha256:" + std::string(65, 'a'), 1},
      {"sha256:" + std::string(64, 'g'), 1},
      {kKey + "\x7f", 1},
      {kKey + "\xc3\xa4", 1},
  };
  for (const auto& [text, line] : cases) {
    const auto read = parse_api_key_file(text);
    if (text == kHash.substr(1)) {
      EXPECT_TRUE(read) << "a key that happens to look so";
      continue;
    }
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().line, line) << text;
    EXPECT_THAT(read.error().message, testing::HasSubstr("stdgate hash-key"));
    EXPECT_THAT(read.error().message, testing::Not(testing::HasSubstr("0123456789")));
  }
}

TEST(ApiKeyFile, HasSoManyKeys) {
  std::string text;
  for (size_t i = 0; i < kMaxKeys; ++i) text += kKey + "\n";
  EXPECT_TRUE(parse_api_key_file(text));
  const auto more = parse_api_key_file(text + kKey);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().line, static_cast<int>(kMaxKeys) + 1);
}

}  // namespace
}  // namespace stdgate::config
