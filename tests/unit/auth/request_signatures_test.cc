// Signed requests: the examples of RFC 9421, and the signatures that are refused.
#include "transports/auth/request_signatures.h"

#include <gtest/gtest.h>

#include "gateway/base/encodings.h"
#include "tests/support/manual_clock.h"

namespace stdgate::auth {
namespace {

using config::SignatureMethod;
using std::chrono::seconds;
using Outcome = Judgement::Outcome;

constexpr int64_t kCreated = 1618884473;  // from the examples
const std::string kSecret =
    "uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ==";
const std::string kPublicKey =
    "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAJrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=\n"
    "-----END PUBLIC KEY-----\n";
const std::string kEcdsaKey =
    "-----BEGIN PUBLIC KEY-----\n"
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEqIVYZVLCrPZHGHjP17CTW0/+D9Lf\n"
    "w0EkjqF7xB4FivAxzic30tMM4GF+hR6Dxh71Z50VGGdldkkDXZCnTNnoXQ==\n-----END PUBLIC KEY-----\n";

std::string decoded(std::string_view base64) {
  return *decode_base64(base64.substr(0, base64.find('=')), Base64Alphabet::standard);
}

// RFC 9421, B.2.5.
MessageSignature shared() {
  return {.key_id = "test-shared-secret",
          .algorithm = "",
          .created = kCreated,
          .expires = std::nullopt,
          .nonce = "n",
          .base =
              "\"date\": Tue, 20 Apr 2021 02:07:55 GMT\n\"@authority\": example.com\n"
              "\"content-type\": application/json\n\"@signature-params\": (\"date\" "
              "\"@authority\" \"content-type\");created=1618884473;keyid=\"test-shared-secret\"",
          .signature = decoded("pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=")};
}

// RFC 9421, B.2.6.
MessageSignature edwards() {
  return {.key_id = "test-key-ed25519",
          .algorithm = "",
          .created = kCreated,
          .expires = std::nullopt,
          .nonce = "n",
          .base =
              "\"date\": Tue, 20 Apr 2021 02:07:55 GMT\n\"@method\": POST\n\"@path\": /foo\n"
              "\"@authority\": example.com\n\"content-type\": application/json\n"
              "\"content-length\": 18\n\"@signature-params\": (\"date\" \"@method\" \"@path\" "
              "\"@authority\" \"content-type\" \"content-length\");created=1618884473;"
              "keyid=\"test-key-ed25519\"",
          .signature = decoded("wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0"
                               "w6vuQv5lIp5WPpBKRCw==")};
}

class RequestSignaturesTest : public testing::Test {
 protected:
  RequestSignaturesTest() {
    calendar_.offset = seconds(kCreated) - clock_.now().time_since_epoch();
    keys_.resize(2);
    keys_[0].key_id = "test-shared-secret";
    keys_[0].algorithm = SignatureMethod::hmac_sha256;
    keys_[0].secret = kSecret + "\n";
    keys_[0].roles = {"partner"};
    keys_[1].key_id = "test-key-ed25519";
    keys_[1].public_key = kPublicKey;
  }
  Judgement judge(const MessageSignature& signature) {
    return all_->judge_signature(signature).value();
  }
  void make(size_t max_nonces = RequestSignatures::kMaxNonces) {
    all_ = std::make_unique<RequestSignatures>(keys_, clocks_, max_nonces);
  }
  void pass(Duration time) { clock_.set(clock_.now() + time); }

