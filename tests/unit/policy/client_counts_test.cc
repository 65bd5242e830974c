#include <gtest/gtest.h>

#include "gateway/policy/quotas.h"

namespace stdgate {
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
