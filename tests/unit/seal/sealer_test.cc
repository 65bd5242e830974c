// Sealed texts: any of the keys opens them, and no other key does. Every byte counts.
#include "transports/seal/sealer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "gateway/base/encodings.h"

namespace stdgate::seal {
namespace {

constexpr std::string_view kContext = "test";

Key key_of(uint8_t byte) {
  Key key;
  key.fill(byte);
  return key;
}

// Returns 0, 1, 2, … through the whole test.
RandomBytes counted() {
  return [next = uint8_t{0}](std::span<uint8_t> out) mutable {
    for (uint8_t& byte : out) byte = next++;
  };
}

TEST(Sealer, OpensWhatItHasSealed) {
  const Sealer sealer({key_of(1)}, counted());
  for (const size_t size : {0, 1, 15, 16, 17, 1500}) {
    const std::string plain(size, 'x');
    const std::string sealed = sealer.seal(plain, kContext);
    EXPECT_EQ(sealed.size(), ((size + Sealer::kOverhead) * 4 + 2) / 3);
    EXPECT_EQ(sealer.open(sealed, kContext), plain);
  }
}

TEST(Sealer, NoTwoAreAlike) {
  const Sealer sealer({key_of(1)}, counted());
  std::set<std::string> sealed;
  for (int i = 0; i < 20; ++i) sealed.insert(sealer.seal("same", kContext));
  EXPECT_EQ(sealed.size(), 20U);
}

// The text was sealed by another implementation (Python's cryptography.hazmat AESGCM), with the
// nonce 00 … 0b.
TEST(Sealer, IsAesGcm) {
  const Sealer sealer({key_of(1)}, counted());
  EXPECT_EQ(sealer.seal("hello", kContext), "AYtqqOoAAQIDBAUGBwgJCgvTw_lKTwf4cSTOjgr5QRTz-sEGtw8");
}

TEST(Sealer, WantsItsContext) {
  const Sealer sealer({key_of(1)}, counted());
  const std::string sealed = sealer.seal("x", "one");
  EXPECT_EQ(sealer.open(sealed, "two"), std::nullopt);
  EXPECT_EQ(sealer.open(sealed, ""), std::nullopt);
  EXPECT_EQ(sealer.open(sealed, "one"), "x");
}

TEST(Sealer, KeysRotate) {
  const Sealer before({key_of(1)}, counted());
  const Sealer during({key_of(2), key_of(1)}, counted());
  const Sealer after({key_of(2)}, counted());
  const std::string old_one = before.seal("x", kContext);
  const std::string new_one = during.seal("y", kContext);
  EXPECT_EQ(during.open(old_one, kContext), "x");
  EXPECT_EQ(during.open(new_one, kContext), "y");
  EXPECT_EQ(before.open(new_one, kContext), std::nullopt);
  EXPECT_EQ(after.open(old_one, kContext), std::nullopt);
  EXPECT_EQ(after.open(new_one, kContext), "y");
}

TEST(Sealer, TakesAsManyKeysAsItMay) {
  std::vector<Key> keys;
  for (size_t i = 0; i < Sealer::kMaxKeys; ++i) keys.push_back(key_of(static_cast<uint8_t>(i)));
  const Sealer all(keys, counted());
  const Sealer last({keys.back()}, counted());
  EXPECT_EQ(all.open(last.seal("x", kContext), kContext), "x");
  keys.push_back(key_of(99));
  EXPECT_DEATH(Sealer(keys, counted()), "check failed");
  EXPECT_DEATH(Sealer({}, counted()), "check failed");
}

TEST(Sealer, NumbersTellKeysApartAndNothingElse) {
  EXPECT_EQ(number_of(key_of(1)), number_of(key_of(1)));
  EXPECT_NE(number_of(key_of(1)), number_of(key_of(2)));
  EXPECT_NE(number_of(key_of(1)), KeyNumber({1, 1, 1, 1}));
}

// Changes each bit of the bytes below the base64, and each character of the base64.
TEST(Sealer, ChangedTextsAreNotOpened) {
  const Sealer sealer({key_of(1), key_of(2)}, counted());
  const std::string sealed = sealer.seal("some plain text", kContext);
  const std::string bytes = *decode_base64(sealed, Base64Alphabet::url);
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ 1 << bit);
      EXPECT_EQ(sealer.open(encode_base64url(changed), kContext), std::nullopt) << at;
    }
  }
  for (size_t at = 0; at < sealed.size(); ++at) {
    for (int c = 0; c < 256; ++c) {
      std::string changed = sealed;
      changed[at] = static_cast<char>(c);
      if (changed != sealed) {
        EXPECT_EQ(sealer.open(changed, kContext), std::nullopt) << at << " " << c;
      }
    }
  }
}

TEST(Sealer, TextsOfOtherLengthsAreNotOpened) {
  const Sealer sealer({key_of(1)}, counted());
  const std::string sealed = sealer.seal("some plain text", kContext);
  for (size_t size = 0; size < sealed.size(); ++size) {
    EXPECT_EQ(sealer.open(sealed.substr(0, size), kContext), std::nullopt) << size;
    EXPECT_EQ(sealer.open(sealed.substr(sealed.size() - size), kContext), std::nullopt) << size;
  }
  for (const char* more : {"A", "=", "==", " ", "\n", "AAAA"}) {
    EXPECT_EQ(sealer.open(sealed + more, kContext), std::nullopt) << more;
    EXPECT_EQ(sealer.open(more + sealed, kContext), std::nullopt) << more;
  }
  // The text is empty, but has a whole head and tag.
  EXPECT_EQ(sealer.open(encode_base64url(std::string(Sealer::kOverhead, '\1')), kContext),
            std::nullopt);
}

}  // namespace
}  // namespace stdgate::seal
