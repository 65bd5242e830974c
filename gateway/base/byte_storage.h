// Storage of bytes that are being received or that wait to be sent. ByteQueue holds them,
// StoragePool lends storage, PooledBuffer borrows it, and SharedBytes is one copy for many holders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/base/account.h"
#include "gateway/base/check.h"

namespace stdgate {

// ByteQueue: contiguous bytes, appended at the back, consumed at the front.
//
// Job: hold bytes that a descriptor has not taken yet, or that a parser has not finished with.
// Owner: the code that reads or writes the descriptor. An empty queue can free its memory
// (release_memory), so that idle connections cost nothing. Limit: none of its own; each user has a
// named limit, and checks size() before it appends.
class ByteQueue {
 public:
  ByteQueue() = default;
  ByteQueue(ByteQueue&& other) noexcept { swap(other); }
  ByteQueue& operator=(ByteQueue&& other) noexcept {
    ByteQueue taken(std::move(other));
    swap(taken);
    return *this;
  }

  [[nodiscard]] size_t size() const { return at_.end - at_.begin; }
  [[nodiscard]] bool empty() const { return at_.begin == at_.end; }
  [[nodiscard]] size_t capacity() const { return at_.capacity; }

  // Valid until the next append, consume or release.
  [[nodiscard]] std::string_view view() const { return {storage_.get() + at_.begin, size()}; }
  [[nodiscard]] std::span<char> bytes() { return {storage_.get() + at_.begin, size()}; }

  void append(std::string_view bytes) {
    if (bytes.empty()) return;
    std::memcpy(reserve(bytes.size()), bytes.data(), bytes.size());
    at_.end += bytes.size();
  }
  void push_back(char byte) {
    *reserve(1) = byte;
    ++at_.end;
  }

  // Makes room for `count` bytes after the last one. commit() says how many of them were written.
  char* reserve(size_t count) {
    if (at_.capacity - at_.end < count) make_room(count);
    return storage_.get() + at_.end;
  }
  void commit(size_t count) {
    STDGATE_CHECK(count <= at_.capacity - at_.end);
    at_.end += count;
  }
  // Grows the storage to exactly `capacity` bytes, if it is smaller.
  void grow_to(size_t capacity);

  void consume(size_t count) {
    STDGATE_CHECK(count <= size());
    at_.begin += count;
    if (at_.begin == at_.end) at_.begin = at_.end = 0;
  }
  // Keeps `count` bytes from `offset` on, and drops all others.
  void keep_only(size_t offset, size_t count) {
    STDGATE_CHECK(offset <= size() && count <= size() - offset);
    at_.begin += offset;
    at_.end = at_.begin + count;
  }
  void clear() { at_.begin = at_.end = 0; }

  // Frees the storage of an empty queue when it holds more than `keep` bytes.
  void release_memory(size_t keep = 0) {
    if (!empty() || at_.capacity <= keep) return;
    storage_.reset();
    at_ = {};
  }

  void swap(ByteQueue& other) noexcept {
    std::swap(storage_, other.storage_);
    std::swap(at_, other.at_);
  }

 private:
  void make_room(size_t count);
  void move_to(size_t capacity);

  // Where the bytes lie in the storage.
  struct Extent {
    size_t begin = 0;
    size_t end = 0;
    size_t capacity = 0;  // of the storage
  };

  std::unique_ptr<char[]> storage_;
  Extent at_;
};

// SharedBytes: one copy of bytes with many holders: streams that have yet to send a broadcast, logs
// that keep it. Charged once, as unsent, until the last holder has released it.
//
// A value.
class SharedBytes {
 public:
  SharedBytes() = default;
  explicit SharedBytes(std::string_view text, const Payer& payer = {})
      : block_(std::make_shared<Block>(text, payer)) {
    view_ = block_->text;
  }

  [[nodiscard]] std::string_view view() const { return view_; }
  [[nodiscard]] bool empty() const { return view_.empty(); }
  // A part of the bytes; it keeps the whole block alive.
  [[nodiscard]] SharedBytes part(size_t offset, size_t size) const {
    SharedBytes out = *this;
    out.view_ = view_.substr(offset, size);
    return out;
  }

