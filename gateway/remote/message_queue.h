// MessageQueue: what a client has said and a server cannot be told yet, in the client's order.
//
// Owner: a Remote. Limits: kMaxMessages and kMaxBytes, from which on is_full() and the client is
// not read any more; what is sent again goes beyond them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

#include "gateway/remote/client_message.h"

namespace stdgate::remote {

class MessageQueue {
 public:
  static constexpr size_t kMaxMessages = 1024;
  static constexpr size_t kMaxBytes = 64 << 20;

  // Behind all others; `due`: until when it may wait.
  void push(ClientMessage message, TimePoint due);
  // In its place among the others.
  void put_back(ClientMessage message);
  [[nodiscard]] bool empty() const { return messages_.empty(); }
  [[nodiscard]] bool is_full() const;
  // The first one; of those that are no requests where `only_notices`.
  std::optional<ClientMessage> pop(bool only_notices = false);
  // The request with this id, raw. Whether it was here.
  bool remove_request(std::string_view id);
  // One whose time has come.
  std::optional<ClientMessage> pop_due(TimePoint now);
  // When that will be of the next one.
  [[nodiscard]] std::optional<TimePoint> next_due() const;
  std::deque<ClientMessage> take_all();

 private:
  using Place = std::deque<ClientMessage>::iterator;
  std::optional<ClientMessage> take_out(const Place& place);

  std::deque<ClientMessage> messages_;
  size_t bytes_ = 0;
  uint64_t last_number_ = 0;
};

}  // namespace stdgate::remote
