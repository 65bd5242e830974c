#include "transports/net/storage_pool.h"

#include <gtest/gtest.h>

#include <string>

namespace stdgate {
namespace {

ByteQueue storage_of(size_t capacity) {
  ByteQueue queue;
  queue.reserve(capacity);
  EXPECT_EQ(queue.capacity(), capacity);
  return queue;
}

TEST(StoragePool, LendsWhatItWasGivenByClass) {
  struct Case {
    size_t capacity;
    size_t expected;
    bool lent;
  };
  const Case cases[] = {
      {StoragePool::kSmall, 0, true},
      {StoragePool::kSmall, StoragePool::kSmall, true},
      {StoragePool::kSmall, StoragePool::kSmall + 1, true},  // better than none
      {StoragePool::kSmall + 1, StoragePool::kSmall + 1, true},
      {StoragePool::kSmall + 1, StoragePool::kSmall, false},
      {StoragePool::kLarge, StoragePool::kLarge, true},
      {StoragePool::kLarge + 1, StoragePool::kLarge + 1, false},
  };
  for (const Case& c : cases) {
    StoragePool pool;
    ByteQueue used = storage_of(c.capacity);
    used.append("leftover");
    pool.give_back(std::move(used));
    ByteQueue lent = pool.borrow(c.expected);
    EXPECT_EQ(lent.capacity(), c.lent ? c.capacity : 0) << c.capacity << " for " << c.expected;
    EXPECT_TRUE(lent.empty());
    EXPECT_EQ(pool.borrow(c.expected).capacity(), 0U);
  }
}

TEST(StoragePool, KeepsNoMoreThanItsLimit) {
  for (const bool small : {true, false}) {
    StoragePool pool;
    const size_t limit = small ? StoragePool::kSmallCount : StoragePool::kLargeCount;
    const size_t capacity = small ? 512 : StoragePool::kLarge;
    for (size_t i = 0; i < limit + 1; ++i) pool.give_back(storage_of(capacity));
    size_t lent = 0;
    while (pool.borrow(capacity).capacity() > 0) ++lent;
    EXPECT_EQ(lent, limit);
  }
}

}  // namespace
}  // namespace stdgate