 private:
  struct Block {
    Block(std::string_view from, const Payer& payer) : text(from), share(payer, Holding::unsent) {
      share.set(text.capacity());
    }
    const std::string text;
    Share share;
  };
  std::shared_ptr<Block> block_;
  std::string_view view_;
};

// StoragePool: buffers for bytes that are being received or that wait to be sent, lent on demand.
//
// Job: an idle stream holds no memory, and a busy stream allocates none. Storage is borrowed when
// bytes have to wait, and given back when they are gone, last in, first out, so it is warm in the
// cache. This matters most for large messages: the first touch of fresh memory costs several times
// the copying. The storage of a message can also be handed on in place of a copy (StorageOffer). A
// message to many receivers is copied at most once for all of them (SharedOffer). Owner: the Loop.
// Used on its thread only. Limits: kMaxSmall storages of up to kSmall bytes, and kMaxLarge larger
// ones with kMaxLargeBytes together. Others are freed, and release_unused() frees larger ones that
// are unused.
class StoragePool {
 public:
  static constexpr size_t kSmall = 16 << 10;
  static constexpr size_t kMaxSmall = 128;
  static constexpr size_t kMaxLarge = 16;
  static constexpr size_t kMaxLargeBytes = 16 << 20;
  // Up to this size, storage is lent for any number of bytes; beyond, for at least a quarter of its
  // size.
  static constexpr size_t kLentForAny = 1 << 20;

  StoragePool();
  StoragePool(const StoragePool&) = delete;
  StoragePool& operator=(const StoragePool&) = delete;

  // An empty queue, with storage if the pool has one that suits `expected` bytes.
  ByteQueue borrow(size_t expected);
  void give_back(ByteQueue storage);

  // Makes room in `storage` for `count` more bytes of a message. `announced`: the bytes up to its
  // end, these included; 0: unknown. The storage doubles as bytes arrive, and grows no larger than
  // the message needs, so an announcement costs nothing before the bytes come. But it grows by an
  // eighth at least. So a peer that announces little at a time does not cause a copy of all bytes
  // each time.
  void make_room(ByteQueue& storage, size_t count, uint64_t announced);

  // Frees the large storages that have not been lent since the last call. Called from time to time
  // while keeps_large().
  void release_unused();
  [[nodiscard]] bool keeps_large() const { return !large_.empty(); }

  // The offered storage, reduced to `bytes`, if they lie in it and fill at least a quarter of it: a
  // slow reader must not hold much more memory than it has to be sent. Otherwise an empty queue.
  // The storage must stay unchanged until control returns to the loop, because callers up the stack
  // may still read it.
  ByteQueue take_over(std::string_view bytes);

  // Below this size, a copy costs less than sharing.
  static constexpr size_t kShared = 16 << 10;
  // `bytes` as a part of the one copy that all callers during a SharedOffer share. Empty if they do
  // not lie in the offered text, or are fewer than kShared.
  SharedBytes share(std::string_view bytes);

 private:
  friend class StorageOffer;
  friend class SharedOffer;
  static constexpr size_t kLeastGrowth = 8;  // of make_room(), as a part of the present capacity

  struct Kept {
    ByteQueue storage;
    bool is_new = true;  // not seen by release_unused() yet
  };

  std::vector<ByteQueue> small_;
  std::vector<Kept> large_;
  size_t large_bytes_ = 0;
  ByteQueue* offered_ = nullptr;
  class SharedOffer* shared_ = nullptr;
};

// As long as a StorageOffer exists, a stream that is given bytes of `storage` may take the storage
// over instead of copying them. The offering side finds its queue empty then. Offers nest; the
// innermost one is in force.
class StorageOffer {
 public:
  StorageOffer(StoragePool& pool, ByteQueue& storage) : pool_(pool), outer_(pool.offered_) {
    pool_.offered_ = &storage;
  }
  ~StorageOffer() { pool_.offered_ = outer_; }
  StorageOffer(const StorageOffer&) = delete;
  StorageOffer& operator=(const StorageOffer&) = delete;

 private:
  StoragePool& pool_;
  ByteQueue* const outer_;
};

// While it exists, all receivers that have to keep bytes of `text` share one copy of it. The first
// of them makes the copy, and `payer` pays for it. Offers nest; the innermost one counts.
class SharedOffer {
 public:
  SharedOffer(StoragePool& pool, std::string_view text, const Payer& payer = {})
      : pool_(pool), outer_(pool.shared_), text_(text), payer_(payer) {
    pool_.shared_ = this;
  }
  // Offers bytes that are shared already.
  SharedOffer(StoragePool& pool, const SharedBytes& bytes) : SharedOffer(pool, bytes.view()) {
    copy_ = bytes;
  }
  ~SharedOffer() { pool_.shared_ = outer_; }
  SharedOffer(const SharedOffer&) = delete;
  SharedOffer& operator=(const SharedOffer&) = delete;

 private:
  friend class StoragePool;
  StoragePool& pool_;
  SharedOffer* const outer_;
  const std::string_view text_;
  const Payer payer_;
  SharedBytes copy_;
};

// PooledBuffer: bytes that wait, in storage of a StoragePool.
//
// Job: borrow storage with the first byte, let it grow, and give it back when it is not needed.
// Owner: the code that reads or writes the descriptor; the pool outlives it. Limit: none of its
// own; each user has a named limit, and checks size() before it appends.
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