  test::ManualClock clock_;
  test::Calendar calendar_;
  const Clocks clocks_{clock_, calendar_};
  std::vector<config::SignatureConfig> keys_;
  std::unique_ptr<RequestSignatures> all_;
};

TEST_F(RequestSignaturesTest, ExamplesOfTheRfc) {
  make();
  const Judgement partner = judge(shared());
  ASSERT_EQ(partner.outcome, Outcome::accepted) << partner.problem;
  EXPECT_EQ(partner.identity.principal->name, "test-shared-secret");
  EXPECT_EQ(partner.identity.principal->kind, policy::Principal::Kind::signature);
  EXPECT_TRUE(partner.identity.principal->has_role("partner"));
  EXPECT_EQ(judge(edwards()).outcome, Outcome::accepted);
}

TEST_F(RequestSignaturesTest, WhatHasBeenUsedStaysUsedForTheSuccessor) {
  make();
  ASSERT_EQ(judge(edwards()).outcome, Outcome::accepted);
  const auto former = std::move(all_);
  make();
  all_->take_nonces(*former);
  EXPECT_EQ(judge(edwards()).problem, "the signature has been used before");
  EXPECT_EQ(judge(shared()).outcome, Outcome::accepted);
}

TEST_F(RequestSignaturesTest, WhatIsWrong) {
  make();
  const auto problem = [&](auto change, bool is_shared = true) {
    MessageSignature signature = is_shared ? shared() : edwards();
    change(signature);
    const Judgement judgement = judge(signature);
    EXPECT_EQ(judgement.outcome, Outcome::unknown);
    return judgement.problem;
  };
  const std::string_view wrong = "the signature is wrong";
  EXPECT_EQ(problem([](auto& s) { s.key_id = "other"; }), "the signature's key is not known");
  EXPECT_EQ(problem([](auto& s) { s.key_id = "test-key-ed25519"; }), wrong) << "another's key";
  EXPECT_EQ(problem([](auto& s) { s.base += " "; }), wrong);
  EXPECT_EQ(problem([](auto& s) { s.base += " "; }, false), wrong);
  EXPECT_EQ(problem([](auto& s) { s.signature.clear(); }), wrong);
  EXPECT_EQ(problem([](auto& s) { s.signature.clear(); }, false), wrong);
  EXPECT_EQ(problem([](auto& s) { s.signature.pop_back(); }), wrong);
  EXPECT_EQ(problem([](auto& s) { s.signature.front() ^= 1; }, false), wrong);
  EXPECT_EQ(problem([](auto& s) { s.signature += s.signature; }), wrong);
  const std::string_view other = "the signature's algorithm is not that of its key";
  EXPECT_EQ(problem([](auto& s) { s.algorithm = "ed25519"; }), other);
  EXPECT_EQ(problem([](auto& s) { s.algorithm = "hmac-sha256"; }, false), other);
  EXPECT_EQ(problem([](auto& s) { s.expires = kCreated; }), "the signature has expired");
  // None of these requests has used up the nonce.
  EXPECT_EQ(judge(shared()).outcome, Outcome::accepted);
}

// The public key serves as a shared secret, which deceives a verifier that believes `alg`.
TEST_F(RequestSignaturesTest, AKeyHasOneAlgorithm) {
  keys_[1].algorithm = SignatureMethod::ecdsa_p256_sha256;
  keys_[1].public_key = kEcdsaKey;
  make();
  EXPECT_EQ(judge(edwards()).problem, "the signature is wrong");
}

TEST_F(RequestSignaturesTest, TheWindow) {
  const std::string_view late = "the signature was not made within a minute of now";
  for (const auto& [moved, is_good] :
       {std::pair(60, true), std::pair(61, false), std::pair(-60, true), std::pair(-61, false)}) {
    calendar_.offset = seconds(kCreated - 100) - clock_.now().time_since_epoch();
    make();
    calendar_.offset += seconds(100 + moved);
    EXPECT_EQ(judge(shared()).problem, is_good ? "" : late) << moved;
  }
  calendar_.offset = seconds(kCreated) - clock_.now().time_since_epoch();
  for (const int64_t created :
       {int64_t{0}, int64_t{-999'999'999'999'999}, int64_t{999'999'999'999'999}}) {
    MessageSignature signature = shared();
    signature.created = created;
    EXPECT_EQ(judge(signature).problem, late) << created;
  }
}

TEST_F(RequestSignaturesTest, AreGoodOnce) {
  make();
  EXPECT_EQ(judge(shared()).outcome, Outcome::accepted);
  EXPECT_EQ(judge(edwards()).outcome, Outcome::accepted) << "the same nonce of another key";
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(judge(shared()).problem, "the signature has been used before");
    pass(seconds(1));
  }
  EXPECT_EQ(judge(shared()).problem, "the signature has been used before");
  pass(seconds(1));
  EXPECT_EQ(judge(shared()).problem, "the signature was not made within a minute of now");
}

// A gateway that has started since does not know the nonce.
TEST_F(RequestSignaturesTest, OfBeforeTheStartAreNotTaken) {
  const std::string_view early = "the signature was made before the gateway started";
  for (const int64_t later : {0, 1, 59}) {
    calendar_.offset = seconds(kCreated + later) - clock_.now().time_since_epoch();
    make();
    EXPECT_EQ(judge(shared()).problem, later == 0 ? "" : early) << later;
  }
  // A change of the keys is no start: the successor takes over the nonces.
  calendar_.offset = seconds(kCreated) - clock_.now().time_since_epoch();
  make();
  const std::unique_ptr<RequestSignatures> predecessor = std::move(all_);
  pass(seconds(10));
  make();
  all_->take_nonces(*predecessor);
  EXPECT_EQ(judge(shared()).problem, "");
}

// The signature was made by a clock that is ahead, so it is valid for longer. Its nonce is
// remembered for as long.
TEST_F(RequestSignaturesTest, OfTheFutureAreGoodOnceToo) {
  calendar_.offset = seconds(kCreated - 60) - clock_.now().time_since_epoch();
  make();
  EXPECT_EQ(judge(shared()).outcome, Outcome::accepted);
  for (int i = 0; i <= 120; ++i) {
    EXPECT_EQ(judge(shared()).problem, "the signature has been used before") << i;
    pass(seconds(1));
  }
  EXPECT_EQ(judge(shared()).problem, "the signature was not made within a minute of now");
}

TEST_F(RequestSignaturesTest, AFullTableLetsNobodyInByItsKey) {
  make(2);
  const auto with_nonce = [](const std::string& nonce) {
    MessageSignature signature = shared();
    signature.nonce = nonce;
    return signature;
  };
  EXPECT_EQ(judge(with_nonce("1")).outcome, Outcome::accepted);
  EXPECT_EQ(judge(with_nonce("2")).outcome, Outcome::accepted);
  EXPECT_EQ(judge(with_nonce("3")).outcome, Outcome::undecided);
  EXPECT_EQ(judge(with_nonce("1")).problem, "the signature has been used before");
  EXPECT_EQ(judge(edwards()).outcome, Outcome::accepted);
  pass(seconds(62));
  calendar_.offset -= seconds(62);
  EXPECT_EQ(judge(with_nonce("3")).outcome, Outcome::accepted);
}

TEST_F(RequestSignaturesTest, KeysThatAreNone) {
  config::SignatureConfig key = keys_[0];
  EXPECT_EQ(check_key(key), "");
  EXPECT_EQ(check_key(keys_[1]), "");
  for (const std::string bad : {"", "short", "not base64!", "YQ=="}) {
    key.secret = bad;
    EXPECT_EQ(check_key(key), "expected 32 bytes or more in base64") << bad;
  }
  key = keys_[1];
  key.public_key = kEcdsaKey;
  EXPECT_EQ(check_key(key), "is a key for another algorithm");
  key.algorithm = SignatureMethod::ecdsa_p256_sha256;
  EXPECT_EQ(check_key(key), "");
  key.public_key = kSecret;
  EXPECT_EQ(check_key(key), "expected a public key in PEM");
}

}  // namespace
}  // namespace stdgate::auth
