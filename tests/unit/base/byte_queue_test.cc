// ByteQueue: bytes in at the back, out at the front.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "gateway/base/byte_storage.h"
#include "tests/fuzz/random_seed.h"

namespace stdgate {
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

// A queue that never runs empty does not grow without end.
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
}  // namespace stdgate
