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
    const size_t grown = std::max({kSmallest, capacity_ * 2, used + count});
    std::unique_ptr<char[]> storage(new char[grown]);
    if (used > 0) std::memcpy(storage.get(), storage_.get() + begin_, used);
    storage_ = std::move(storage);
    capacity_ = grown;
  }
  begin_ = 0;
  end_ = used;
}

}  // namespace stdgate
