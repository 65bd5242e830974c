#include "gateway/config/config_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "gateway/config/config_ranges.h"
#include "tests/support/test_folder.h"

namespace stdgate::test {

// Files of a configuration are read as a whole. A path that is no regular file gives an error that
// names it.

namespace {

using testing::HasSubstr;

constexpr size_t kLimit = 100;

TEST(TextFile, IsReadUpToItsLimit) {
  const TestFolder folder;
  const std::string most(kLimit, 'x');
  EXPECT_EQ(config::read_text_file(folder.write("most", most), kLimit), most);
  EXPECT_THAT(config::read_text_file(folder.write("more", most + "x"), kLimit).error(),
              HasSubstr("more is larger than"));
}

TEST(TextFile, IsThereAndNoFolder) {
  const TestFolder folder;
  EXPECT_THAT(config::read_text_file(folder.path("none"), kLimit).error(),
              HasSubstr("cannot read"));
  EXPECT_THAT(config::read_text_file(folder.path(""), kLimit).error(), HasSubstr("is a directory"));
}

// Opening a FIFO would wait for a writer.
TEST(TextFile, IsNoFifo) {
  const TestFolder folder;
  const std::string fifo = folder.path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(config::read_text_file(fifo, kLimit).error(), fifo + " is no regular file");
  std::filesystem::create_symlink(fifo, folder.path("link"));
  EXPECT_THAT(config::read_text_file(folder.path("link"), kLimit).error(),
              HasSubstr("is no regular file"));
}

TEST(TextFile, IsNoSocket) {
  const TestFolder folder;
  const std::string path = folder.path("socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  std::ranges::copy(path, address.sun_path);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(config::read_text_file(path, kLimit).error(), path + " is no regular file");
  close(socket);
}

}  // namespace

}  // namespace stdgate::test

namespace stdgate::config {

// Files of keys: what is read, and the errors for bad lines.

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

// 32 bytes 0xff, which the two alphabets of base64 write differently.
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

// Files of API keys: what is read, and the errors for bad lines.

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
