// The text of an event stream: server-sent events (WHATWG HTML, section 9.2.6).
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "gateway/session/event_sink.h"

namespace stdgate::http {

// What stands before the data of one event; kEventEnd stands behind it.
class EventFrame {
 public:
  static constexpr size_t kMaxField = 128;  // bytes of an event's name, and of its id

  // Name, id and data are each on one line: JSON has had its raw newlines blanked. There is a data
  // field even if it is empty, else a browser would not dispatch the event.
  explicit EventFrame(const session::StreamEvent& event);

  [[nodiscard]] std::string_view head() const { return {bytes_.data(), size_}; }

 private:
  static constexpr size_t kFieldNames = 64;  // of all fields, with the digits of "retry"

  void append(std::string_view text);
  void append_field(std::string_view name, std::string_view value);

  std::array<char, kFieldNames + 2 * kMaxField> bytes_;
  size_t size_ = 0;
};

inline constexpr std::string_view kEventEnd = "\n\n";
inline constexpr std::string_view kDoneEvent = "[DONE]";
// A comment, which clients skip.
inline constexpr std::string_view kKeepAlive = ": keep-alive\n\n";

}  // namespace stdgate::http
