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
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gateway/base/byte_queue.h"
#include "gateway/base/shared_bytes.h"

namespace stdgate {

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

}  // namespace stdgate
