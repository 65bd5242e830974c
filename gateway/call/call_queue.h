// CallQueue: messages that wait for a child, in the order of their arrival.
//
// A waiting call knows its place (Call::ticket), so it can be taken out at once, wherever it
// stands. A message that is taken out leaves a gap, which is skipped. Gaps are closed when there
// are more gaps than messages. Waiting messages are charged to their clients. Owner: the pool.
// Limits: config.pool.queue messages and config.pool.queue_bytes of text.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "gateway/base/check.h"
#include "gateway/call/call_store.h"
#include "gateway/config/config.h"

namespace stdgate::call {

// A message with its own copy of the text and of the insertions. A notification has no call.
struct WaitingMessage {
  CallPtr call;
  Share held;         // memory of `bytes` and of the call
  std::string bytes;  // the text, and after it the inserted members
  Outgoing places;    // without text and insertions: see outgoing()
  std::array<Insertion, Outgoing::kMaxInsertions> insertions;
  size_t insertion_count = 0;
  bool is_gone = false;

  // Its views point into this object.
  [[nodiscard]] Outgoing outgoing();
};

class CallQueue {
 public:
  static constexpr size_t kMaxPassed = 256;

  // `held`: counts the bytes that are kept here; null: not counted.
  explicit CallQueue(const config::PoolConfig& config, HeldBytes* held = nullptr)
      : config_(config), held_(held) {}

  [[nodiscard]] bool has_room(size_t bytes) const {
    return size_ < config_.queue && bytes_ + bytes <= config_.queue_bytes;
  }
  void push(CallPtr call, const Outgoing& message);
  // The call that is next; null: a notification is. Only while not empty().
  [[nodiscard]] const Call* front() const { return waiting_.front().call.get(); }
  // Only while not empty().
  WaitingMessage pop();
  // Whether a message is taken out; if not, whether one behind it may be.
  enum class Choice : uint8_t { take, pass_over, stop };
  // Takes out the first message that `choose(call)` takes; a notification's `call` is null. At most
  // kMaxPassed are passed over. Nothing: none was taken.
  template <class Choose>
  std::optional<WaitingMessage> pop_first(Choose&& choose);
  // Keeps the storage of a message that has been sent for the next one.
  void reuse(WaitingMessage message);

  // Takes out a call that waits here.
  CallPtr take(const Call& call);
  // Takes out all calls for which `matches(call)` holds.
  template <class Predicate>
  std::vector<CallPtr> take_all(Predicate&& matches);

  template <class Visitor>
  void for_each_call(Visitor&& visit) const {
    for (const WaitingMessage& waiting : waiting_) {
      if (waiting.call != nullptr) visit(*waiting.call);
    }
  }

  // Empties the queue; notifications in it are lost.
  std::vector<CallPtr> take_calls();

  // Thresholds at which clients that can wait are paused, and resumed.
  [[nodiscard]] bool is_half_full() const {
    return !empty() && (2 * size_ >= config_.queue || 2 * bytes_ >= config_.queue_bytes);
  }
  [[nodiscard]] bool is_quarter_full_at_most() const {
    return 4 * size_ <= config_.queue && 4 * bytes_ <= config_.queue_bytes;
  }

  // Ends the process if an invariant is broken.
  void check_invariants() const;

  [[nodiscard]] bool empty() const { return size_ == 0; }
  // Linear in the number of messages; rarely called.
  [[nodiscard]] bool has_calls() const {
    return std::ranges::any_of(waiting_,
                               [](const auto& message) { return message.call != nullptr; });
  }
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kMaxKept = 1024;
  static constexpr size_t kMaxKeptLength = 1024;
  static constexpr size_t kMaxGaps = 64;  // allowed in addition to the number of messages

  WaitingMessage pop_at(size_t at);
  CallPtr take_at(size_t at);
  void note_gone(const WaitingMessage& message);
  void drop_gone();

  const config::PoolConfig& config_;
  HeldBytes* const held_;
  // May have gaps, but none at its front. A call's index is its ticket minus `first_ticket_`.
  std::deque<WaitingMessage> waiting_;
  uint64_t first_ticket_ = 0;
  size_t size_ = 0;   // messages
  size_t bytes_ = 0;  // of the messages
  std::vector<std::string> spare_texts_;
};

template <class Choose>
std::optional<WaitingMessage> CallQueue::pop_first(Choose&& choose) {
  // With places of messages that are gone.
  const size_t end = std::min(waiting_.size(), 2 * kMaxPassed);
  for (size_t at = 0, passed = 0; at < end && passed <= kMaxPassed; ++at) {
    if (waiting_[at].is_gone) continue;
    const Choice choice = choose(waiting_[at].call.get());
    if (choice == Choice::take) return pop_at(at);
    if (choice == Choice::stop) break;
    ++passed;
  }
  return std::nullopt;
}

template <class Predicate>
std::vector<CallPtr> CallQueue::take_all(Predicate&& matches) {
  std::vector<CallPtr> taken;
  for (size_t at = 0; at < waiting_.size(); ++at) {
    const Call* const call = waiting_[at].call.get();
    if (call != nullptr && matches(*call)) taken.push_back(take_at(at));
  }
  drop_gone();
  return taken;
}

}  // namespace stdgate::call
