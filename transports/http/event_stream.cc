#include "transports/http/event_stream.h"

#include <charconv>
#include <cstring>

#include "gateway/base/check.h"

namespace stdgate::http {

EventFrame::EventFrame(const session::StreamEvent& event) {
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
}

void EventFrame::append(std::string_view text) {
  std::memcpy(bytes_.data() + size_, text.data(), text.size());
  size_ += text.size();
}

void EventFrame::append_field(std::string_view name, std::string_view value) {
  append(name);
  append(value);
  append("\n");
}

}  // namespace stdgate::http
