// The wire form of an event stream: server-sent events (WHATWG HTML, section 9.2.6), each in a
// chunk of its own (RFC 9112 section 7.1) towards HTTP/1.1, bare towards HTTP/1.0.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace stdgate {

// What stands before and behind the payload of one piece of the stream.
class EventFrame {
 public:
  enum class Kind : unsigned char { data, comment };
  // An event's payload must be one line: JSON whose raw newlines have been blanked.
  EventFrame(Kind kind, size_t payload_size, bool chunked);

  [[nodiscard]] std::string_view head() const { return {head_.data(), head_size_}; }
  [[nodiscard]] std::string_view tail() const { return tail_; }

 private:
  std::array<char, 32> head_;
  size_t head_size_ = 0;
  std::string_view tail_;
};

inline constexpr std::string_view kDoneEvent = "[DONE]";
inline constexpr std::string_view kKeepAliveComment = "keep-alive";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace stdgate
