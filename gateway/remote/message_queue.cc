#include "gateway/remote/message_queue.h"

#include <algorithm>
#include <utility>

namespace stdgate::remote {

void MessageQueue::push(ClientMessage message, TimePoint due) {
  message.number = ++last_number_;
  message.due = due;
  bytes_ += message.text.size();
  messages_.push_back(std::move(message));
}

void MessageQueue::put_back(ClientMessage message) {
  bytes_ += message.text.size();
  const auto place =
      std::ranges::upper_bound(messages_, message.number, {}, &ClientMessage::number);
  messages_.insert(place, std::move(message));
}

bool MessageQueue::is_full() const {
  return messages_.size() >= kMaxMessages || bytes_ >= kMaxBytes;
}

std::optional<ClientMessage> MessageQueue::take_out(const Place& place) {
  if (place == messages_.end()) return std::nullopt;
  const bool was_full = is_full();
  ClientMessage message = std::move(*place);
  messages_.erase(place);
  bytes_ -= message.text.size();
  if (was_full && !is_full()) on_room_();
  return message;
}

std::optional<ClientMessage> MessageQueue::pop(bool only_notices) {
  return take_out(std::ranges::find_if(messages_, [only_notices](const ClientMessage& message) {
    return !only_notices || !message.is_request();
  }));
}

bool MessageQueue::remove_request(std::string_view id) {
  return take_out(std::ranges::find_if(messages_,
                                       [id](const ClientMessage& message) {
                                         return !message.is_batch && message.is_request() &&
                                                message.id == id;
                                       }))
      .has_value();
}

std::optional<ClientMessage> MessageQueue::pop_due(TimePoint now) {
  return take_out(std::ranges::find_if(
      messages_, [now](const ClientMessage& message) { return message.due <= now; }));
}

std::optional<TimePoint> MessageQueue::next_due() const {
  if (messages_.empty()) return std::nullopt;
  const TimePoint due = std::ranges::min_element(messages_, {}, &ClientMessage::due)->due;
  return due == TimePoint::max() ? std::nullopt : std::optional(due);
}

std::deque<ClientMessage> MessageQueue::take_all() {
  const bool was_full = is_full();
  bytes_ = 0;
  std::deque<ClientMessage> all = std::exchange(messages_, {});
  if (was_full) on_room_();
  return all;
}

}  // namespace stdgate::remote
