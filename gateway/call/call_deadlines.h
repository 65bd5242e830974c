// CallDeadlines: the calls of a backend that wait or are in flight, by when they expire.
//
// A binary heap of (deadline, call); a call knows its place in it, so a call that ends early is
// taken out at once, and nothing is allocated in the steady state. Where all calls have the same
// timeout, each is due after those before it, and adding one takes a single comparison. Owner: the
// CallStore; a call is in the heap from its admission until it expires or its storage is given
// back. Limit: the number of calls. Its storage keeps the size of the peak.
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
  // For a call that had expired and has a later deadline now; it keeps its turn among equal ones.
  void add_again(Call& call) { push(call); }
  // Without effect for a call that is not in it.
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
