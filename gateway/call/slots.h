// Slots: the states that filters keep of a call, each filter its own.
//
// A filter reserves its slot when the chain is built. So the storage of a call has room for all
// slots from the beginning, and the steady state allocates nothing. A used slot is reset when the
// storage of the call is given back; an unused slot costs nothing. Owner: the CallStore has the
// layout, each call has its slots. Limit: kMaxSlots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "gateway/base/check.h"

namespace stdgate::call {

template <class T>
class Slot;

class SlotLayout {
 public:
  static constexpr size_t kMaxSlots = 32;

  SlotLayout() = default;
  SlotLayout(const SlotLayout&) = delete;
  SlotLayout& operator=(const SlotLayout&) = delete;

  // Each call begins with a fresh `T`. If `T` has clear(), it resets the state and may keep
  // storage.
  template <class T>
  Slot<T> reserve();

 private:
  friend class CallSlots;

  struct Kind {
    size_t offset = 0;
    void (*make)(std::byte* at) = nullptr;
    void (*clear)(std::byte* at) = nullptr;
    void (*destroy)(std::byte* at) = nullptr;
  };

  std::vector<Kind> kinds_;
  size_t bytes_ = 0;
};

// The slots of one call.
class CallSlots {
 public:
  CallSlots() = default;  // without slots
  explicit CallSlots(const SlotLayout& layout);
  ~CallSlots();
  CallSlots(const CallSlots&) = delete;
  CallSlots& operator=(const CallSlots&) = delete;

  // Resets the used slots.
  void clear() {
    if (used_ != 0) clear_used();
  }
  // Moves the state to another call, which has used no slot.
  void move_to(CallSlots& other) {
    std::swap(bytes_, other.bytes_);
    std::swap(used_, other.used_);
  }

 private:
  template <class T>
  friend class Slot;

  void clear_used();

  const SlotLayout* layout_ = nullptr;
  std::unique_ptr<std::byte[]> bytes_;  // NOLINT(modernize-avoid-c-arrays): of a size that varies
  uint32_t used_ = 0;                   // one bit per slot
};

// The object that a layout has constructed at this address.
template <class T>
T& state_at(std::byte* at) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
  return *std::launder(reinterpret_cast<T*>(at));
}

// The place of one filter's state in the slots of any call.
template <class T>
class Slot {
 public:
  // Marks the slot as used.
  T& of(CallSlots& slots) const {
    slots.used_ |= bit_;
    return *at(slots);
  }
  // Null: the filter has not used the slot in this call.
  [[nodiscard]] T* find(const CallSlots& slots) const {
    return (slots.used_ & bit_) != 0 ? at(slots) : nullptr;
  }

 private:
  friend class SlotLayout;

  Slot(size_t offset, size_t number) : offset_(offset), bit_(uint32_t{1} << number) {}
  [[nodiscard]] T* at(const CallSlots& slots) const {
    return &state_at<T>(slots.bytes_.get() + offset_);
  }

  size_t offset_;
  uint32_t bit_;
};

template <class T>
Slot<T> SlotLayout::reserve() {
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  STDGATE_CHECK(kinds_.size() < kMaxSlots);
  const size_t offset = (bytes_ + alignof(T) - 1) / alignof(T) * alignof(T);
  const auto clear = [](std::byte* at) {
    if constexpr (requires(T & state) { state.clear(); }) {
      state_at<T>(at).clear();
    } else {
      state_at<T>(at) = T();
    }
  };
  kinds_.push_back({offset, [](std::byte* at) { new (at) T(); }, clear,
                    [](std::byte* at) { state_at<T>(at).~T(); }});
  bytes_ = offset + sizeof(T);
  return Slot<T>(offset, kinds_.size() - 1);
}

}  // namespace stdgate::call
