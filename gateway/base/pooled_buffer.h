// PooledBuffer: bytes that wait, in storage of a StoragePool.
//
// Job: borrow storage with the first byte, let it grow, and give it back when it is not needed.
// Owner: the code that reads or writes the descriptor; the pool outlives it. Limit: none of its
// own; each user has a named limit, and checks size() before it appends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "gateway/base/byte_queue.h"
#include "gateway/base/storage_pool.h"

namespace stdgate {

class PooledBuffer {
 public:
  explicit PooledBuffer(StoragePool& pool) : pool_(pool) {}
  ~PooledBuffer() { release(); }
  PooledBuffer(const PooledBuffer&) = delete;
  PooledBuffer& operator=(const PooledBuffer&) = delete;

  [[nodiscard]] size_t size() const { return queue_.size(); }
  [[nodiscard]] bool empty() const { return queue_.empty(); }
  [[nodiscard]] size_t capacity() const { return queue_.capacity(); }
  // Valid until the next change.
  [[nodiscard]] std::string_view view() const { return queue_.view(); }
  [[nodiscard]] std::span<char> bytes() { return queue_.bytes(); }

  // Makes room for `count` bytes behind the last one; new storage has room for `expected` bytes.
  // commit() says how many of them were written.
  char* reserve(size_t count, size_t expected) {
    if (queue_.capacity() == 0) queue_ = pool_.borrow(expected);
    return queue_.reserve(count);
  }
  void commit(size_t count) { queue_.commit(count); }

  // `expected`: number of bytes to come, these included, as far as it is known.
  void append(std::string_view bytes, size_t expected) {
    if (bytes.empty()) return;
    reserve(expected, expected);
    queue_.append(bytes);
  }
  void append(std::string_view bytes) { append(bytes, bytes.size()); }
  // As append(), if a peer has announced the number of bytes up to the end of the message; 0:
  // unknown. Announced bytes cost nothing before they have come. See StoragePool::make_room().
  void append_announced(std::string_view bytes, uint64_t announced) {
    if (bytes.empty()) return;
    make_room(bytes.size(), announced);
    queue_.append(bytes);
  }
  // Makes room for `count` bytes that are there, out of `announced`.
  void make_room(size_t count, uint64_t announced) { pool_.make_room(queue_, count, announced); }
  void consume(size_t count) { queue_.consume(count); }
  // Drops the bytes; the storage stays until it is released.
  void clear() { queue_.clear(); }

  // Offers the storage while the message in it is handled, so that a stream may take it over.
  [[nodiscard]] StorageOffer offer() { return {pool_, queue_}; }
  // Gives the storage away.
  ByteQueue take() { return std::exchange(queue_, {}); }
  // Takes over waiting bytes in storage of the same pool.
  void adopt(ByteQueue queue) {
    release();
    queue_ = std::move(queue);
  }

  // Drops the bytes, and gives the storage back.
  void release() {
    if (queue_.capacity() > 0) pool_.give_back(take());
  }
  void release_if_empty() {
    if (queue_.empty()) release();
  }

 private:
  StoragePool& pool_;
  ByteQueue queue_;
};

}  // namespace stdgate
