#include "gateway/base/memory_account.h"

#include <gtest/gtest.h>

#include "gateway/base/shared_bytes.h"

namespace stdgate {
namespace {

struct Events final : MemoryAccountEvents {
  void on_memory_over_limit() override { ++over; }
  void on_much_memory() override { ++much; }
  int over = 0;
  int much = 0;
};

TEST(MemoryAccount, AtTheLimitAndOneBeyond) {
  Events events;
  MemoryAccount account(1000, events);
  account.change_unsent(0, 600);
  account.change_received(0, 400);
  EXPECT_FALSE(account.is_over());
  account.change_received(400, 401);
  EXPECT_TRUE(account.is_over());
  EXPECT_EQ(events.over, 0);  // who receives is refused instead
  account.change_unsent(600, 601);
  EXPECT_EQ(events.over, 1);
  account.change_unsent(601, 599);
  EXPECT_EQ(events.over, 1);
  EXPECT_EQ(account.used(), 1000U);
}

TEST(MemoryAccount, TellsOfMuchOnceInAPeak) {
  Events events;
  MemoryAccount account(SIZE_MAX, events);
  account.change_received(0, MemoryAccount::kMuch - 1);
  EXPECT_EQ(events.much, 0);
  account.change_received(MemoryAccount::kMuch - 1, MemoryAccount::kMuch);
  EXPECT_EQ(events.much, 1);
  account.change_received(MemoryAccount::kMuch, 0);
  account.change_received(0, MemoryAccount::kMuch);
  EXPECT_EQ(events.much, 1);
  account.change_received(MemoryAccount::kMuch, 0);
  EXPECT_EQ(account.peak(), MemoryAccount::kMuch);
  account.reset_peak();
  account.change_received(0, MemoryAccount::kMuch);
  EXPECT_EQ(events.much, 2);
}

TEST(SharedBytes, HowEverManyHaveToSendThemTheyArePaidForOnce) {
  Events events;
  MemoryAccount account(SIZE_MAX, events);
  const std::string text(1000, 'x');
  SharedBytes bytes{std::string_view(text)};
  EXPECT_EQ(account.used(), 0U);  // nobody sends
  {
    UnsentShare one(bytes, &account);
    UnsentShare two(bytes.part(100, 10), &account);
    EXPECT_EQ(account.used(), 1000U);
    UnsentShare moved(std::move(one));
    EXPECT_EQ(moved.view(), text);
    moved.release();
    EXPECT_EQ(account.used(), 1000U);
    EXPECT_EQ(moved.view(), text);
    two = UnsentShare();
    EXPECT_EQ(account.used(), 0U);
    const UnsentShare unpaid(bytes, nullptr);
    EXPECT_EQ(account.used(), 0U);
  }
  EXPECT_EQ(account.used(), 0U);
}

}  // namespace
}  // namespace stdgate
