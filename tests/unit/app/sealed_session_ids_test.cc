// Ids that carry their session. Another process with the same keys can open them, for their backend
// and until they expire. Every byte of an id counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "gateway/app/sealed_texts.h"
#include "gateway/base/encodings.h"
#include "gateway/config/config_ranges.h"
#include "tests/support/manual_clock.h"

namespace stdgate::app {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kInitialize =
    R"({"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}})";

seal::Key key_of(uint8_t byte) {
  seal::Key key;
  key.fill(byte);
  return key;
}

// Not random, but never the same value twice.
void count_up(std::span<uint8_t> out) {
  static uint64_t next = 0;
  ++next;
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(next >> 8 * (i % 8));
}

struct Replica {
  std::vector<seal::Key> keys{key_of(1)};
  std::string name{};
  unsigned worker = 0;
  Duration ttl = hours(24);
};

class SealedSessionIdsTest : public testing::Test {
 protected:
  SealedSessionIds ids(const Replica& replica = {}) {
    return {replica.keys, count_up, replica.name, replica.worker, replica.ttl, {clock_, calendar_}};
  }
  session::SessionFacts facts(std::string_view initialize = kInitialize) {
    return {"files", &ada_, initialize};
  }

  policy::Principal ada_{.name = "ada",
                         .issuer = "https://id.example",
                         .subject = {},
                         .roles = {},
                         .scopes = {},
                         .expires = {}};
  test::ManualClock clock_;
  test::Calendar calendar_;
};

TEST_F(SealedSessionIdsTest, AnotherProcessWithTheKeyOpensThem) {
  SealedSessionIds first = ids({.name = "gate-0"});
  SealedSessionIds second = ids({.name = "gate-1", .worker = 7, .ttl = seconds(1)});
  const std::string id = first.issue(facts());
  const auto carried = second.open(id, "files", &ada_);
  ASSERT_TRUE(carried);
  EXPECT_EQ(carried->initialize, kInitialize);
  EXPECT_EQ(carried->left, hours(24)) << "the ttl of the process that opened the session";
}

TEST_F(SealedSessionIdsTest, BeginWithReplicaAndWorker) {
  using testing::MatchesRegex;
  EXPECT_THAT(ids({.name = "gate-0"}).issue(facts()), MatchesRegex("gate-0\\.00[A-Za-z0-9_-]+"));
  EXPECT_THAT(ids({.name = "g", .worker = 255}).issue(facts()),
              MatchesRegex("g\\.ff[A-Za-z0-9_-]+"));
  EXPECT_THAT(ids().issue(facts()), MatchesRegex("00[A-Za-z0-9_-]+"));
  EXPECT_THAT(ids({.worker = 26}).issue(facts()), MatchesRegex("1a[A-Za-z0-9_-]+"));
  EXPECT_DEATH(ids({.worker = 256}), "check failed");
}

TEST_F(SealedSessionIdsTest, NoTwoAreAlike) {
  SealedSessionIds sealed = ids();
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) seen.insert(sealed.issue(facts()));
  EXPECT_EQ(seen.size(), 100U);
}

TEST_F(SealedSessionIdsTest, AreOfTheirBackendAlone) {
  SealedSessionIds sealed = ids();
  const std::string id = sealed.issue(facts());
  for (const char* other : {"", "file", "filess", "Files", "other"}) {
    EXPECT_FALSE(sealed.open(id, other, &ada_)) << other;
  }
  EXPECT_TRUE(sealed.open(id, "files", &ada_));
}

