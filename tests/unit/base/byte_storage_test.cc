#include "gateway/base/byte_storage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "tests/fuzz/random_seed.h"

namespace stdgate {

// ByteQueue: bytes are appended at the back, and consumed at the front.

namespace {

TEST(ByteQueueTest, AppendAndConsume) {
  ByteQueue queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.view(), "");
  queue.append("");
  EXPECT_EQ(queue.capacity(), 0u);
  queue.append("hello");
  queue.push_back('!');
  EXPECT_EQ(queue.view(), "hello!");
  queue.consume(2);
  EXPECT_EQ(queue.view(), "llo!");
  queue.bytes()[0] = 'L';
  EXPECT_EQ(queue.view(), "Llo!");
  queue.consume(4);
  EXPECT_TRUE(queue.empty());
}

TEST(ByteQueueTest, ReserveAndCommit) {
  ByteQueue queue;
  queue.append("ab");
  std::memcpy(queue.reserve(1000), "cdef", 4);
  EXPECT_GE(queue.capacity(), 1002u);
  EXPECT_EQ(queue.view(), "ab");
  queue.commit(3);
  EXPECT_EQ(queue.view(), "abcde");
}

TEST(ByteQueueTest, RoomThatIsReservedIsNotMoved) {
  ByteQueue queue;
  const char* room = queue.reserve(10000);
  queue.append(std::string(10000, 'x'));
  EXPECT_EQ(queue.view().data(), room);
}

TEST(ByteQueueTest, ReleaseMemory) {
  ByteQueue queue;
  queue.append(std::string(2000, 'x'));
  const size_t capacity = queue.capacity();
  queue.release_memory();
  EXPECT_EQ(queue.size(), 2000u);
  queue.clear();
  queue.release_memory(capacity);
  EXPECT_EQ(queue.capacity(), capacity);
  queue.release_memory(capacity - 1);
  EXPECT_EQ(queue.capacity(), 0u);
  queue.append("again");
  EXPECT_EQ(queue.view(), "again");
}

TEST(ByteQueueTest, MoveTakesTheBytesAlong) {
  ByteQueue a;
  a.append("abc");
  a.consume(1);
  ByteQueue b(std::move(a));
  EXPECT_EQ(b.view(), "bc");
  ByteQueue c;
  c.append("old");
  c = std::move(b);
  EXPECT_EQ(c.view(), "bc");
  ByteQueue d;
  d.append("d");
  c.swap(d);
  EXPECT_EQ(c.view(), "d");
  EXPECT_EQ(d.view(), "bc");
}

// A queue that never runs empty must not grow without limit.
TEST(ByteQueueTest, ASteadyStreamKeepsItsStorageSmall) {
  ByteQueue queue;
  const std::string piece(100, 'x');
  queue.append(piece);
  for (int i = 0; i < 100000; ++i) {
    queue.append(piece);
    queue.consume(piece.size());
  }
  EXPECT_EQ(queue.size(), piece.size());
  EXPECT_LE(queue.capacity(), 1024u);
}

TEST(ByteQueueTest, RandomUseAgainstAString) {
  std::mt19937_64 random(test::random_seed());
  ByteQueue queue;
  std::string model;
  for (int step = 0; step < 50000; ++step) {
    const std::string bytes(random() % 300, static_cast<char>('a' + random() % 26));
    const size_t some = model.empty() ? 0 : random() % (model.size() + 1);
    switch (random() % 8) {
      case 0:
        queue.push_back('!');
        model += '!';
        break;
      case 1: {
        char* room = queue.reserve(bytes.size() + 10);
        std::copy(bytes.begin(), bytes.end(), room);
        queue.commit(bytes.size());
        model += bytes;
        break;
      }
      case 2:
        if (random() % 100 == 0) {
          queue.clear();
          model.clear();
        }
        queue.release_memory();
        break;
      case 3:
      case 4:
        queue.append(bytes);
        model += bytes;
        break;
      default:
        queue.consume(some);
        model.erase(0, some);
    }
    ASSERT_EQ(queue.view(), model);
    ASSERT_LE(queue.size(), queue.capacity());
  }
}

}  // namespace

