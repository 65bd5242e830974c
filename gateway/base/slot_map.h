// SlotMap: entries that are addressed by handles. A handle goes stale when its entry is released.
//
// Job: let one part of the tree refer to an object of another part without a pointer. A handle is
// an index plus the generation of its slot; after release() every copy of the handle is stale.
// Entries are neither moved nor destroyed on release. acquire() hands out a used entry as it was
// left, so strings in it keep their capacity, and the steady state allocates nothing. The slot that
// was released first is reused first, so a generation repeats as late as possible. Slots stand in
// blocks, whose size is a power of two: an address never changes, and is found by a shift. Limit:
// `capacity`.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gateway/base/check.h"

namespace stdgate {

// The place of an entry, and the generation of its slot: it names one entry of one SlotMap.
struct Handle {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t index = kNone;
  uint32_t generation = 0;

  friend bool operator==(const Handle&, const Handle&) = default;
  [[nodiscard]] bool is_none() const { return index == kNone; }
};

template <class T>
class SlotMap {
 public:
  explicit SlotMap(size_t capacity) : capacity_(capacity) {}
  SlotMap(const SlotMap&) = delete;
  SlotMap& operator=(const SlotMap&) = delete;

  // Nothing when `capacity` entries are in use. `value` receives the entry, unless it is null.
  std::optional<Handle> acquire(T** value = nullptr);

  // Null when the handle is stale or was never given out.
  T* find(Handle handle) {
    if (handle.index >= slots_) return nullptr;
    Slot& slot = at(handle.index);
    return slot.live && slot.generation == handle.generation ? &slot.value : nullptr;
  }
  const T* find(Handle handle) const { return const_cast<SlotMap*>(this)->find(handle); }

  // The live entry at `index`, of any generation, with its full handle in `*handle`.
  T* find_index(uint32_t index, Handle* handle);

  // The generation of the entry at `index`, or of the next entry there; nothing: there has been
  // none.
  [[nodiscard]] std::optional<uint32_t> generation_of(uint32_t index) const {
    if (index >= slots_) return std::nullopt;
    return const_cast<SlotMap*>(this)->at(index).generation;
  }

  void release(Handle handle);

  // Calls visit(Handle, T&) for each live entry. The visitor may release entries, not acquire.
  template <class Visitor>
  void for_each(Visitor&& visit);

  template <class Visitor>
  void for_each(Visitor&& visit) const {
    const_cast<SlotMap*>(this)->for_each(
        [&](Handle handle, const T& value) { visit(handle, value); });
  }

  // As for_each(), for `most` places at most: from `from` on, and then from the first place on.
  // Returns the place behind the last one.
  template <class Visitor>
  uint32_t for_some(uint32_t from, size_t most, Visitor&& visit);

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] size_t capacity() const { return capacity_; }
  // Without effect if the capacity is not lower already.
  void raise_capacity(size_t capacity) { capacity_ = std::max(capacity_, capacity); }

 private:
  struct Slot {
    T value{};
    uint32_t generation = 1;  // so that no first handle packs into zero
    uint32_t next_free = Handle::kNone;
    bool live = false;
  };

  static constexpr size_t kBlockBytes = 512;
  static constexpr size_t kBlock = std::bit_floor(std::max<size_t>(1, kBlockBytes / sizeof(Slot)));

  Slot& at(uint32_t index) { return blocks_[index / kBlock][index % kBlock]; }

  uint32_t add_slot() {
    if (slots_ == blocks_.size() * kBlock) blocks_.push_back(std::make_unique<Slot[]>(kBlock));
    return static_cast<uint32_t>(slots_++);
  }

  size_t capacity_;
  std::vector<std::unique_ptr<Slot[]>> blocks_;
  size_t slots_ = 0;  // in use or free
  size_t size_ = 0;
  // The free slots as a queue: taken at the head, returned at the tail.
  uint32_t free_head_ = Handle::kNone;
  uint32_t free_tail_ = Handle::kNone;
};

// Declared inline, as g++ inlines less of what is not.
template <class T>
inline std::optional<Handle> SlotMap<T>::acquire(T** value) {
  if (free_head_ == Handle::kNone && slots_ == capacity_) return std::nullopt;
  uint32_t index = free_head_;
  if (index == Handle::kNone) {
    index = add_slot();
  } else {
    free_head_ = at(index).next_free;
    if (free_head_ == Handle::kNone) free_tail_ = Handle::kNone;
  }
  Slot& slot = at(index);
  slot.live = true;
  ++size_;
  if (value != nullptr) *value = &slot.value;
  return Handle{index, slot.generation};
}

template <class T>
inline T* SlotMap<T>::find_index(uint32_t index, Handle* handle) {
  if (index >= slots_) return nullptr;
  Slot& slot = at(index);
  if (!slot.live) return nullptr;
  *handle = Handle{index, slot.generation};
  return &slot.value;
}

template <class T>
inline void SlotMap<T>::release(Handle handle) {
  STDGATE_CHECK(handle.index < slots_);
  Slot& slot = at(handle.index);
  STDGATE_CHECK(slot.live && slot.generation == handle.generation);
  slot.live = false;
  ++slot.generation;
  slot.next_free = Handle::kNone;
  if (free_tail_ == Handle::kNone) {
    free_head_ = handle.index;
  } else {
    at(free_tail_).next_free = handle.index;
  }
  free_tail_ = handle.index;
  --size_;
}

template <class T>
template <class Visitor>
void SlotMap<T>::for_each(Visitor&& visit) {
  for (uint32_t index = 0; index < slots_; ++index) {
    Slot& slot = at(index);
    if (slot.live) visit(Handle{index, slot.generation}, slot.value);
  }
}

template <class T>
template <class Visitor>
uint32_t SlotMap<T>::for_some(uint32_t from, size_t most, Visitor&& visit) {
  for (size_t left = std::min(most, slots_); left > 0; --left, ++from) {
    if (from >= slots_) from = 0;
    Slot& slot = at(from);
    if (slot.live) visit(Handle{from, slot.generation}, slot.value);
  }
  return from;
}

}  // namespace stdgate
