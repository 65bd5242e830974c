// Rates: of clients, by buckets of tokens, and of bytes that have to come.
#include <gtest/gtest.h>

#include "gateway/policy/quotas.h"

namespace stdgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart{seconds(1000)};

ClientAddress client(uint32_t number) {
  const std::array<uint8_t, 4> bytes{10, static_cast<uint8_t>(number >> 16),
                                     static_cast<uint8_t>(number >> 8),
                                     static_cast<uint8_t>(number)};
  return ClientAddress::ipv4(bytes);
}

// How many events `who` may have now.
int use_all(policy::ClientRates& rates, const ClientAddress& who, TimePoint now, int most = 100) {
  int count = 0;
  while (count < most && rates.wait(who, now) == Duration::zero()) {
    rates.use(who, now);
    ++count;
  }
  return count;
}

TEST(ClientRates, EachClientHasItsOwn) {
  policy::ClientRates rates(2, 5);
  EXPECT_EQ(use_all(rates, client(1), kStart), 5);
  EXPECT_EQ(rates.wait(client(1), kStart), milliseconds(500));
  EXPECT_EQ(use_all(rates, client(2), kStart), 5);
  EXPECT_EQ(use_all(rates, client(1), kStart + seconds(1)), 2);
  EXPECT_EQ(use_all(rates, ClientAddress::unix_user(0), kStart), 5);
  EXPECT_EQ(use_all(rates, ClientAddress::unix_user(1), kStart), 5);
}

TEST(ClientRates, AnIpv6NetworkIsOneClient) {
  policy::ClientRates rates(2, 5);
  std::array<uint8_t, 16> bytes{0x20, 0x01, 0x0d, 0xb8};
  EXPECT_EQ(use_all(rates, ClientAddress::ipv6(bytes), kStart), 5);
  bytes[15] = 9;
  EXPECT_EQ(use_all(rates, ClientAddress::ipv6(bytes), kStart), 0);
  bytes[7] = 1;
  EXPECT_EQ(use_all(rates, ClientAddress::ipv6(bytes), kStart), 5);
}

TEST(ClientRates, NobodyIsLimitedWithoutARateOrAnAddress) {
  policy::ClientRates none(0, 1);
  EXPECT_EQ(use_all(none, client(1), kStart), 100);
  EXPECT_EQ(none.size(), 0U);
  policy::ClientRates rates(1, 1);
  EXPECT_EQ(use_all(rates, ClientAddress(), kStart), 100);
  EXPECT_EQ(rates.size(), 0U);
}

TEST(ClientRates, TheTableIsBounded) {
  policy::ClientRates rates(1, 2);
  for (uint32_t i = 0; i < policy::ClientRates::kMaxClients; ++i) use_all(rates, client(i), kStart);
  EXPECT_EQ(rates.size(), policy::ClientRates::kMaxClients);
  // Whose turn was longest ago goes; what the others have used stays known.
  use_all(rates, client(policy::ClientRates::kMaxClients), kStart);
  EXPECT_EQ(rates.size(), policy::ClientRates::kMaxClients);
  EXPECT_NE(rates.wait(client(1), kStart), Duration::zero());
  EXPECT_EQ(rates.wait(client(0), kStart), Duration::zero());
}

TEST(ClientRates, BucketsThatAreFullAgainAreForgotten) {
  policy::ClientRates rates(1, 2);
  for (uint32_t i = 0; i < 1000; ++i) rates.use(client(i), kStart);
  EXPECT_EQ(rates.size(), 1000U);
  rates.use(client(5000), kStart + seconds(1));
  EXPECT_EQ(rates.size(), 1U);
}

constexpr TimePoint kBucketStart{seconds(1000)};
constexpr policy::BucketSize kSize{.per_second = 2, .burst = 3};

TEST(TokenBucket, GivesItsBurstAndNotOneMore) {
  policy::TokenBucket bucket(kSize, kBucketStart);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.take(kSize, kBucketStart));
  EXPECT_FALSE(bucket.take(kSize, kBucketStart));
  EXPECT_EQ(bucket.wait(kSize, kBucketStart), milliseconds(500));
}

