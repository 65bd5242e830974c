#include <gtest/gtest.h>

#include "transports/auth/digest.h"

namespace stdgate::auth {
namespace {

TEST(Sha256, OneAfterTheOther) {
  Sha256 sha256;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(key_hash(sha256.of("abc")),
              "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(key_hash(sha256.of("")),
              "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  }
}

TEST(Sha256, TextsOfHashes) {
  const Digest digest = Sha256().of("abc");
  EXPECT_TRUE(are_equal(parse_key_hash(key_hash(digest)), digest));
  EXPECT_TRUE(are_equal(
      parse_key_hash("sha256:BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"),
      digest));
  Digest other = digest;
  other.back() ^= 1;
  EXPECT_FALSE(are_equal(other, digest));
}

// The expected name is the output of `printf abc | sha256sum | cut -c1-8`.
TEST(SessionName, IsTheBeginningOfTheDigest) {
  EXPECT_EQ(auth::session_name("abc").view(), "ba7816bf");
  EXPECT_EQ(SessionName::of(0x00000001).view(), "00000001");
  EXPECT_EQ(SessionName().view(), "");
}

// RFC 6455, section 1.3.
TEST(Digest, OfTheExampleOfTheWebSocketProtocol) {
  EXPECT_EQ(sha1_base64("dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11"),
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

}  // namespace
}  // namespace stdgate::auth
