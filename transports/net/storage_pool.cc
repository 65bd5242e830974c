#include "transports/net/storage_pool.h"

#include <utility>

namespace stdgate {

StoragePool::StoragePool() {
  small_.reserve(kSmallCount);
  large_.reserve(kLargeCount);
}

ByteQueue StoragePool::borrow(size_t expected) {
  std::vector<ByteQueue>& free = expected > kSmall && !large_.empty() ? large_ : small_;
  if (free.empty()) return {};
  ByteQueue storage = std::move(free.back());
  free.pop_back();
  return storage;
}

void StoragePool::give_back(ByteQueue storage) {
  if (storage.capacity() == 0 || storage.capacity() > kLarge) return;
  const bool is_small = storage.capacity() <= kSmall;
  std::vector<ByteQueue>& free = is_small ? small_ : large_;
  if (free.size() == (is_small ? kSmallCount : kLargeCount)) return;
  storage.clear();
  free.push_back(std::move(storage));
}

}  // namespace stdgate
