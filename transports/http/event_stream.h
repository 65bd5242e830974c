// The wire form of an event stream: server-sent events (WHATWG HTML, section 9.2.6), each in a
// chunk of its own (RFC 9112 section 7.1) towards HTTP/1.1, bare towards HTTP/1.0.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "gateway/session/event_sink.h"

namespace stdgate::http {

// What stands before and behind the data of one event.
class EventFrame {
 public:
  static constexpr size_t kMaxField = 128;  // bytes of an event's name, and of its id

  // Name, id and data are each on one line: JSON has had its raw newlines blanked. There is a data
  // field even if it is empty, else a browser would not dispatch the event.
  EventFrame(const session::StreamEvent& event, bool chunked);

  [[nodiscard]] std::string_view head() const { return {bytes_.data() + begin_, end_ - begin_}; }
  [[nodiscard]] std::string_view tail() const { return tail_; }

 private:
  static constexpr size_t kMaxChunkLine = 18;  // sixteen digits and the line's end
  static constexpr size_t kFieldNames = 64;    // of all fields, with the digits of "retry"

  void append(std::string_view text);
  void append_field(std::string_view name, std::string_view value);
  void prepend_chunk_size(size_t size);

  // The chunk's size is known last, and stands first.
  std::array<char, kMaxChunkLine + kFieldNames + 2 * kMaxField> bytes_;
  size_t begin_ = kMaxChunkLine;
  size_t end_ = kMaxChunkLine;
  std::string_view tail_;
};

inline constexpr std::string_view kDoneEvent = "[DONE]";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";
// A comment, which clients skip.
inline constexpr std::string_view kKeepAlive = ": keep-alive\n\n";
inline constexpr std::string_view kKeepAliveChunk = "e\r\n: keep-alive\n\n\r\n";

}  // namespace stdgate::http
