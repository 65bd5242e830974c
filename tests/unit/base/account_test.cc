// Accounts and shares: who is charged for what, and who may hold no more.
#include "gateway/base/account.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "gateway/base/byte_storage.h"

namespace stdgate {
namespace {

struct Events final : AccountEvents {
  void on_account_over() override { ++over; }
  int over = 0;
};

struct Keeper final : AccountKeeper {
  void on_unused(Account& account) override { unused.push_back(&account); }
  std::vector<Account*> unused;
};

TEST(Account, AShareIsChargedToTheParentToo) {
  Account gateway(1000);
  Account client(gateway, 500);
  HeldBytes held;
  {
    Share share({&client, &held}, Holding::calls);
    share.set(100);
    share.add(20);
    EXPECT_EQ(client.used(), 120U);
    EXPECT_EQ(gateway.used(), 120U);
    EXPECT_EQ(held.of[static_cast<size_t>(Holding::calls)], 120U);
    EXPECT_EQ(held.total(), 120U);
    share.set(7);
    EXPECT_EQ(gateway.used(), 7U);
  }
  EXPECT_EQ(client.used(), 0U);
  EXPECT_EQ(gateway.used(), 0U);
  EXPECT_EQ(held.total(), 0U);
}

TEST(Account, AtTheBoundAndOneBeyond) {
  Account gateway(1000);
  Account client(gateway, 400);
  Share share({&client, nullptr}, Holding::receiving);
  share.set(400);
  EXPECT_EQ(client.lack(), MemoryLack::none);
  EXPECT_FALSE(client.is_over());
  share.set(401);
  EXPECT_EQ(client.lack(), MemoryLack::of_holder);
  EXPECT_TRUE(client.is_beyond_bound());
  EXPECT_TRUE(client.is_over());
  EXPECT_FALSE(gateway.is_over());
}

// As memory runs out, the largest holders are refused first, and a client that holds nothing is
// never refused.
TEST(Account, NobodyHoldsMoreThanWhatIsLeft) {
  Account gateway(1000);
  Account large(gateway, 999);
  Account small(gateway, 999);
  Account nobody(gateway, 999);
  Share of_large({&large, nullptr}, Holding::receiving);
  Share of_small({&small, nullptr}, Holding::receiving);
  of_large.set(500);
  EXPECT_EQ(large.lack(), MemoryLack::none);  // the same amount is left
  of_large.set(501);
  EXPECT_EQ(large.lack(), MemoryLack::of_gateway);
  of_small.set(200);
  EXPECT_EQ(small.lack(), MemoryLack::none);
  of_small.set(250);
  EXPECT_EQ(small.lack(), MemoryLack::of_gateway);
  of_large.set(900);
  EXPECT_EQ(small.lack(), MemoryLack::of_gateway);
  EXPECT_EQ(nobody.lack(), MemoryLack::none);
  EXPECT_TRUE(gateway.is_over());
  EXPECT_TRUE(nobody.is_over());
}

// If all clients count as one, this client may hold everything.
TEST(Account, OneThatMayHoldAllHoldsAll) {
  Account gateway(1000);
  Account client(gateway, 1000);
  Account other(gateway, 1000);
  Share share({&client, nullptr}, Holding::receiving);
  share.set(1000);
  EXPECT_EQ(client.lack(), MemoryLack::none);
  Share of_other({&other, nullptr}, Holding::receiving);
  of_other.set(1);
  EXPECT_EQ(client.lack(), MemoryLack::of_gateway);
}

TEST(Account, GrowthOfWhatIsUnsentIsTold) {
  Events events;
  Account gateway(1000);
  gateway.set_events(&events);
  Account client(gateway, 400);
  Share received({&client, nullptr}, Holding::receiving);
  Share unsent({&client, nullptr}, Holding::unsent);
  received.set(401);
  EXPECT_EQ(events.over, 0);  // a receiving client is refused instead
  unsent.set(1);
  EXPECT_EQ(events.over, 1);
  unsent.set(0);
  EXPECT_EQ(events.over, 1);
  received.set(0);
  unsent.set(400);
  EXPECT_EQ(events.over, 1);
}

TEST(Account, ItsKeeperHearsOfTheLastUse) {
  Keeper keeper;
  Account gateway(1000);
  Account client(gateway, 400, &keeper);
  {
    Share share({&client, nullptr}, Holding::sessions);
    const AccountRef another(&client);
    share = {};
    EXPECT_TRUE(keeper.unused.empty());
  }
  EXPECT_EQ(keeper.unused, std::vector<Account*>{&client});
}

TEST(Share, MovesWithWhatItHas) {
  Account gateway(1000);
  Account one(gateway, 400);
  Account other(gateway, 400);
  HeldBytes here;
  HeldBytes there;
  Share share({&one, &here}, Holding::unsent);
  share.set(10);
  share.move_to({&other, &there});
  EXPECT_EQ(one.used(), 0U);
  EXPECT_EQ(other.used(), 10U);
  EXPECT_EQ(here.total(), 0U);
  EXPECT_EQ(there.total(), 10U);
  Share moved(std::move(share));
  EXPECT_EQ(other.used(), 10U);
  Share third({&one, &here}, Holding::unsent);
  third.set(5);
  third = std::move(moved);
  EXPECT_EQ(one.used(), 0U);
  EXPECT_EQ(gateway.used(), 10U);
  third.move_to({});
  EXPECT_EQ(gateway.used(), 0U);
}

TEST(Share, WithoutAnAccountNothingIsCharged) {
  Share share;
  share.set(1000);
  EXPECT_EQ(share.bytes(), 0U);
  EXPECT_EQ(share.lack(), MemoryLack::none);
  EXPECT_FALSE(share.is_over());
}

TEST(SharedBytes, HoweverManyHoldThemTheyArePaidForOnce) {
  Account gateway(10'000);
  HeldBytes held;
  const std::string text(1000, 'x');
  {
    const SharedBytes bytes(text, {&gateway, &held});
    EXPECT_GE(gateway.used(), 1000U);
    const size_t once = gateway.used();
    const SharedBytes another = bytes.part(100, 10);
    EXPECT_EQ(another.view(), std::string(10, 'x'));
    EXPECT_EQ(gateway.used(), once);
    EXPECT_EQ(held.of[static_cast<size_t>(Holding::unsent)], once);
  }
  EXPECT_EQ(gateway.used(), 0U);
}

}  // namespace
}  // namespace stdgate
