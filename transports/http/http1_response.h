// The wire form of HTTP/1.1 responses: their heads (RFC 9112 section 4), and the chunks of a body
// whose length is not known (section 7.1).
//
// Built by appending constants and numbers to a buffer on the stack; nothing is allocated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "gateway/base/text.h"
#include "transports/http/response.h"

namespace stdgate::http {

// How the connection goes on, and what else stands in every head.
struct Http1Frame {
  std::string_view date{};         // RFC 9110 section 6.6.1
  std::string_view more_fields{};  // whole lines, as in Response
  bool http_1_0 = false;           // of the request
  bool close = false;              // after this response
  // The body follows in pieces: in chunks, or ended by closing towards HTTP/1.0.
  bool is_in_pieces = false;
};

// Http1ResponseHead: the head of one response.
class Http1ResponseHead {
 public:
  Http1ResponseHead(const Response& response, const Http1Frame& frame);
  Http1ResponseHead(const Http1ResponseHead&) = delete;
  Http1ResponseHead& operator=(const Http1ResponseHead&) = delete;
  [[nodiscard]] std::string_view view() const {
    return {bytes_.data(), static_cast<size_t>(end_ - bytes_.data())};
  }

 private:
  // Nothing is checked here: the constructor has found that there is room for all.
  template <size_t kSize>
  void append(const char (&text)[kSize]) {
    std::memcpy(end_, text, kSize - 1);
    end_ += kSize - 1;
  }
  void append(std::string_view text) { end_ = copy_text(end_, text); }
  void append(uint64_t number);
  void append_length(const Response& response, const Http1Frame& frame);
  void append_connection(const Http1Frame& frame);

  static constexpr size_t kMaxOwn = 384;  // of the constants and numbers
  // Of the texts of others: two of them may be long, the content's type and its like are short.
  static constexpr size_t kMaxGiven = 2 * kMaxFieldBytes + 256;

  std::array<char, kMaxOwn + kMaxGiven> bytes_;
  char* end_ = bytes_.data();
};

// The line before the bytes of a chunk; kChunkEnd stands behind them.
class ChunkSize {
 public:
  explicit ChunkSize(size_t size);
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 2 * sizeof(size_t) + 2> bytes_;  // digits and the line's end
  size_t size_ = 0;
};

inline constexpr std::string_view kChunkEnd = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace stdgate::http
