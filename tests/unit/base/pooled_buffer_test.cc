// PooledBuffer: storage comes from its pool and goes back there.

#include "gateway/base/pooled_buffer.h"

#include <gtest/gtest.h>

#include <string>

namespace stdgate {
namespace {

// The storage that the pool would lend next, if it has any.
const void* lent_by(StoragePool& pool) {
  ByteQueue storage = pool.borrow(1);
  const void* place = storage.capacity() == 0 ? nullptr : storage.view().data();
  pool.give_back(std::move(storage));
  return place;
}

TEST(PooledBuffer, ReturnsItsStorageOnceNothingIsThere) {
  StoragePool pool;
  PooledBuffer buffer(pool);
  EXPECT_EQ(buffer.capacity(), 0U);
  buffer.append("abc");
  const void* const place = buffer.view().data();
  buffer.consume(1);
  buffer.release_if_empty();
  EXPECT_EQ(buffer.view(), "bc");
  EXPECT_EQ(lent_by(pool), nullptr);
  buffer.consume(2);
  buffer.release_if_empty();
  EXPECT_EQ(buffer.capacity(), 0U);
  EXPECT_EQ(lent_by(pool), place);
  buffer.append("d", 100);
  EXPECT_EQ(buffer.view().data(), place) << "it borrows again";
}

TEST(PooledBuffer, ReturnsItsStorageAtItsEnd) {
  StoragePool pool;
  const void* place = nullptr;
  {
    PooledBuffer buffer(pool);
    buffer.append_announced("abc", 0);
    place = buffer.view().data();
  }
  EXPECT_EQ(lent_by(pool), place);
}

TEST(PooledBuffer, GrowsWithWhatHasComeWhateverIsAnnounced) {
  StoragePool pool;
  PooledBuffer buffer(pool);
  buffer.append_announced(std::string(1000, 'x'), 1 << 30);
  EXPECT_LE(buffer.capacity(), 4000U);
  EXPECT_EQ(buffer.size(), 1000U);
}

TEST(PooledBuffer, ItsStorageCanBeTakenOverAndAdopted) {
  StoragePool pool;
  PooledBuffer first(pool);
  first.append(std::string(1000, 'x'));
  const char* const place = first.view().data();
  {
    const StorageOffer offer = first.offer();
    PooledBuffer second(pool);
    second.adopt(pool.take_over(first.view()));
    EXPECT_EQ(second.view().data(), place);
  }
  EXPECT_TRUE(first.empty());
  EXPECT_EQ(lent_by(pool), place);
}

}  // namespace
}  // namespace stdgate