namespace {

ByteQueue storage_of(size_t capacity) {
  ByteQueue queue;
  queue.reserve(capacity);
  EXPECT_EQ(queue.capacity(), capacity);
  return queue;
}

TEST(StoragePool, LendsWhatSuits) {
  constexpr size_t kSmall = StoragePool::kSmall;
  constexpr size_t kForAny = StoragePool::kLentForAny;
  struct Case {
    size_t capacity;
    size_t expected;
    bool lent;
  };
  const Case cases[] = {
      {kSmall, 0, true},
      {kSmall, kSmall, true},
      {kSmall, kSmall + 1, true},  // better than none
      {kSmall + 1, kSmall + 1, true},
      {kSmall + 1, kSmall, false},
      {kSmall + 1, kSmall + 2, false},
      {kForAny, kSmall + 1, true},
      {kForAny, kForAny, true},
      {kForAny, kForAny + 1, false},
      {kForAny + 4, kForAny / 4 + 1, true},
      {kForAny + 4, kForAny / 4, false},
      {StoragePool::kMaxLargeBytes, StoragePool::kMaxLargeBytes, true},
      {StoragePool::kMaxLargeBytes + 1, StoragePool::kMaxLargeBytes + 1, false},
  };
  for (const Case& c : cases) {
    StoragePool pool;
    ByteQueue used = storage_of(c.capacity);
    used.append("leftover");
    pool.give_back(std::move(used));
    ByteQueue lent = pool.borrow(c.expected);
    EXPECT_EQ(lent.capacity(), c.lent ? c.capacity : 0) << c.capacity << " for " << c.expected;
    EXPECT_TRUE(lent.empty());
    if (!c.lent) continue;
    EXPECT_EQ(pool.borrow(c.expected).capacity(), 0U);
  }
}

TEST(StoragePool, LendsTheSmallestThatSuffices) {
  StoragePool pool;
  for (const size_t capacity : {300'000, 100'000, 400'000, 200'000}) {
    pool.give_back(storage_of(capacity));
  }
  EXPECT_EQ(pool.borrow(150'000).capacity(), 200'000U);
  EXPECT_EQ(pool.borrow(150'000).capacity(), 300'000U);
  EXPECT_EQ(pool.borrow(100'000).capacity(), 100'000U);
  EXPECT_EQ(pool.borrow(100'000).capacity(), 400'000U);
  EXPECT_FALSE(pool.keeps_large());
}

TEST(StoragePool, KeepsNoMoreThanItsLimits) {
  struct Case {
    size_t capacity;
    size_t limit;
  };
  const Case cases[] = {{512, StoragePool::kMaxSmall},
                        {StoragePool::kSmall + 1, StoragePool::kMaxLarge},
                        {StoragePool::kMaxLargeBytes / 4, 4},
                        {StoragePool::kMaxLargeBytes / 2 + 1, 1}};
  for (const Case& c : cases) {
    StoragePool pool;
    // The second round shows that lending and giving back makes room again.
    for (int round = 0; round < 2; ++round) {
      for (size_t i = 0; i < c.limit + 1; ++i) pool.give_back(storage_of(c.capacity));
      size_t lent = 0;
      while (pool.borrow(c.capacity).capacity() > 0) ++lent;
      EXPECT_EQ(lent, c.limit) << c.capacity;
    }
    for (size_t i = 0; i < c.limit; ++i) pool.give_back(storage_of(c.capacity));
    pool.release_unused();
    pool.release_unused();
    EXPECT_FALSE(pool.keeps_large());
    for (size_t i = 0; i < c.limit; ++i) pool.give_back(storage_of(c.capacity));
    size_t lent = 0;
    while (pool.borrow(c.capacity).capacity() > 0) ++lent;
    EXPECT_EQ(lent, c.limit) << c.capacity;
  }
}

TEST(StoragePool, ReleasesWhatNobodyBorrowed) {
  StoragePool pool;
  pool.give_back(storage_of(100'000));
  pool.give_back(storage_of(200'000));
  pool.give_back(storage_of(512));
  pool.release_unused();
  EXPECT_TRUE(pool.keeps_large());
  pool.give_back(pool.borrow(200'000));
  pool.release_unused();
  EXPECT_EQ(pool.borrow(50'000).capacity(), 200'000U);
  EXPECT_FALSE(pool.keeps_large());
  EXPECT_EQ(pool.borrow(1).capacity(), 512U);
}

TEST(StoragePool, HandsOverWhatIsOfferedAndNothingElse) {
  StoragePool pool;
  ByteQueue storage = storage_of(1000);
  const std::string body(250, 'b');
  storage.append("consumed");
  storage.append("head " + body + " tail");
  storage.consume(8);
  const std::string_view all = storage.view();
  const std::string& other = body;
  EXPECT_EQ(pool.take_over(all).capacity(), 0U);  // not offered
  {
    const StorageOffer offer(pool, storage);
    EXPECT_EQ(pool.take_over(other).capacity(), 0U);
    EXPECT_EQ(pool.take_over({all.data() - 1, 250}).capacity(), 0U);
    EXPECT_EQ(pool.take_over({all.data() + all.size() - 249, 250}).capacity(), 0U);
    EXPECT_EQ(pool.take_over({}).capacity(), 0U);
    EXPECT_EQ(pool.take_over(all.substr(5, 249)).capacity(), 0U);  // too small a part
    {
      ByteQueue inner;
      const StorageOffer inner_offer(pool, inner);
      EXPECT_EQ(pool.take_over(all).capacity(), 0U);
    }
    const ByteQueue taken = pool.take_over(all.substr(5, 250));
    EXPECT_EQ(taken.view(), body);
    EXPECT_EQ(taken.view().data(), all.data() + 5);
    EXPECT_EQ(storage.capacity(), 0U);
    EXPECT_EQ(pool.take_over(all.substr(5, 250)).capacity(), 0U);  // the storage was taken already
  }
  EXPECT_EQ(pool.take_over(all).capacity(), 0U);
}

TEST(StoragePool, RoomGrowsWithWhatHasComeAndNotWithWhatIsAnnounced) {
  constexpr size_t kAnnounced = 16 << 20;
  constexpr size_t kPiece = 1000;
  StoragePool pool;
  ByteQueue storage;
  size_t moves = 0;
  const std::string piece(kPiece, 'x');
  for (size_t come = kPiece; come <= kAnnounced; come += kPiece) {
    const char* const before = storage.view().data();
    pool.make_room(storage, kPiece, kAnnounced - come + kPiece);
    EXPECT_LE(storage.capacity(), 2 * come);
    storage.append(piece);
    EXPECT_EQ(storage.size(), come);
    moves += storage.view().data() != before ? 1 : 0;
  }
  EXPECT_LE(moves, 15U);  // the room doubles
  EXPECT_LE(storage.capacity(), kAnnounced + kAnnounced / 8);
}

// A peer that announces small sizes must not cause a move each time.
TEST(StoragePool, RoomGrowsByAnEighthAtLeastWhateverIsAnnounced) {
  StoragePool pool;
  ByteQueue storage;
  pool.make_room(storage, 100'000, 100'000);
  storage.append(std::string(100'000, 'x'));
  size_t moved = 0;
  for (size_t i = 0; i < 100'000; ++i) {
    const size_t capacity = storage.capacity();
    pool.make_room(storage, 1, 1);
    if (storage.capacity() != capacity) moved += storage.size();
    storage.append("x");
  }
  EXPECT_LE(moved, 9 * storage.size());
}

TEST(StoragePool, RoomThatNobodyHasAnnouncedDoubles) {
  StoragePool pool;
  ByteQueue storage;
  size_t moves = 0;
  for (size_t i = 0; i < (1 << 20); i += 16) {
    const size_t capacity = storage.capacity();
    pool.make_room(storage, 16, 0);
    storage.append("0123456789abcdef");
    moves += storage.capacity() != capacity ? 1 : 0;
  }
  EXPECT_LE(moves, 18U);
}

TEST(StoragePool, AMessageThatComesAtOnceHasExactlyItsRoom) {
  StoragePool pool;
  ByteQueue storage;
  pool.make_room(storage, 100'000, 100'000);
  EXPECT_EQ(storage.capacity(), 100'000U);
}

TEST(StoragePool, SharesOneCopyOfWhatIsOfferedToAll) {
  StoragePool pool;
  const std::string text(StoragePool::kShared + 10, 's');
  const std::string other = text;
  EXPECT_TRUE(pool.share(text).empty());  // not offered
  SharedBytes kept;
  {
    const SharedOffer offer(pool, text);
    EXPECT_TRUE(pool.share(other).empty());
    EXPECT_TRUE(pool.share(std::string_view(text).substr(0, StoragePool::kShared - 1)).empty());
    kept = pool.share(text);
    EXPECT_EQ(kept.view(), text);
    EXPECT_NE(kept.view().data(), text.data());
    const SharedBytes part = pool.share(std::string_view(text).substr(10));
    EXPECT_EQ(part.view().data(), kept.view().data() + 10);
  }
  EXPECT_TRUE(pool.share(text).empty());
  const SharedOffer again(pool, kept);
  EXPECT_EQ(pool.share(kept.view()).view().data(), kept.view().data());
}

// --- PooledBuffer: storage comes from its pool and returns to it.

// The storage that the pool would lend next; null if it has none.
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
