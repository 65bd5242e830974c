#include "gateway/base/byte_storage.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "gateway/base/text.h"

namespace stdgate {

void ByteQueue::make_room(size_t count) {
  constexpr size_t kSmallest = 512;
  const size_t used = size();
  // Moving to the front is cheap while it frees at least half: each byte moves once on average.
  if (at_.capacity - used >= count && at_.begin >= used) {
    std::memmove(storage_.get(), storage_.get() + at_.begin, used);
  } else {
    move_to(std::max({kSmallest, at_.capacity * 2, used + count}));
  }
  at_.begin = 0;
  at_.end = used;
}

void ByteQueue::grow_to(size_t capacity) {
  if (at_.capacity < capacity) move_to(capacity);
}

void ByteQueue::move_to(size_t capacity) {
  const size_t used = size();
  std::unique_ptr<char[]> storage(new char[capacity]);
  if (used > 0) std::memcpy(storage.get(), storage_.get() + at_.begin, used);
  storage_ = std::move(storage);
  at_.capacity = capacity;
  at_.begin = 0;
  at_.end = used;
}

namespace {

bool lies_in(std::string_view bytes, std::string_view all) {
  // Only std::less compares pointers into different objects.
  const std::less<> before;
  return !before(bytes.data(), all.data()) &&
         !before(all.data() + all.size(), bytes.data() + bytes.size());
}

}  // namespace

StoragePool::StoragePool() {
  small_.reserve(kMaxSmall);
  large_.reserve(kMaxLarge);
}

ByteQueue StoragePool::borrow(size_t expected) {
  if (expected > kSmall) {
    // Finds the smallest storage that suffices; of equal ones, the one that was given back last.
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
    if (small_.size() < kMaxSmall) small_.push_back(std::move(storage));
  } else if (large_.size() < kMaxLarge && capacity <= kMaxLargeBytes - large_bytes_) {
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
  if (!lies_in(bytes, all)) return {};
  ByteQueue taken = std::exchange(*offered_, {});
  taken.keep_only(place_of(bytes, all).offset, bytes.size());
  return taken;
}

void StoragePool::make_room(ByteQueue& storage, size_t count, uint64_t announced) {
  if (storage.capacity() == 0) storage = borrow(std::max<size_t>(count, announced));
  const size_t used = storage.size();
  const size_t needed = used + count;
  if (storage.capacity() >= needed) {
    storage.reserve(count);
    return;
  }
  size_t grown = 2 * needed;
  if (announced > 0) grown = static_cast<size_t>(std::min<uint64_t>(grown, used + announced));
  grown = std::max({grown, needed, used + used / kLeastGrowth});
  ByteQueue larger = borrow(grown);
  larger.grow_to(grown);
  larger.append(storage.view());
  give_back(std::exchange(storage, std::move(larger)));
}

SharedBytes StoragePool::share(std::string_view bytes) {
  if (shared_ == nullptr || bytes.size() < kShared || !lies_in(bytes, shared_->text_)) return {};
  if (shared_->copy_.empty()) {
    shared_->copy_ = SharedBytes(shared_->text_, shared_->payer_);
  }
  return shared_->copy_.part(place_of(bytes, shared_->text_).offset, bytes.size());
}

}  // namespace stdgate
