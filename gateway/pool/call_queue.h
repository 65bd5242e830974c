// CallQueue: messages that wait for a child, in the order of their arrival.
//
// Owner: the pool. Limits: config.pool.queue messages and config.pool.queue_bytes of text.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "gateway/config/config.h"
#include "gateway/pool/call_store.h"

namespace stdgate {

// A message with its own copy of the text; a notification has no call.
struct WaitingMessage {
  CallPtr call;
  std::string text;
  Outgoing places;  // its text is unset: see outgoing()

  [[nodiscard]] Outgoing outgoing() const {
    Outgoing message = places;
    message.text = text;
    return message;
  }
};

class CallQueue {
 public:
  explicit CallQueue(const PoolConfig& config) : config_(config) {}

  [[nodiscard]] bool has_room(size_t bytes) const {
    return waiting_.size() < config_.queue && bytes_ + bytes <= config_.queue_bytes;
  }
  void push(CallPtr call, const Outgoing& message) {
    std::string text;
    if (!spare_texts_.empty()) {
      text = std::move(spare_texts_.back());
      spare_texts_.pop_back();
    }
    text = message.text;
    waiting_.push_back(WaitingMessage{std::move(call), std::move(text), message});
    bytes_ += message.text.size();
  }
  WaitingMessage pop() {
    WaitingMessage message = std::move(waiting_.front());
    waiting_.pop_front();
    bytes_ -= message.text.size();
    return message;
  }
  // The storage of a message that has been sent serves the next one.
  void reuse(WaitingMessage message) {
    if (message.text.capacity() > kLongestKept || spare_texts_.size() == kMostKept) return;
    spare_texts_.push_back(std::move(message.text));
  }

  // Takes out the first call for which `matches(call)` holds.
  template <class Predicate>
  CallPtr take_if(Predicate&& matches) {
    for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
      if (!it->call || !matches(*it->call)) continue;
      CallPtr call = std::move(it->call);
      bytes_ -= it->text.size();
      waiting_.erase(it);
      return call;
    }
    return nullptr;
  }

  // The first call for which `matches(call)` holds; null when there is none.
  template <class Predicate>
  Call* find_if(Predicate&& matches) {
    for (WaitingMessage& message : waiting_) {
      if (message.call && matches(*message.call)) return message.call.get();
    }
    return nullptr;
  }

  // The deadline of the first call; nothing when no call waits.
  [[nodiscard]] std::optional<TimePoint> next_deadline() const {
    for (const WaitingMessage& message : waiting_) {
      if (message.call) return message.call->deadline;
    }
    return std::nullopt;
  }

  // Empties the queue; notifications in it are lost.
  std::vector<CallPtr> take_calls() {
    std::vector<CallPtr> calls;
    while (!waiting_.empty()) {
      WaitingMessage message = pop();
      if (message.call) calls.push_back(std::move(message.call));
    }
    return calls;
  }

  // When clients that can wait are told to, and when they may go on.
  [[nodiscard]] bool is_half_full() const {
    return !empty() && (2 * waiting_.size() >= config_.queue || 2 * bytes_ >= config_.queue_bytes);
  }
  [[nodiscard]] bool is_quarter_full_at_most() const {
    return 4 * waiting_.size() <= config_.queue && 4 * bytes_ <= config_.queue_bytes;
  }

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] size_t size() const { return waiting_.size(); }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kMostKept = 1024;
  static constexpr size_t kLongestKept = 1024;

  const PoolConfig& config_;
  std::deque<WaitingMessage> waiting_;
  size_t bytes_ = 0;
  std::vector<std::string> spare_texts_;
};

}  // namespace stdgate
