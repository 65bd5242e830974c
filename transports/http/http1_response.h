// The wire form of HTTP/1.1 responses: their heads (RFC 9112 section 4), and the chunks of a body
// whose length is not known (section 7.1).
//
// Built by appending constants and numbers to a buffer on the stack; nothing is allocated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

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

class Http1ResponseHead {
 public:
  Http1ResponseHead(const Response& response, const Http1Frame& frame);
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  void append(std::string_view text);
  void append(uint64_t number);
  void append_field(std::string_view name, std::string_view value);
  void append_length(const Response& response, const Http1Frame& frame);
  void append_connection(const Http1Frame& frame);

  static constexpr size_t kMaxOwn = 384;  // of the lines that are made here

  std::array<char, kMaxOwn + 2 * kMaxFieldBytes> bytes_;
  size_t size_ = 0;
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
