// StoragePool: memory for bytes that come or wait, shared by all who have some now and then.
//
// Job: an idle stream holds no memory and a busy one allocates none: storage is borrowed when bytes
// have to wait and given back when they are gone, last in, first out, so it is warm in the cache.
// For large messages that matters most: the first touch of fresh memory costs several times its
// copying. What holds a message can also be handed on as it is (StorageOffer) instead of copied.
// Owner: the Loop. Used on its thread only.
// Limit: keeps kSmallCount storages up to kSmall bytes, and kLargeCount larger ones that are
// kLargeBytes together; frees others, and with release_unused() larger ones that nobody needs.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "gateway/base/byte_queue.h"

namespace stdgate {

class StoragePool {
 public:
  static constexpr size_t kSmall = 16 << 10;
  static constexpr size_t kSmallCount = 128;
  static constexpr size_t kLargeCount = 16;
  static constexpr size_t kLargeBytes = 16 << 20;
  // Up to this size, storage is lent for any number of bytes; above, for at least a quarter of it.
  static constexpr size_t kLentForAny = 1 << 20;

  StoragePool();
  StoragePool(const StoragePool&) = delete;
  StoragePool& operator=(const StoragePool&) = delete;

  // An empty queue, with storage if there is some that suits `expected` bytes.
  ByteQueue borrow(size_t expected);
  void give_back(ByteQueue storage);

  // Frees the large storages that have been lent to nobody since the last call. Called from time to
  // time while keeps_large().
  void release_unused();
  [[nodiscard]] bool keeps_large() const { return !large_.empty(); }

  // The offered storage, cut down to `bytes`, if they lie in it and are at least a quarter of it,
  // so that nobody holds much more than he has to send; else empty. It has to be kept as it is
  // until what runs now has returned to the loop: others may still look at it.
  ByteQueue take_over(std::string_view bytes);

 private:
  friend class StorageOffer;
  struct Kept {
    ByteQueue storage;
    bool is_new = true;  // since release_unused()
  };

  std::vector<ByteQueue> small_;
  std::vector<Kept> large_;
  size_t large_bytes_ = 0;
  ByteQueue* offered_ = nullptr;
};

// While it lives, who writes bytes of `storage` may take it over. Its owner has no further use for
// it; he finds it without storage then. Offers nest; the innermost one counts.
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

}  // namespace stdgate
