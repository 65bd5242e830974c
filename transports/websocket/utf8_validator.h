// Utf8Validator: whether a text that comes in pieces is UTF-8 (RFC 3629), known at the first byte
// that cannot be.
// Owner: a MessageReader. A value of four bytes; complete runs are judged by simdjson.
#pragma once

#include <cstdint>
#include <string_view>

namespace stdgate::websocket {

class Utf8Validator {
 public:
  // The next piece; false when no continuation could make it UTF-8.
  bool feed(std::string_view piece);
  // Nothing is missing of the last character.
  [[nodiscard]] bool complete() const { return missing_ == 0; }

 private:
  bool feed_byte(uint8_t byte);
  bool begin_character(uint8_t lead);

  uint8_t missing_ = 0;  // bytes of a character that has begun
  // What the next of them may be.
  uint8_t low_ = 0x80;
  uint8_t high_ = 0xbf;
};

}  // namespace stdgate::websocket
