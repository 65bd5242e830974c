// ClientQuotas: calls of each client in a time, and under way.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "gateway/policy/quotas.h"

namespace stdgate {
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

// Of the backend, and of all backends: whoever calls, and told apart or not.
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

// What all together may not costs no client of its own limit.
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

// What is refused for calls under way costs nothing of the rate.
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
  EXPECT_FALSE(call(quotas, numbered(0), at(seconds(0))));  // used last now
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
}  // namespace stdgate
