#include "gateway/call/call_queue.h"

#include <utility>

namespace stdgate::call {

Outgoing WaitingMessage::outgoing() {
  Outgoing message = places;
  size_t inserted = 0;
  for (size_t i = 0; i < insertion_count; ++i) inserted += insertions[i].members.size();
  std::string_view rest = bytes;
  message.text = rest.substr(0, rest.size() - inserted);
  rest.remove_prefix(message.text.size());
  for (size_t i = 0; i < insertion_count; ++i) {
    std::string_view& members = insertions[i].members;
    members = rest.substr(0, members.size());
    rest.remove_prefix(members.size());
  }
  message.inserted = std::span(insertions).first(insertion_count);
  message.account = held.account();
  return message;
}

void CallQueue::push(CallPtr call, const Outgoing& message) {
  if (call) {
    call->place = CallPlace::waiting;
    call->ticket = first_ticket_ + waiting_.size();
  }
  WaitingMessage& waiting = waiting_.emplace_back();
  waiting.call = std::move(call);
  waiting.places = message;
  waiting.places.text = {};
  waiting.places.inserted = {};
  if (!spare_texts_.empty()) {
    waiting.bytes = std::move(spare_texts_.back());
    spare_texts_.pop_back();
  }
  waiting.bytes = message.text;
  STDGATE_CHECK(message.inserted.size() <= waiting.insertions.size());
  for (const Insertion& insertion : message.inserted) {
    waiting.insertions[waiting.insertion_count++] = insertion;
    waiting.bytes += insertion.members;
  }
  waiting.held = Share({message.account, held_}, Holding::calls);
  waiting.held.set(waiting.bytes.capacity() + sizeof(WaitingMessage) +
                   (waiting.call ? sizeof(Call) : 0));
  bytes_ += waiting.bytes.size();
  ++size_;
}

WaitingMessage CallQueue::pop() {
  STDGATE_CHECK(!empty());
  return pop_at(0);
}

// Those before it move up, so that no gap is left that would be scanned with each message.
WaitingMessage CallQueue::pop_at(size_t at) {
  WaitingMessage message = std::move(waiting_[at]);
  for (; at > 0; --at) {
    waiting_[at] = std::move(waiting_[at - 1]);
    if (waiting_[at].call) ++waiting_[at].call->ticket;
  }
  waiting_.front().is_gone = true;
  waiting_.front().bytes.clear();
  if (message.call) message.call->place = CallPlace::nowhere;
  note_gone(message);
  drop_gone();
  return message;
}

CallPtr CallQueue::take(const Call& call) {
  const size_t at = call.ticket - first_ticket_;
  STDGATE_CHECK(at < waiting_.size() && waiting_[at].call.get() == &call);
  CallPtr taken = take_at(at);
  drop_gone();
  return taken;
}

CallPtr CallQueue::take_at(size_t at) {
  WaitingMessage& message = waiting_[at];
  note_gone(message);
  message.is_gone = true;
  message.call->place = CallPlace::nowhere;
  std::string().swap(message.bytes);
  message.held = {};
  return std::move(message.call);
}

void CallQueue::note_gone(const WaitingMessage& message) {
  STDGATE_CHECK(size_ > 0 && bytes_ >= message.bytes.size());
  --size_;
  bytes_ -= message.bytes.size();
}

// Restores two invariants: the first entry is a message, and gaps do not exceed their limit.
void CallQueue::drop_gone() {
  while (!waiting_.empty() && waiting_.front().is_gone) {
    waiting_.pop_front();
    ++first_ticket_;
  }
  if (waiting_.size() <= 2 * size_ + kMaxGaps) return;
  size_t kept = 0;
  for (WaitingMessage& message : waiting_) {
    if (message.is_gone) continue;
    if (message.call) message.call->ticket = first_ticket_ + kept;
    if (&waiting_[kept] != &message) waiting_[kept] = std::move(message);
    ++kept;
  }
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(kept), waiting_.end());
}

void CallQueue::reuse(WaitingMessage message) {
  if (message.bytes.capacity() > kMaxKeptLength || spare_texts_.size() == kMaxKept) return;
  spare_texts_.push_back(std::move(message.bytes));
}

void CallQueue::check_invariants() const {
  size_t size = 0;
  size_t bytes = 0;
  for (size_t at = 0; at < waiting_.size(); ++at) {
    const WaitingMessage& message = waiting_[at];
    STDGATE_CHECK(!message.is_gone || (at > 0 && message.call == nullptr));
    size += message.is_gone ? 0 : 1;
    bytes += message.bytes.size();
    if (message.call == nullptr) continue;
    STDGATE_CHECK(message.call->place == CallPlace::waiting && message.call->is_watched());
    STDGATE_CHECK(message.call->ticket == first_ticket_ + at);
  }
  STDGATE_CHECK(size == size_ && bytes == bytes_);
}

std::vector<CallPtr> CallQueue::take_calls() {
  std::vector<CallPtr> calls;
  while (!empty()) {
    WaitingMessage message = pop();
    if (message.call) calls.push_back(std::move(message.call));
  }
  return calls;
}

}  // namespace stdgate::call
