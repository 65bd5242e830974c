#include "gateway/base/byte_queue.h"

#include <algorithm>

namespace stdgate {

void ByteQueue::make_room(size_t count) {
  constexpr size_t kSmallest = 512;
  const size_t used = size();
  // Moving to the front is cheap while it frees at least half: each byte moves once on average.
  if (capacity_ - used >= count && begin_ >= used) {
    std::memmove(storage_.get(), storage_.get() + begin_, used);
  } else {
    move_to(std::max({kSmallest, capacity_ * 2, used + count}));
  }
  begin_ = 0;
  end_ = used;
}

void ByteQueue::grow_to(size_t capacity) {
  if (capacity_ < capacity) move_to(capacity);
}

void ByteQueue::move_to(size_t capacity) {
  const size_t used = size();
  std::unique_ptr<char[]> storage(new char[capacity]);
  if (used > 0) std::memcpy(storage.get(), storage_.get() + begin_, used);
  storage_ = std::move(storage);
  capacity_ = capacity;
  begin_ = 0;
  end_ = used;
}

}  // namespace stdgate
