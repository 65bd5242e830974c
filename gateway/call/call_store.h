// CallStore: gives out calls and takes them back.
//
// Job: reuse the storage of ended calls, strings included. So the steady state allocates nothing,
// and a call moves between queue and child as a pointer. Owner: the backend; outlives its calls.
// Limit: keeps kMaxKept calls, and frees long texts.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gateway/call/call_deadlines.h"
#include "gateway/call/call_index.h"

namespace stdgate::call {

// Empties a text whose storage is reused. Frees long storage, so that one client's long texts do
// not stay in memory.
void clear_text(std::string& text);

// A text that a filter keeps in a slot of a call.
struct KeptText {
  std::string text;

  void clear() { clear_text(text); }
};

struct ReturnCall {
  void operator()(Call* call) const;
};

using CallPtr = std::unique_ptr<Call, ReturnCall>;

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
