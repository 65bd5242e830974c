// Accounts of clients and backends: their bounds, and which callers count as one client.
#include "gateway/policy/accounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>

namespace stdgate {
namespace {

using policy::AccountBounds;
using policy::Accounts;
using policy::ClientRef;
using policy::Principal;
using testing::SizeIs;

constexpr size_t kMiB = 1 << 20;

ClientRef at(const char* address) { return {nullptr, *ClientAddress::parse(address)}; }

TEST(AccountBounds, FollowFromTheMemoryUnlessTheyAreSet) {
  struct {
    std::optional<uint64_t> buffered;
    std::optional<uint64_t> per_client;
    size_t message;
    uint64_t memory;
    AccountBounds bounds;
  } const cases[] = {
      {{}, {}, 16 * kMiB, 1024 * kMiB, {512 * kMiB, 128 * kMiB}},
      {{}, {}, 16 * kMiB, 200 * kMiB, {100 * kMiB, 32 * kMiB}},  // twice limits.message
      {{}, {}, 16 * kMiB, 8 * kMiB, {16 * kMiB, 16 * kMiB}},     // at least limits.message
      {{400 * kMiB}, {}, 16 * kMiB, 200 * kMiB, {400 * kMiB, 100 * kMiB}},
      {{400 * kMiB}, {400 * kMiB}, 16 * kMiB, 200 * kMiB, {400 * kMiB, 400 * kMiB}},
      {{}, {20 * kMiB}, 16 * kMiB, 1024 * kMiB, {512 * kMiB, 20 * kMiB}},
  };
  for (const auto& item : cases) {
    config::LimitsConfig limits;
    limits.buffered = item.buffered;
    limits.buffered_per_client = item.per_client;
    limits.message = item.message;
    const AccountBounds bounds = policy::account_bounds(limits, item.memory);
    EXPECT_EQ(bounds.gateway, item.bounds.gateway) << item.memory;
    EXPECT_EQ(bounds.client, item.bounds.client) << item.memory;
  }
}

TEST(Accounts, AClientIsAPrincipalElseAnAddress) {
  Accounts accounts;
  Principal ann;
  ann.name = "ann";
  const AccountRef of_ann = accounts.of({&ann, *ClientAddress::parse("192.0.2.1")});
  const AccountRef elsewhere = accounts.of({&ann, *ClientAddress::parse("192.0.2.2")});
  EXPECT_EQ(of_ann.get(), elsewhere.get());
  const AccountRef address = accounts.of(at("192.0.2.1"));
  EXPECT_NE(address.get(), of_ann.get());
  EXPECT_EQ(address.get(), accounts.of(at("192.0.2.1")).get());
  const AccountRef network = accounts.of(at("2001:db8::1"));
  EXPECT_EQ(network.get(), accounts.of(at("2001:db8::ffff")).get());
  EXPECT_NE(network.get(), accounts.of(at("2001:db8:0:1::1")).get());
  const AccountRef nobody = accounts.of({});
  EXPECT_EQ(nobody.get(), accounts.of({}).get());
}

TEST(Accounts, KnowAClientAsLongAsSomethingOfItIsThere) {
  Accounts accounts;
  {
    const AccountRef account = accounts.of(at("192.0.2.1"));
    EXPECT_EQ(accounts.clients(), 1U);
    Share share({account.get(), &accounts.unrouted()}, Holding::receiving);
    share.set(10);
    EXPECT_EQ(accounts.held_for_clients(), 10U);
    accounts.check_invariants();
  }
  EXPECT_EQ(accounts.clients(), 0U);
  EXPECT_EQ(accounts.gateway().used(), 0U);
  accounts.check_invariants();
}

TEST(Accounts, SayWhoHoldsMost) {
  Accounts accounts;
  Principal ann;
  ann.name = "ann";
  std::array<Share, 3> shares = {
      Share({accounts.of(at("192.0.2.1")).get(), &accounts.unrouted()}, Holding::receiving),
      Share({accounts.of({&ann, {}}).get(), &accounts.unrouted()}, Holding::receiving),
      Share({accounts.of(at("192.0.2.3")).get(), &accounts.unrouted()}, Holding::receiving)};
  shares[0].set(10);
  shares[1].set(30);
  ASSERT_THAT(accounts.largest(5), SizeIs(2));
  EXPECT_EQ(accounts.largest(5)[0].client, "ann");
  EXPECT_EQ(accounts.largest(5)[0].bytes, 30U);
  EXPECT_EQ(accounts.largest(1).size(), 1U);
  EXPECT_EQ(accounts.largest(5)[1].client, "192.0.2.1");
}

// Memory that a backend holds for no client is its own. Memory that clients hold at the backend is
// counted there too.
TEST(Accounts, WhatIsHeldAtABackendIsCounted) {
  Accounts accounts({.gateway = 1000, .client = 400});
  const Payer backend = accounts.backend(2);
  EXPECT_EQ(backend, accounts.backend(2));
  EXPECT_EQ(backend.account->bound(), 500U);
  Share own(backend, Holding::caches);
  own.set(100);
  Share of_client({accounts.of(at("192.0.2.1")).get(), backend.held}, Holding::sessions);
  of_client.set(11);
  EXPECT_EQ(accounts.held_at(2).total(), 111U);
  EXPECT_EQ(accounts.held_at(0).total(), 0U);
  EXPECT_EQ(accounts.held_at(7).total(), 0U);
  EXPECT_EQ(accounts.held_for_clients(), 11U);
  EXPECT_EQ(accounts.gateway().used(), 111U);
  accounts.check_invariants();
}

}  // namespace
}  // namespace stdgate