TEST(TokenBucket, FillsWithTimeUpToItsBurst) {
  policy::TokenBucket bucket(kSize, kBucketStart);
  for (int i = 0; i < 3; ++i) bucket.take(kSize, kBucketStart);
  EXPECT_FALSE(bucket.take(kSize, kBucketStart + milliseconds(499)));
  EXPECT_TRUE(bucket.take(kSize, kBucketStart + milliseconds(500)));
  EXPECT_FALSE(bucket.take(kSize, kBucketStart + milliseconds(999)));
  EXPECT_FALSE(bucket.is_full(kSize, kBucketStart + milliseconds(1999)));
  EXPECT_TRUE(bucket.is_full(kSize, kBucketStart + seconds(1000)));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.take(kSize, kBucketStart + seconds(1000)));
  EXPECT_FALSE(bucket.take(kSize, kBucketStart + seconds(1000)));
}

TEST(TokenBucket, GivesItsRateInTheLongRun) {
  policy::TokenBucket bucket(kSize, kBucketStart);
  int taken = 0;
  for (int ms = 0; ms < 100'000; ms += 7)
    taken += bucket.take(kSize, kBucketStart + milliseconds(ms));
  EXPECT_GE(taken, 3 + 199 - 1);
  EXPECT_LE(taken, 3 + 200);
}

TEST(TokenBucket, ATimeBeforeTheLastOneChangesNothing) {
  policy::TokenBucket bucket(kSize, kBucketStart);
  for (int i = 0; i < 3; ++i) bucket.take(kSize, kBucketStart);
  EXPECT_FALSE(bucket.take(kSize, kBucketStart - seconds(10)));
  EXPECT_TRUE(bucket.take(kSize, kBucketStart + milliseconds(500)));
}

constexpr TimePoint kWindowStart{seconds(1000)};
constexpr Duration kPatience = seconds(10);
constexpr size_t kRate = 100;

bool is_slow(policy::RateWindow& window, Duration after, uint64_t count, size_t rate = kRate) {
  return window.is_slow(kWindowStart + after, kPatience, rate, [count] { return count; });
}

TEST(RateWindow, TheRateIsEnoughAndOneByteLessIsNot) {
  for (const uint64_t count : {1999U, 2000U}) {
    policy::RateWindow window;
    window.begin(kWindowStart, 1000);
    EXPECT_EQ(window.due(kPatience), kWindowStart + kPatience);
    EXPECT_FALSE(is_slow(window, seconds(9), 1000));
    EXPECT_EQ(is_slow(window, seconds(10), count), count == 1999);
  }
}

TEST(RateWindow, EachWindowIsJudgedByItself) {
  policy::RateWindow window;
  window.begin(kWindowStart, 0);
  EXPECT_FALSE(is_slow(window, seconds(10), 1'000'000));
  EXPECT_EQ(window.due(kPatience), kWindowStart + seconds(20));
  EXPECT_TRUE(is_slow(window, seconds(20), 1'000'999));
}

TEST(RateWindow, ALateLookAsksForMore) {
  policy::RateWindow window;
  window.begin(kWindowStart, 0);
  EXPECT_TRUE(is_slow(window, seconds(15), 1499));
}

TEST(RateWindow, WithoutARateSomethingIsEnough) {
  policy::RateWindow window;
  window.begin(kWindowStart, 0);
  EXPECT_FALSE(is_slow(window, seconds(10), 1, 0));
  EXPECT_TRUE(is_slow(window, seconds(20), 1, 0));
}

TEST(RateWindow, ACountThatIsLookedAtLaterIsJudgedByHalfAWindowFirst) {
  policy::RateWindow window;
  window.begin_later(kWindowStart);
  EXPECT_EQ(window.due(kPatience), kWindowStart + seconds(5));
  EXPECT_FALSE(is_slow(window, seconds(5), 777));
  EXPECT_EQ(window.due(kPatience), kWindowStart + seconds(10));
  policy::RateWindow other = window;
  EXPECT_TRUE(is_slow(other, seconds(10), 777 + 499));
  EXPECT_FALSE(is_slow(window, seconds(10), 777 + 500));
  EXPECT_EQ(window.due(kPatience), kWindowStart + seconds(20));
}

}  // namespace
}  // namespace stdgate
