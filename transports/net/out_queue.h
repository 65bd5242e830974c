// OutQueue: what a stream has to send, in order: pieces in storage of their own, pieces that are
// shared with other streams, and last a tail that collects small writes.
//
// Owner: a ByteStream. Limit: none; the stream's owner looks at unsent bytes. An empty queue holds
// no storage, and one that has only a tail allocates none but the pool's.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/base/byte_storage.h"

namespace stdgate::net {

// Bytes that stay where they are until they have been sent.
class OutPiece {
 public:
  OutPiece() = default;
  explicit OutPiece(ByteQueue own) : own_(std::move(own)), left_(own_.view()) {}
  explicit OutPiece(SharedBytes shared) : shared_(std::move(shared)), left_(shared_.view()) {}

  [[nodiscard]] std::string_view view() const { return left_; }
  [[nodiscard]] size_t size() const { return left_.size(); }
  [[nodiscard]] bool empty() const { return left_.empty(); }
  void consume(size_t count) { left_.remove_prefix(count); }
  // Memory of its own.
  [[nodiscard]] size_t held() const { return own_.capacity(); }
  // When the piece is no longer needed.
  void give_back(StoragePool& storages) {
    left_ = {};
    shared_ = {};
    if (own_.capacity() > 0) storages.give_back(std::exchange(own_, {}));
  }

 private:
  ByteQueue own_;
  SharedBytes shared_;
  std::string_view left_;
};

class OutQueue {
 public:
  explicit OutQueue(StoragePool& storages) : storages_(storages), tail_(storages) {}
  ~OutQueue() { clear(); }
  OutQueue(const OutQueue&) = delete;
  OutQueue& operator=(const OutQueue&) = delete;

  [[nodiscard]] size_t size() const { return pieces_size_ + tail_.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] bool has_pieces() const { return first_ < pieces_.size(); }
  [[nodiscard]] size_t held() const { return pieces_held_ + tail_.capacity(); }

  // Copies `parts`, which are `size` bytes together, behind the last byte.
  void append(std::span<const std::string_view> parts, size_t size);
  void push(OutPiece piece);

  // Calls visit(std::string_view) for the first pieces, `most` of them at most.
  template <class Visitor>
  void visit_first(size_t most, Visitor&& visit) const {
    size_t left = most;
    for (size_t i = first_; i < pieces_.size() && left > 0; ++i, --left) visit(pieces_[i].view());
    if (!tail_.empty() && left > 0) visit(tail_.view());
  }
  void consume(size_t count);
  // Takes the first piece out; there must be one.
  OutPiece pop();
  // Gives all storage back.
  void clear();

  // Ends the process if an invariant is broken.
  void check_invariants() const;

 private:
  static constexpr size_t kMaxLeftPlaces = 32;
  void end_tail();
  void add(OutPiece piece);

  StoragePool& storages_;
  // Valid from first_ on; the pieces before have been taken out.
  std::vector<OutPiece> pieces_;
  size_t first_ = 0;
  size_t pieces_size_ = 0;
  size_t pieces_held_ = 0;
  PooledBuffer tail_;      // without storage while it is empty
  size_t last_burst_ = 0;  // what tail_ had to hold the last time
};

}  // namespace stdgate::net
