// StoragePool: memory for unsent bytes that streams share.
//
// Job: an idle stream holds no memory and a busy one allocates none: storage is borrowed when bytes
// have to wait and given back when they are gone, last in, first out, so it is warm in the cache.
// Owner: the Loop. Used on its thread only.
// Limit: keeps kSmallCount storages up to kSmall bytes and kLargeCount up to kLarge; frees others.
#pragma once

#include <cstddef>
#include <vector>

#include "gateway/base/byte_queue.h"

namespace stdgate {

class StoragePool {
 public:
  static constexpr size_t kSmall = 16 << 10;
  static constexpr size_t kLarge = 1 << 20;
  static constexpr size_t kSmallCount = 128;
  static constexpr size_t kLargeCount = 4;

  StoragePool();
  StoragePool(const StoragePool&) = delete;
  StoragePool& operator=(const StoragePool&) = delete;

  // An empty queue, with storage if there is some of the class that `expected` bytes fall in.
  ByteQueue borrow(size_t expected);
  void give_back(ByteQueue storage);

 private:
  std::vector<ByteQueue> small_;
  std::vector<ByteQueue> large_;
};

}  // namespace stdgate