TEST_F(SealedSessionIdsTest, AreOfTheirPrincipalAlone) {
  using Kind = policy::Principal::Kind;
  SealedSessionIds sealed = ids();
  const std::string id = sealed.issue(facts());
  policy::Principal other = ada_;
  other.roles = {"admin"};
  other.subject = "1234";
  EXPECT_TRUE(sealed.open(id, "files", &other)) << "the same one with another credential";
  EXPECT_FALSE(sealed.open(id, "files", nullptr));
  other = ada_;
  other.name = "bob";
  EXPECT_FALSE(sealed.open(id, "files", &other));
  other = ada_;
  other.kind = Kind::token;
  EXPECT_FALSE(sealed.open(id, "files", &other));
  other = ada_;
  other.issuer += 'a';
  other.name = "da";
  EXPECT_FALSE(sealed.open(id, "files", &other)) << "issuer and name are told apart";
  const std::string of_nobody = sealed.issue({"files", nullptr, kInitialize});
  EXPECT_TRUE(sealed.open(of_nobody, "files", nullptr));
  EXPECT_FALSE(sealed.open(of_nobody, "files", &ada_));
}

TEST_F(SealedSessionIdsTest, ExpireWithTheirTime) {
  SealedSessionIds sealed = ids({.ttl = seconds(1)});
  const std::string id = sealed.issue(facts());
  const TimePoint begin = clock_.now();
  clock_.set(begin + milliseconds(999));
  ASSERT_TRUE(sealed.open(id, "files", &ada_));
  EXPECT_EQ(sealed.open(id, "files", &ada_)->left, milliseconds(1));
  clock_.set(begin + milliseconds(1000));
  EXPECT_FALSE(sealed.open(id, "files", &ada_));
  clock_.set(begin);
  calendar_.offset -= hours(1);  // the wall clock is set back
  EXPECT_EQ(sealed.open(id, "files", &ada_)->left, seconds(1));
}

TEST_F(SealedSessionIdsTest, OtherKeysOpenNothing) {
  SealedSessionIds first = ids();
  const std::string id = first.issue(facts());
  EXPECT_FALSE(ids({.keys = {key_of(2)}}).open(id, "files", &ada_));
  SealedSessionIds rotated = ids({.keys = {key_of(2), key_of(1)}});
  EXPECT_TRUE(rotated.open(id, "files", &ada_));
  EXPECT_FALSE(first.open(rotated.issue(facts()), "files", &ada_));
}

TEST_F(SealedSessionIdsTest, WithoutAKeyFileTheKeyIsRandom) {
  const auto one = session_keys({}, count_up);
  const auto two = session_keys({}, count_up);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_NE(one, two);
  config::SessionsConfig config;
  config.keys = {key_of(8), key_of(9)};
  EXPECT_EQ(session_keys(config, count_up), config.keys);
}

TEST_F(SealedSessionIdsTest, LongParamsAreLeftOut) {
  SealedSessionIds sealed = ids();
  for (const auto& [size, carried] : {std::pair{SealedSessionIds::kMaxInitialize, true},
                                      std::pair{SealedSessionIds::kMaxInitialize + 1, false}}) {
    const std::string params(size, 'x');
    const auto opened = sealed.open(sealed.issue(facts(params)), "files", &ada_);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->initialize, carried ? params : "") << size;
  }
}

TEST_F(SealedSessionIdsTest, AreNeverLongerThanTheirLimit) {
  const std::string backend(config::kMaxBackendName, 'b');
  const std::string params(SealedSessionIds::kMaxInitialize, 'p');
  SealedSessionIds sealed = ids({.name = std::string(config::kMaxReplicaName, 'h')});
  const std::string id = sealed.issue({backend, &ada_, params});
  EXPECT_LE(id.size(), SealedSessionIds::kMaxId);
  EXPECT_TRUE(sealed.open(id, backend, &ada_));
}

// Replaces each byte by every other byte, and changes each bit that base64 encodes.
TEST_F(SealedSessionIdsTest, ChangedOnesAreNotOpened) {
  SealedSessionIds sealed = ids({.name = "g-0"});
  const std::string id = sealed.issue({"files", &ada_, "{}"});
  ASSERT_TRUE(sealed.open(id, "files", &ada_));
  for (size_t at = 0; at < id.size(); ++at) {
    for (int c = 0; c < 256; ++c) {
      std::string changed = id;
      changed[at] = static_cast<char>(c);
      if (changed == id) continue;
      EXPECT_FALSE(sealed.open(changed, "files", &ada_)) << at << " " << c;
    }
  }
  const size_t front = std::string_view("g-0.00").size();
  const std::string bytes = *decode_base64(id.substr(front), Base64Alphabet::url);
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ 1 << bit);
      EXPECT_FALSE(sealed.open(id.substr(0, front) + encode_base64url(changed), "files", &ada_))
          << at;
    }
  }
}

