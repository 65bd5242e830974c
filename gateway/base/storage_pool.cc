#include "gateway/base/storage_pool.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace stdgate {

StoragePool::StoragePool() {
  small_.reserve(kSmallCount);
  large_.reserve(kLargeCount);
}

ByteQueue StoragePool::borrow(size_t expected) {
  if (expected > kSmall) {
    // The smallest that suffices; of equal ones the last given back.
    size_t best = large_.size();
    for (size_t i = large_.size(); i-- > 0;) {
      const size_t capacity = large_[i].storage.capacity();
      if (capacity < expected || capacity > std::max(kLentForAny, 4 * expected)) continue;
      if (best == large_.size() || capacity < large_[best].storage.capacity()) best = i;
    }
    if (best < large_.size()) {
      ByteQueue storage = std::move(large_[best].storage);
      large_.erase(large_.begin() + static_cast<ptrdiff_t>(best));
      large_bytes_ -= storage.capacity();
      return storage;
    }
  }
  if (small_.empty()) return {};
  ByteQueue storage = std::move(small_.back());
  small_.pop_back();
  return storage;
}

void StoragePool::give_back(ByteQueue storage) {
  const size_t capacity = storage.capacity();
  if (capacity == 0) return;
  storage.clear();
  if (capacity <= kSmall) {
    if (small_.size() < kSmallCount) small_.push_back(std::move(storage));
  } else if (large_.size() < kLargeCount && capacity <= kLargeBytes - large_bytes_) {
    large_bytes_ += capacity;
    large_.push_back({std::move(storage)});
  }
}

void StoragePool::release_unused() {
  std::erase_if(large_, [this](const Kept& kept) {
    if (!kept.is_new) large_bytes_ -= kept.storage.capacity();
    return !kept.is_new;
  });
  for (Kept& kept : large_) kept.is_new = false;
}

ByteQueue StoragePool::take_over(std::string_view bytes) {
  if (offered_ == nullptr || bytes.empty() || bytes.size() < offered_->capacity() / 4) return {};
  const std::string_view all = offered_->view();
  // Pointers of different objects compare only this way.
  const std::less<> before;
  const char* const end = bytes.data() + bytes.size();
  if (before(bytes.data(), all.data()) || before(all.data() + all.size(), end)) return {};
  ByteQueue taken = std::exchange(*offered_, {});
  taken.keep_only(static_cast<size_t>(bytes.data() - all.data()), bytes.size());
  return taken;
}

}  // namespace stdgate
