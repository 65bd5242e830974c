#include "transports/http/event_stream.h"

#include <charconv>
#include <cstring>

namespace stdgate {

EventFrame::EventFrame(Kind kind, size_t payload_size, bool chunked) {
  const std::string_view field = kind == Kind::data ? "data: " : ": ";
  constexpr std::string_view kEventEnd = "\n\n";
  if (chunked) {
    const size_t size = field.size() + payload_size + kEventEnd.size();
    char* end = std::to_chars(head_.data(), head_.data() + head_.size(), size, 16).ptr;
    *end++ = '\r';
    *end++ = '\n';
    head_size_ = static_cast<size_t>(end - head_.data());
  }
  std::memcpy(head_.data() + head_size_, field.data(), field.size());
  head_size_ += field.size();
  tail_ = chunked ? "\n\n\r\n" : "\n\n";
}

}  // namespace stdgate