TEST_F(SealedSessionIdsTest, CutAndExtendedOnesAreNotOpened) {
  SealedSessionIds sealed = ids({.name = "g-0"});
  const std::string id = sealed.issue(facts());
  for (size_t size = 0; size < id.size(); ++size) {
    EXPECT_FALSE(sealed.open(id.substr(0, size), "files", &ada_)) << size;
    EXPECT_FALSE(sealed.open(id.substr(id.size() - size), "files", &ada_)) << size;
  }
  for (const std::string more : {"A", "=", ".", " ", "AAAA", "\n"}) {
    EXPECT_FALSE(sealed.open(id + more, "files", &ada_)) << more;
    EXPECT_FALSE(sealed.open(more + id, "files", &ada_)) << more;
  }
}

TEST_F(SealedSessionIdsTest, ForgedOnesAreNotOpened) {
  SealedSessionIds sealed = ids({.name = "g-0"});
  const std::string id = sealed.issue(facts());
  const std::string rest = id.substr(std::string_view("g-0.00").size());
  const std::string long_one(SealedSessionIds::kMaxId + 1 - std::string_view("g-0.00").size(), 'A');
  const std::string forged[] = {
      "",
      ".",
      "..",
      "00",
      "g-0.",
      "g-0.00",
      "g-0.0",
      ".00" + rest,
      "00" + rest,
      rest,
      "g-1.00" + rest,
      "G-0.00" + rest,
      "g-0.01" + rest,
      "g-0..00" + rest,
      "g-0.g-0.00" + rest,
      "g-0.00" + rest + "." + rest,
      "g-0.00" + std::string(rest.size(), 'A'),
      "g-0.00" + long_one,
      std::string(SealedSessionIds::kMaxId, '.'),
      std::string("\0", 1),
      "0123456789abcdef0123456789abcdef01",  // the former form of ids
      "\xff\xfe\xfd",
  };
  for (const std::string& text : forged) EXPECT_FALSE(sealed.open(text, "files", &ada_)) << text;
}

// Texts that the same keys seal for another purpose, or in another version.
TEST_F(SealedSessionIdsTest, OtherSealedTextsAreNoIds) {
  SealedSessionIds sealed = ids();
  const seal::Sealer sealer({key_of(1)}, count_up);
  const std::string body = std::string("\1\5files\0", 8) + std::string(16, '\1') + "{}";
  EXPECT_FALSE(sealed.open("00" + sealer.seal(body, "something else 00"), "files", nullptr));
  const std::string context = "stdgate mcp session 00";
  for (const auto& [text, opens] : {
           std::pair{std::string("\1\5files\0", 8) + std::string("\0\0\0\xff\0\0\0\0", 8) +
                         std::string("\0\0\0\xff\0\0\0\0", 8) + "{}",
                     true},
           std::pair{std::string("\2\5files\0", 8) + std::string("\0\0\0\xff\0\0\0\0", 8) +
                         std::string("\0\0\0\xff\0\0\0\0", 8) + "{}",
                     false},        // another version
           std::pair{body, false},  // times out of range
           std::pair{std::string(), false}, std::pair{std::string("\1"), false},
           std::pair{std::string("\1\5files\0", 8), false},
           std::pair{std::string("\1\5files\0", 8) + std::string(15, '\0'), false},
           std::pair{std::string("\1\5files\xff", 8) + std::string(16, '\0'), false},
           std::pair{std::string("\1\5files\0", 8) + std::string(16, '\0'), false},  // expired
       }) {
    EXPECT_EQ(sealed.open("00" + sealer.seal(text, context), "files", nullptr).has_value(), opens)
        << text;
  }
}

}  // namespace
}  // namespace stdgate::app
