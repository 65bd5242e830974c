// MessageQueue: messages of a client that cannot be sent yet, in the client's order.
//
// Owner: a Remote. Limits: kMaxMessages and kMaxBytes. At either limit is_full() holds, and the
// client is not read until it no longer does. Messages that are sent again may exceed the limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "gateway/remote/client_message.h"

namespace stdgate::remote {

class MessageQueue {
 public:
  static constexpr size_t kMaxMessages = 1024;
  static constexpr size_t kMaxBytes = 64 << 20;

  // `on_room`: is_full() no longer holds.
  explicit MessageQueue(std::function<void()> on_room) : on_room_(std::move(on_room)) {}

  // Appends a message. `due`: the end of its wait.
  void push(ClientMessage message, TimePoint due);
  // Inserts a message in its place among the others.
  void put_back(ClientMessage message);
  [[nodiscard]] bool empty() const { return messages_.empty(); }
  [[nodiscard]] bool is_full() const;
  // Takes the first message; with `only_notices`, the first one that is no request.
  std::optional<ClientMessage> pop(bool only_notices = false);
  // Removes the request with this id (raw). Returns whether it was here.
  bool remove_request(std::string_view id);
  // Takes a message whose wait is over.
  std::optional<ClientMessage> pop_due(TimePoint now);
  // The end of the next wait.
  [[nodiscard]] std::optional<TimePoint> next_due() const;
  std::deque<ClientMessage> take_all();

 private:
  using Place = std::deque<ClientMessage>::iterator;
  std::optional<ClientMessage> take_out(const Place& place);

  const std::function<void()> on_room_;
  std::deque<ClientMessage> messages_;
  size_t bytes_ = 0;
  uint64_t last_number_ = 0;
};

}  // namespace stdgate::remote
