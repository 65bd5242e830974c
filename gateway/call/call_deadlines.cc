#include "gateway/call/call_deadlines.h"

#include <algorithm>

#include "gateway/base/check.h"

namespace stdgate::call {

void CallDeadlines::add(Call& call) {
  if (call.deadline == TimePoint::max()) return;
  call.admitted = ++admitted_;
  push(call);
}

void CallDeadlines::push(Call& call) {
  const size_t place = heap_.size();
  call.heap_place = static_cast<uint32_t>(place);
  heap_.push_back({call.deadline, &call});
  if (place > 0 && call.deadline < heap_[(place - 1) / 2].deadline) {
    sift_up(place, heap_[place]);
  }
}

std::optional<TimePoint> CallDeadlines::next() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front().deadline;
}

std::vector<Call*> CallDeadlines::take_due(TimePoint now) {
  std::vector<Call*> due;
  while (!heap_.empty() && heap_.front().deadline <= now) {
    due.push_back(heap_.front().call);
    erase(*due.back());
  }
  // The heap does not keep the order of calls with the same deadline.
  std::sort(due.begin(), due.end(),
            [](const Call* a, const Call* b) { return a->admitted < b->admitted; });
  return due;
}

void CallDeadlines::erase(Call& call) {
  const size_t place = call.heap_place;
  STDGATE_CHECK(place < heap_.size() && heap_[place].call == &call);
  call.heap_place = Call::kNoPlace;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (place == heap_.size()) return;
  if (place > 0 && last.deadline < heap_[(place - 1) / 2].deadline) {
    sift_up(place, last);
  } else {
    sift_down(place, last);
  }
}

void CallDeadlines::sift_up(size_t place, Entry entry) {
  while (place > 0) {
    const size_t parent = (place - 1) / 2;
    if (heap_[parent].deadline <= entry.deadline) break;
    put(place, heap_[parent]);
    place = parent;
  }
  put(place, entry);
}

void CallDeadlines::sift_down(size_t place, Entry entry) {
  const size_t size = heap_.size();
  for (size_t child = 2 * place + 1; child < size; child = 2 * place + 1) {
    if (child + 1 < size && heap_[child + 1].deadline < heap_[child].deadline) ++child;
    if (entry.deadline <= heap_[child].deadline) break;
    put(place, heap_[child]);
    place = child;
  }
  put(place, entry);
}

void CallDeadlines::put(size_t place, Entry entry) {
  heap_[place] = entry;
  entry.call->heap_place = static_cast<uint32_t>(place);
}

void CallDeadlines::check_invariants() const {
  for (size_t place = 0; place < heap_.size(); ++place) {
    const Entry& entry = heap_[place];
    STDGATE_CHECK(entry.call->heap_place == place && entry.call->deadline == entry.deadline);
    STDGATE_CHECK(place == 0 || heap_[(place - 1) / 2].deadline <= entry.deadline);
  }
}

}  // namespace stdgate::call
