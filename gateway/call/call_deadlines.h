// CallDeadlines: the calls of a backend that wait or are in flight, ordered by deadline.
//
// A binary heap of (deadline, call). A call knows its place in the heap, so a call that ends early
// is removed at once, and the steady state allocates nothing. Where all calls have the same
// timeout, each new deadline is the latest, and adding it takes a single comparison. Owner: the
// CallStore. A call is in the heap from its admission until it expires or its storage is given
// back. Limit: the number of calls. The heap's storage keeps the size of the peak.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gateway/call/call.h"

namespace stdgate::call {

class CallDeadlines {
 public:
  CallDeadlines() = default;
  CallDeadlines(const CallDeadlines&) = delete;
  CallDeadlines& operator=(const CallDeadlines&) = delete;

  // The call must not be in the heap yet, and its deadline must not change while it is. Without
  // effect for a call without a deadline (TimePoint::max()).
  void add(Call& call);
  // For a call that has expired and has a later deadline now. Among equal deadlines it keeps its
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

}  // namespace stdgate::call
