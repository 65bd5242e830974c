#include "transports/http/http1_response.h"

#include <charconv>

#include "gateway/base/check.h"

namespace stdgate::http {

Http1ResponseHead::Http1ResponseHead(const Response& response, const Http1Frame& frame) {
  const size_t given = frame.date.size() + frame.more_fields.size() + response.allow.size() +
                       response.content_type.size() + response.type_fields.size() +
                       response.more_fields.size();
  STDGATE_CHECK(given <= kMaxGiven);
  append("HTTP/1.1 ");
  append(status_line_end(response.status));
  append("\r\nDate: ");
  append(frame.date);
  // Browsers must not guess the content's type (WHATWG Fetch, section 3.7).
  append("\r\nX-Content-Type-Options: nosniff\r\n");
  append(frame.more_fields);
  if (!response.allow.empty()) {
    append("Allow: ");
    append(response.allow);
    append("\r\n");
  }
  if (response.retry_after > Duration::zero()) {
    append("Retry-After: ");
    append(static_cast<uint64_t>(
        std::chrono::ceil<std::chrono::seconds>(response.retry_after).count()));
    append("\r\n");
  }
  if (!response.content_type.empty()) {
    append("Content-Type: ");
    append(response.content_type);
    append("\r\n");
  }
  append(response.type_fields);
  append(response.more_fields);
  append_length(response, frame);
  append_connection(frame);
}

void Http1ResponseHead::append_length(const Response& response, const Http1Frame& frame) {
  if (frame.is_in_pieces) {
    if (!frame.http_1_0) append("Transfer-Encoding: chunked\r\n");
  } else if (response.status != 204 && response.status >= 200) {  // RFC 9110 section 8.6
    size_t size = 0;
    for (const std::string_view part : response.body) size += part.size();
    append("Content-Length: ");
    append(size);
    append("\r\n");
  }
}

// RFC 9112 section 9.3: each version's default need not be said.
void Http1ResponseHead::append_connection(const Http1Frame& frame) {
  if (frame.close) {
    append("Connection: close\r\n");
  } else if (frame.http_1_0) {
    append("Connection: keep-alive\r\n");
  }
  append("\r\n");
}

void Http1ResponseHead::append(uint64_t number) {
  end_ = std::to_chars(end_, bytes_.data() + bytes_.size(), number).ptr;
}

ChunkSize::ChunkSize(size_t size) {
  char* end = std::to_chars(bytes_.data(), bytes_.data() + 2 * sizeof(size_t), size, 16).ptr;
  *end++ = '\r';
  *end++ = '\n';
  size_ = static_cast<size_t>(end - bytes_.data());
}

}  // namespace stdgate::http
