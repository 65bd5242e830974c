// Which exchange a connection gets: its own again, else a new one or the one that nobody wants.
#include "transports/http/spare_exchanges.h"

#include <gtest/gtest.h>

namespace stdgate::test {
namespace {

using ExchangePtr = std::unique_ptr<http::Exchange>;

std::vector<ExchangePtr> take_many(http::SpareExchanges& spare, size_t count) {
  std::vector<ExchangePtr> taken;
  for (size_t i = 0; i < count; ++i) taken.push_back(spare.take(0));
  return taken;
}

void give_back(http::SpareExchanges& spare, std::vector<ExchangePtr> exchanges) {
  for (ExchangePtr& exchange : exchanges) spare.give_back(std::move(exchange));
}

TEST(SpareExchanges, ComeBackToWhoHadThem) {
  StoragePool storages;
  http::SpareExchanges spare(storages);
  std::vector<ExchangePtr> taken = take_many(spare, 5);
  std::vector<http::Exchange*> had;
  for (const ExchangePtr& exchange : taken) had.push_back(exchange.get());
  give_back(spare, std::move(taken));
  for (const uint32_t number : {3U, 1U, 5U, 4U, 2U}) {
    const ExchangePtr again = spare.take(number);
    ASSERT_EQ(again.get(), had[number - 1]);
    EXPECT_EQ(again->number, number);
  }
}

TEST(SpareExchanges, StrangersGetTheOldest) {
  StoragePool storages;
  http::SpareExchanges spare(storages);
  give_back(spare, take_many(spare, 3));
  spare.give_back(spare.take(1));
  EXPECT_EQ(spare.take(0)->number, 2U);
  EXPECT_EQ(spare.take(0)->number, 3U);
  EXPECT_EQ(spare.take(0)->number, 1U);
}

TEST(SpareExchanges, WhoFindsItsOwnTakenLeavesThoseOfOthers) {
  StoragePool storages;
  http::SpareExchanges spare(storages);
  give_back(spare, take_many(spare, 2));
  const ExchangePtr first = spare.take(1);
  const ExchangePtr another = spare.take(1);
  EXPECT_EQ(another->number, 3U);
  EXPECT_EQ(spare.take(2)->number, 2U);
}

TEST(SpareExchanges, OwnOnesAreLimited) {
  StoragePool storages;
  http::SpareExchanges spare(storages);
  give_back(spare, take_many(spare, http::SpareExchanges::kMaxOwn - 1));
  const ExchangePtr first = spare.take(1);
  const ExchangePtr last_own = spare.take(1);
  EXPECT_EQ(last_own->number, http::SpareExchanges::kMaxOwn);
  EXPECT_EQ(spare.take(1)->number, 2U) << "the oldest";
}

TEST(SpareExchanges, SoManyAreKept) {
  StoragePool storages;
  http::SpareExchanges spare(storages);
  std::vector<ExchangePtr> taken = take_many(spare, http::SpareExchanges::kMaxEntries + 1);
  EXPECT_EQ(taken[http::SpareExchanges::kMaxEntries - 1]->number,
            http::SpareExchanges::kMaxEntries);
  EXPECT_EQ(taken.back()->number, 0U);
  give_back(spare, std::move(taken));
  EXPECT_EQ(take_many(spare, http::SpareExchanges::kMaxEntries).back()->number,
            http::SpareExchanges::kMaxEntries);
}

TEST(SpareExchanges, WhatIsDroppedMakesRoomForOthers) {
  StoragePool storages;
  http::SpareExchanges spare(storages);
  std::vector<ExchangePtr> taken = take_many(spare, http::SpareExchanges::kMaxEntries);
  ExchangePtr busy = std::move(taken.back());
  taken.pop_back();
  give_back(spare, std::move(taken));
  spare.drop();
  spare.drop();
  const uint32_t number = busy->number;
  http::Exchange* const kept = busy.get();
  spare.give_back(std::move(busy));
  EXPECT_EQ(spare.take(number).get(), kept) << "one that was in use comes back as ever";
  // Its holder is gone; all others have numbers again.
  taken = take_many(spare, http::SpareExchanges::kMaxEntries);
  EXPECT_NE(taken[http::SpareExchanges::kMaxEntries - 2]->number, 0U);
  EXPECT_EQ(taken.back()->number, 0U);
  taken.pop_back();
  http::Exchange* const own = taken[5].get();
  const uint32_t its_number = own->number;
  give_back(spare, std::move(taken));
  EXPECT_EQ(spare.take(its_number).get(), own);
}

}  // namespace
}  // namespace stdgate::test
