// ByteQueue: contiguous bytes, appended at the back, consumed at the front.
//
// Job: hold bytes that a descriptor has not taken yet, or that a parser has not finished with.
// Owner: the code that reads or writes the descriptor. An empty queue can free its memory
// (release_memory), so that idle connections cost nothing. Limit: none of its own; each user has a
// named limit, and checks size() before it appends.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "gateway/base/check.h"

namespace stdgate {

class ByteQueue {
 public:
  ByteQueue() = default;
  ByteQueue(ByteQueue&& other) noexcept { swap(other); }
  ByteQueue& operator=(ByteQueue&& other) noexcept {
    ByteQueue taken(std::move(other));
    swap(taken);
    return *this;
  }

  [[nodiscard]] size_t size() const { return end_ - begin_; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] size_t capacity() const { return capacity_; }

  // Valid until the next append, consume or release.
  [[nodiscard]] std::string_view view() const { return {storage_.get() + begin_, size()}; }
  [[nodiscard]] std::span<char> bytes() { return {storage_.get() + begin_, size()}; }

  void append(std::string_view bytes) {
    if (bytes.empty()) return;
    std::memcpy(reserve(bytes.size()), bytes.data(), bytes.size());
    end_ += bytes.size();
  }
  void push_back(char byte) {
    *reserve(1) = byte;
    ++end_;
  }

  // Makes room for `count` bytes after the last one. commit() says how many of them were written.
  char* reserve(size_t count) {
    if (capacity_ - end_ < count) make_room(count);
    return storage_.get() + end_;
  }
  void commit(size_t count) {
    STDGATE_CHECK(count <= capacity_ - end_);
    end_ += count;
  }
  // Grows the storage to exactly `capacity` bytes, if it is smaller.
  void grow_to(size_t capacity);

  void consume(size_t count) {
    STDGATE_CHECK(count <= size());
    begin_ += count;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  // Keeps `count` bytes from `offset` on, and drops all others.
  void keep_only(size_t offset, size_t count) {
    STDGATE_CHECK(offset <= size() && count <= size() - offset);
    begin_ += offset;
    end_ = begin_ + count;
  }
  void clear() { begin_ = end_ = 0; }

  // Frees the storage of an empty queue when it holds more than `keep` bytes.
  void release_memory(size_t keep = 0) {
    if (!empty() || capacity_ <= keep) return;
    storage_.reset();
    begin_ = end_ = capacity_ = 0;
  }

  void swap(ByteQueue& other) noexcept {
    std::swap(storage_, other.storage_);
    std::swap(begin_, other.begin_);
    std::swap(end_, other.end_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  void make_room(size_t count);
  void move_to(size_t capacity);

  std::unique_ptr<char[]> storage_;
  size_t begin_ = 0;
  size_t end_ = 0;
  size_t capacity_ = 0;
};

}  // namespace stdgate
