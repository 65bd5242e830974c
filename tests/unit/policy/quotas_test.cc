#include "gateway/policy/quotas.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace stdgate {

// Rates of clients, by token buckets, and the rate at which bytes must arrive.

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

// Uses up all events that `who` may have now. Returns their number.
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
  // The client that used its rate longest ago is forgotten. The state of the others is kept.
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

// ClientQuotas: the number of calls of each client in a time, and at the same time.

namespace {

using policy::ClientQuotas;
using policy::ClientRef;
using policy::Principal;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Reason = policy::QuotaRefusal::Reason;

TimePoint at(Duration since) { return TimePoint{} + std::chrono::hours(1) + since; }

ClientRef address(const char* text) { return {nullptr, *ClientAddress::parse(text)}; }

Principal named(std::string name, std::string issuer = {},
                Principal::Kind kind = Principal::Kind::api_key) {
  Principal principal;
  principal.kind = kind;
  principal.name = std::move(name);
  principal.issuer = std::move(issuer);
  return principal;
}

config::ClientLimits limits(uint32_t rate, uint32_t burst, uint32_t in_flight = 0) {
  config::ClientLimits limits;
  limits.rate = {rate, seconds(1)};
  limits.burst = burst;
  limits.in_flight = in_flight;
  return limits;
}

// A call that ends at once.
bool call(ClientQuotas& quotas, const ClientRef& client, TimePoint now) {
  const auto begun = quotas.begin_call(client, now);
  if (begun && *begun != nullptr) quotas.end_call(**begun);
  return begun.has_value();
}

TEST(ClientQuotas, WithoutLimitsThereIsNothingToAsk) {
  EXPECT_FALSE(ClientQuotas(config::ClientLimits()).any());
  EXPECT_TRUE(ClientQuotas(limits(1, 0)).any());
  EXPECT_TRUE(ClientQuotas(limits(0, 0, 1)).any());
}

TEST(ClientQuotas, ABurstThenARate) {
  ClientQuotas quotas(limits(10, 3));
  const ClientRef client = address("192.0.2.1");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(call(quotas, client, at(seconds(0)))) << i;
  const auto refused = quotas.begin_call(client, at(seconds(0)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::rate);
  EXPECT_EQ(refused.error().wait, milliseconds(100));
  EXPECT_FALSE(call(quotas, client, at(milliseconds(99))));
  EXPECT_TRUE(call(quotas, client, at(milliseconds(100))));
  EXPECT_FALSE(call(quotas, client, at(milliseconds(100))));
  EXPECT_TRUE(call(quotas, address("192.0.2.2"), at(milliseconds(100))));
}

// The limits of the backend, and of all backends together, apply to every caller.
TEST(ClientQuotas, AllTogetherHaveLimitsToo) {
  using Whose = policy::QuotaRefusal::Whose;
  config::CallLimits few;
  few.rate = {2, seconds(1)};
  config::CallLimits one;
  one.in_flight = 1;
  policy::CallQuota in_all(one);
  ClientQuotas quotas(config::ClientLimits(), few, &in_all);
  ClientQuotas other(config::ClientLimits(), {}, &in_all);
  EXPECT_TRUE(quotas.any());
  EXPECT_TRUE(other.any());
  const auto first = quotas.begin_call(address("192.0.2.1"), at(seconds(0)));
  ASSERT_TRUE(first);
  for (ClientQuotas* const each : {&quotas, &other}) {
    const auto refused = each->begin_call({}, at(seconds(0)));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().reason, Reason::in_flight);
    EXPECT_EQ(refused.error().whose, Whose::gateway);
  }
  quotas.end_call(**first);
  EXPECT_TRUE(call(other, {}, at(seconds(0))));
  EXPECT_TRUE(call(quotas, address("192.0.2.2"), at(seconds(0))));
  const auto refused = quotas.begin_call(address("192.0.2.3"), at(seconds(0)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::rate);
  EXPECT_EQ(refused.error().whose, Whose::backend);
  EXPECT_EQ(refused.error().wait, milliseconds(500));
  EXPECT_TRUE(call(other, {}, at(seconds(0))));
  EXPECT_TRUE(call(quotas, address("192.0.2.3"), at(milliseconds(500))));
}

// A call that a common limit refuses does not use up the client's own limit.
TEST(ClientQuotas, WhatIsRefusedToAllCountsForNobody) {
  config::CallLimits together;
  together.rate = {1, seconds(1)};
  ClientQuotas quotas(limits(2, 2), together);
  const ClientRef client = address("192.0.2.1");
  EXPECT_TRUE(call(quotas, client, at(seconds(0))));
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(call(quotas, client, at(seconds(0))));
  EXPECT_TRUE(call(quotas, client, at(seconds(1))));
}

TEST(ClientQuotas, WithoutABurstItIsWhatTheRateNames) {
  config::ClientLimits slow = limits(2, 0);
  slow.rate.per = minutes(1);
  ClientQuotas quotas(slow);
  const ClientRef client = address("192.0.2.1");
  EXPECT_TRUE(call(quotas, client, at(seconds(0))));
  EXPECT_TRUE(call(quotas, client, at(seconds(0))));
  EXPECT_EQ(quotas.begin_call(client, at(seconds(0))).error().wait, seconds(30));
}

TEST(ClientQuotas, CallsUnderWay) {
  ClientQuotas quotas(limits(0, 0, 2));
  const ClientRef client = address("192.0.2.1");
  auto first = quotas.begin_call(client, at(seconds(0)));
  ASSERT_TRUE(first && quotas.begin_call(client, at(seconds(0))));
  EXPECT_EQ(quotas.begin_call(client, at(seconds(0))).error().reason, Reason::in_flight);
  EXPECT_EQ(quotas.in_flight(), 2U);
  quotas.end_call(**first);
  EXPECT_TRUE(quotas.begin_call(client, at(seconds(0))));
  EXPECT_FALSE(quotas.begin_call(client, at(seconds(0))));
}

// A call that is refused for calls under way does not use up the rate.
TEST(ClientQuotas, ARefusalTakesNoToken) {
  ClientQuotas quotas(limits(1, 2, 1));
  const ClientRef client = address("192.0.2.1");
  auto first = quotas.begin_call(client, at(seconds(0)));
  EXPECT_FALSE(quotas.begin_call(client, at(seconds(0))));
  quotas.end_call(**first);
  EXPECT_TRUE(call(quotas, client, at(seconds(0))));
}

TEST(ClientQuotas, WhoIsOneClient) {
  const Principal a = named("a");
  const Principal same = named("a");
  const Principal b = named("b");
  const Principal issued = named("a", "https://id.example");
  const Principal token = named("a", "", Principal::Kind::token);
  const ClientAddress here = *ClientAddress::parse("192.0.2.1");
  const ClientAddress there = *ClientAddress::parse("192.0.2.2");
  EXPECT_TRUE(policy::is_same_client({&a, here}, {&same, there}));
  EXPECT_FALSE(policy::is_same_client({&a, here}, {&b, here}));
  EXPECT_FALSE(policy::is_same_client({&a, here}, {&issued, here}));
  EXPECT_FALSE(policy::is_same_client({&a, here}, {&token, here}));
  EXPECT_FALSE(policy::is_same_client({&a, here}, {nullptr, here}));
  EXPECT_TRUE(policy::is_same_client(address("2001:db8::1"), address("2001:db8::2")));
  EXPECT_FALSE(policy::is_same_client(address("2001:db8::1"), address("2001:db8:0:1::1")));
  ClientQuotas quotas(limits(1, 1));
  EXPECT_TRUE(call(quotas, {&a, here}, at(seconds(0))));
  EXPECT_FALSE(call(quotas, {&same, there}, at(seconds(0))));
  EXPECT_TRUE(call(quotas, {&issued, here}, at(seconds(0))));
  EXPECT_TRUE(call(quotas, {nullptr, here}, at(seconds(0))));
  EXPECT_EQ(quotas.clients(), 3U);
}

TEST(ClientQuotas, WhoHasNoAddressIsNotLimited) {
  ClientQuotas quotas(limits(1, 1, 1));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(call(quotas, {}, at(seconds(0))));
  EXPECT_EQ(quotas.clients(), 0U);
}

ClientRef numbered(size_t number) {
  const std::array<uint8_t, 4> bytes = {10, static_cast<uint8_t>(number >> 16),
                                        static_cast<uint8_t>(number >> 8),
                                        static_cast<uint8_t>(number)};
  return {nullptr, ClientAddress::ipv4(bytes)};
}

TEST(ClientQuotas, TheOneThatCalledLongestAgoIsForgotten) {
  ClientQuotas quotas(limits(1, 1));
  for (size_t i = 0; i < ClientQuotas::kMaxClients; ++i) {
    ASSERT_TRUE(call(quotas, numbered(i), at(seconds(0))));
  }
  EXPECT_FALSE(call(quotas, numbered(0), at(seconds(0))));  // its last call is the newest now
  EXPECT_TRUE(call(quotas, address("192.0.2.1"), at(seconds(0))));
  EXPECT_EQ(quotas.clients(), ClientQuotas::kMaxClients);
  EXPECT_FALSE(call(quotas, numbered(0), at(seconds(0))));
  EXPECT_TRUE(call(quotas, numbered(1), at(seconds(0)))) << "it was forgotten";
}

TEST(ClientQuotas, OneWithCallsUnderWayIsKept) {
  ClientQuotas quotas(limits(0, 0, 1));
  std::vector<ClientQuotas::Client*> begun;
  for (size_t i = 0; i < ClientQuotas::kMaxClients; ++i) {
    begun.push_back(*quotas.begin_call(numbered(i), at(seconds(0))));
  }
  const auto refused = quotas.begin_call(address("192.0.2.1"), at(seconds(0)));
  EXPECT_EQ(refused.error().reason, Reason::clients);
  quotas.end_call(*begun[7]);
  EXPECT_TRUE(quotas.begin_call(address("192.0.2.1"), at(seconds(0))));
  EXPECT_EQ(quotas.begin_call(numbered(6), at(seconds(0))).error().reason, Reason::in_flight);
}

}  // namespace

namespace {

ClientAddress v4(uint8_t a, uint8_t b) {
  const std::array<uint8_t, 4> bytes{a, 0, 0, b};
  return ClientAddress::ipv4(bytes);
}

TEST(ClientCounts, AsManyAsAllowedAndNotOneMore) {
  policy::ClientCounts counts(2, loopback_blocks());
  const ClientAddress client = v4(10, 1);
  EXPECT_TRUE(counts.add(client));
  EXPECT_TRUE(counts.add(client));
  EXPECT_FALSE(counts.add(client));
  EXPECT_EQ(counts.count(client), 2U);
  EXPECT_TRUE(counts.add(v4(10, 2)));
  counts.remove(client);
  EXPECT_TRUE(counts.add(client));
  EXPECT_FALSE(counts.add(client));
}

TEST(ClientCounts, NothingIsKeptOfWhoHasNone) {
  policy::ClientCounts counts(2, {});
  for (uint8_t i = 0; i < 100; ++i) counts.add(v4(10, i));
  EXPECT_EQ(counts.clients(), 100U);
  for (uint8_t i = 0; i < 100; ++i) counts.remove(v4(10, i));
  EXPECT_EQ(counts.clients(), 0U);
}

TEST(ClientCounts, SomeAreNotCounted) {
  policy::ClientCounts counts(1, loopback_blocks());
  std::array<uint8_t, 16> v6_loopback{};
  v6_loopback[15] = 1;
  for (const ClientAddress& client : {v4(127, 1), ClientAddress::ipv6(v6_loopback), ClientAddress(),
                                      ClientAddress::unix_user(7)}) {
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(counts.add(client)) << client.to_string();
    for (int i = 0; i < 5; ++i) counts.remove(client);
  }
  EXPECT_EQ(counts.clients(), 0U);
}

TEST(ClientCounts, WhoseAreNotLimitedMayChange) {
  policy::ClientCounts counts(1, {});
  const ClientAddress proxy = v4(127, 1);
  EXPECT_TRUE(counts.add(proxy));
  EXPECT_FALSE(counts.add(proxy));
  counts.set_limits(1, loopback_blocks());
  EXPECT_TRUE(counts.add(proxy));
  EXPECT_TRUE(counts.add(proxy));
  counts.set_limits(2, {});
  EXPECT_FALSE(counts.add(proxy)) << "three are open";
  counts.remove(proxy);
  counts.remove(proxy);
  EXPECT_TRUE(counts.add(proxy));
  counts.remove(proxy);
  counts.remove(proxy);
  EXPECT_EQ(counts.clients(), 0U);
}

}  // namespace

}  // namespace stdgate
