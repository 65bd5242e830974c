// The calls of a backend: their storage, and where a cancel and a deadline find them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/call/call.h"

namespace stdgate::call {

// CallIndex: the calls of clients by caller and id, so that a cancel finds its call by one look-up.
//
// An intrusive hash table: a call contains its links, so adding one allocates nothing. The hash has
// a random key, so that no client can choose ids that share a bucket. Owner: the CallStore. A call
// is in the table from its acceptance until its storage is given back. Limit: the number of calls.
// The table's storage keeps the size of the peak.
class CallIndex {
 public:
  // `key` and `more_key`: 128 bits that clients cannot know.
  CallIndex(uint64_t key, uint64_t more_key) : key_(key ^ kSalt), more_key_(more_key ^ kMoreSalt) {}
  CallIndex(const CallIndex&) = delete;
  CallIndex& operator=(const CallIndex&) = delete;

  // Without effect for a call that is in the index. `caller` and `id` must not change while it is.
  void add(Call& call);
  // Without effect for a call that is in no index.
  void remove(Call& call);
  // A call that is held, waits or is in flight: the latest, if its client uses an id twice. Null:
  // none.
  [[nodiscard]] Call* find(session::Caller caller, std::string_view id) const;

  [[nodiscard]] size_t size() const { return size_; }

 private:
  static constexpr size_t kFewestBuckets = 64;
  // Makes the hash usable with weak keys, as tests have them.
  static constexpr uint64_t kSalt = 0x9E3779B97F4A7C15;
  static constexpr uint64_t kMoreSalt = 0xD6E8FEB86659FD93;

  [[nodiscard]] uint64_t hash(session::Caller caller, std::string_view id) const;
  void put(Call& call);
  void grow();

  const uint64_t key_;
  const uint64_t more_key_;
  std::vector<Call*> buckets_ = std::vector<Call*>(kFewestBuckets);  // a power of two of them
  size_t size_ = 0;
};

// CallDeadlines: the calls of a backend that wait or are in flight, ordered by deadline.
//
// A binary heap of (deadline, call). A call knows its place in the heap, so a call that ends early
// is removed at once, and the steady state allocates nothing. Where all calls have the same
// timeout, each new deadline is the latest, and adding it takes a single comparison. Owner: the
// CallStore. A call is in the heap from its admission until it expires or its storage is given
// back. Limit: the number of calls. The heap's storage keeps the size of the peak.
class CallDeadlines {
 public:
  CallDeadlines() = default;
  CallDeadlines(const CallDeadlines&) = delete;
  CallDeadlines& operator=(const CallDeadlines&) = delete;

  // The call must not be in the heap yet, and its deadline must not change while it is. Without
  // effect for a call without a deadline (TimePoint::max()).
  void add(Call& call);
  // Adds a call that has expired and has a later deadline now. Among equal deadlines it keeps its
  // turn.
  void add_again(Call& call) { push(call); }
  // Without effect for a call that is not in the heap.
  void remove(Call& call) {
    if (call.heap_place != Call::kNoPlace) erase(call);
  }
  // The earliest deadline; nothing without calls.
  [[nodiscard]] std::optional<TimePoint> next() const;
  // Takes out the calls that have expired, in the order of their admission.
  std::vector<Call*> take_due(TimePoint now);

  // Ends the process if an invariant is broken.
  void check_invariants() const;

  [[nodiscard]] size_t size() const { return heap_.size(); }

 private:
  struct Entry {
    TimePoint deadline;
    Call* call;
  };

  void push(Call& call);
  void erase(Call& call);
  void sift_up(size_t place, Entry entry);
  void sift_down(size_t place, Entry entry);
  void put(size_t place, Entry entry);

  std::vector<Entry> heap_;
  uint64_t admitted_ = 0;
};

// Empties a text whose storage is reused. Frees long storage, so that one client's long texts do
// not stay in memory.
void clear_text(std::string& text);

// A text that a filter keeps in a slot of a call.
struct KeptText {
  std::string text;

  void clear() { clear_text(text); }
};

// Gives the call back to its CallStore.
struct ReturnCall {
  void operator()(Call* call) const;
};

using CallPtr = std::unique_ptr<Call, ReturnCall>;

// CallStore: gives out calls and takes them back.
//
// Job: reuse the storage of ended calls, strings included. So the steady state allocates nothing,
// and a call moves between queue and child as a pointer. Owner: the backend; outlives its calls.
// Limit: keeps kMaxKept calls, and frees long texts.
class CallStore {
 public:
  static constexpr size_t kMaxKept = 4096;

  // The keys of the CallIndex.
  explicit CallStore(uint64_t key = 0, uint64_t more_key = 0) : index_(key, more_key) {}
  CallStore(const CallStore&) = delete;
  CallStore& operator=(const CallStore&) = delete;

  // Reserves room for a filter's state in each call. Only before there is a call.
  template <class T>
  Slot<T> reserve() {
    return layout_.reserve<T>();
  }

  CallPtr take();
  // Frees the storage of ended calls.
  void drop_kept() { std::vector<std::unique_ptr<Call>>().swap(kept_); }
  // The calls of clients, until their storage is given back.
  CallIndex& index() { return index_; }
  // Calls with a deadline, until they expire or their storage is given back.
  CallDeadlines& deadlines() { return deadlines_; }

 private:
  friend ReturnCall;
  void give_back(std::unique_ptr<Call> call);

  SlotLayout layout_;
  CallIndex index_;
  CallDeadlines deadlines_;
  std::vector<std::unique_ptr<Call>> kept_;
};

}  // namespace stdgate::call
