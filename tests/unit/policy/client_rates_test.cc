#include "gateway/policy/client_rates.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace stdgate
