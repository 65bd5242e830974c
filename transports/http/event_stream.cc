#include "transports/http/event_stream.h"

#include <charconv>
#include <cstring>

#include "gateway/base/check.h"

namespace stdgate::http {

namespace {

constexpr std::string_view kEventEnd = "\n\n";

}  // namespace

EventFrame::EventFrame(const session::StreamEvent& event, bool chunked) {
  STDGATE_CHECK(event.name.size() <= kMaxField && event.id.size() <= kMaxField);
  if (!event.name.empty()) append_field("event: ", event.name);
  if (!event.id.empty()) append_field("id: ", event.id);
  if (event.retry_ms != 0) {
    std::array<char, 16> digits;
    const char* end =
        std::to_chars(digits.data(), digits.data() + digits.size(), event.retry_ms).ptr;
    append_field("retry: ", {digits.data(), static_cast<size_t>(end - digits.data())});
  }
  append("data: ");
  tail_ = kEventEnd;
  if (!chunked) return;
  size_t size = end_ - begin_ + kEventEnd.size();
  for (const std::string_view part : event.data) size += part.size();
  prepend_chunk_size(size);
  tail_ = "\n\n\r\n";
}

void EventFrame::append(std::string_view text) {
  std::memcpy(bytes_.data() + end_, text.data(), text.size());
  end_ += text.size();
}

void EventFrame::append_field(std::string_view name, std::string_view value) {
  append(name);
  append(value);
  append("\n");
}

void EventFrame::prepend_chunk_size(size_t size) {
  std::array<char, kMaxChunkLine> line;
  char* end = std::to_chars(line.data(), line.data() + line.size(), size, 16).ptr;
  *end++ = '\r';
  *end++ = '\n';
  const auto line_size = static_cast<size_t>(end - line.data());
  begin_ -= line_size;
  std::memcpy(bytes_.data() + begin_, line.data(), line_size);
}

}  // namespace stdgate::http
