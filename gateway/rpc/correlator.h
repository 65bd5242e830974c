// Correlator: the ids that the gateway gives to requests, and what stands behind each of them.
//
// Job: give each request to one receiver (a child, or the client of a session) a wire id, and find
// the request when its answer comes. A wire id is a 31-bit integer: a slot, and in the low digits a
// generation, so a receiver of one request at a time sees short ids that grow by one. Wire ids
// begin above the ids that clients usually count for themselves. So an id that a client writes into
// its own payload, and that is passed on unchanged, does not name another client's request by
// chance. A late, repeated or invented answer misses. Entries stay in the order of their opening.
// Owner: a CallTable, or a Session for its asks. Limit: kMaxEntries, or the capacity given.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/base/slot_map.h"

namespace stdgate::rpc {

using WireId = uint32_t;

// A raw JSON id as a wire id; nothing when it cannot be one. Written as the gateway writes it only:
// digits without sign, fraction, exponent or leading zero.
std::optional<WireId> parse_wire_id(std::string_view raw);

template <class Entry>
class Correlator {
 public:
  static constexpr uint32_t kIndexBits = 12;
  static constexpr uint32_t kGenerationBits = 31 - kIndexBits;
  static constexpr size_t kMaxEntries = size_t{1} << kIndexBits;
  static constexpr uint32_t kFirst = 10'000;  // ids are above this

  explicit Correlator(size_t capacity) : slots_(std::min(capacity, kMaxEntries)) {}

  // Nothing when the capacity is used up.
  template <class Some>
  std::optional<WireId> open(Some&& entry);

  // Null for an id without a live entry.
  Entry* find(WireId id) {
    Node* node = find_node(id);
    return node == nullptr ? nullptr : &node->entry;
  }

  // The entry of a live id.
  Entry& at(WireId id) { return live_node(id).entry; }

  // Ends the entry and hands it out. `id` must be live.
  Entry close(WireId id) {
    std::optional<Entry> entry = take(id);
    STDGATE_CHECK(entry.has_value());
    return *std::move(entry);
  }
  // Like close(), but `id` may be any id: returns nothing if it has no live entry.
  std::optional<Entry> take(WireId id);

  // Whether this id stood for an entry that has ended, or comes round again much later.
  [[nodiscard]] bool has_ended(WireId id) const {
    const auto latest = slots_.generation_of(index_of(id));
    const uint32_t number = id & kGenerationMask;
    return latest && number > kFirst && number < number_of(*latest);
  }
  // oldest(): the live entry that was opened first. next(): the live entry that was opened after
  // `id`.
  std::optional<WireId> oldest() { return id_at(oldest_); }
  std::optional<WireId> next(WireId id) { return id_at(live_node(id).newer); }

  [[nodiscard]] size_t size() const { return slots_.size(); }
  [[nodiscard]] bool full() const { return slots_.size() == slots_.capacity(); }

 private:
  struct Node {
    Entry entry;
    uint32_t older = Handle::kNone;
    uint32_t newer = Handle::kNone;
  };
  static constexpr uint32_t kGenerationMask = (1U << kGenerationBits) - 1;

  static WireId wire_id(Handle handle) {
    return handle.index << kGenerationBits | number_of(handle.generation);
  }
  static uint32_t number_of(uint32_t generation) {
    return kFirst + generation % (kGenerationMask + 1 - kFirst);
  }
  static uint32_t index_of(WireId id) { return id >> kGenerationBits; }
  Node& node_at(uint32_t index);
  Node& live_node(WireId id) {
    Node* const node = find_node(id);
    STDGATE_CHECK(node != nullptr);
    return *node;
  }
  Node* find_node(WireId id) {
    Handle handle;
    Node* node = slots_.find_index(index_of(id), &handle);
    return node != nullptr && wire_id(handle) == id ? node : nullptr;
  }
  std::optional<WireId> id_at(uint32_t index);

  SlotMap<Node> slots_;
  uint32_t oldest_ = Handle::kNone;
  uint32_t newest_ = Handle::kNone;
};

// Declared inline, as g++ inlines less of what is not.
template <class Entry>
template <class Some>
inline std::optional<WireId> Correlator<Entry>::open(Some&& entry) {
  Node* acquired = nullptr;
  const auto handle = slots_.acquire(&acquired);
  if (!handle) return std::nullopt;
  Node& node = *acquired;
  node.entry = std::forward<Some>(entry);
  node.older = newest_;
  node.newer = Handle::kNone;
  (newest_ == Handle::kNone ? oldest_ : node_at(newest_).newer) = handle->index;
  newest_ = handle->index;
  return wire_id(*handle);
}

template <class Entry>
inline std::optional<Entry> Correlator<Entry>::take(WireId id) {
  Handle handle;
  Node* const found = slots_.find_index(index_of(id), &handle);
  if (found == nullptr || wire_id(handle) != id) return std::nullopt;
  Node& node = *found;
  (node.older == Handle::kNone ? oldest_ : node_at(node.older).newer) = node.newer;
  (node.newer == Handle::kNone ? newest_ : node_at(node.newer).older) = node.older;
  std::optional<Entry> entry = std::move(node.entry);
  slots_.release(handle);
  return entry;
}

template <class Entry>
inline typename Correlator<Entry>::Node& Correlator<Entry>::node_at(uint32_t index) {
  Handle handle;
  Node* const node = slots_.find_index(index, &handle);
  STDGATE_CHECK(node != nullptr);
  return *node;
}

template <class Entry>
inline std::optional<WireId> Correlator<Entry>::id_at(uint32_t index) {
  if (index == Handle::kNone) return std::nullopt;
  Handle handle;
  slots_.find_index(index, &handle);
  return wire_id(handle);
}

}  // namespace stdgate::rpc
