// Frames as a client writes them, valid and invalid ones (RFC 6455, section 5.2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "transports/websocket/message_reader.h"

namespace stdgate::test {

struct FrameSpec {
  uint8_t opcode = 1;
  bool final = true;
  uint8_t reserved = 0;
  bool masked = true;
  // The number of bytes of the extended length; -1: the shortest form.
  int length_bytes = -1;
};

inline std::string client_frame(std::string_view payload, const FrameSpec& spec = {}) {
  const uint64_t size = payload.size();
  int length_bytes = spec.length_bytes;
  if (length_bytes < 0) length_bytes = size < 126 ? 0 : size < 65536 ? 2 : 8;
  const char short_length = length_bytes == 0   ? static_cast<char>(size)
                            : length_bytes == 2 ? char{126}
                                                : char{127};
  std::string frame;
  frame += static_cast<char>((spec.final ? 0x80 : 0) | spec.reserved << 4 | spec.opcode);
  frame += static_cast<char>((spec.masked ? 0x80 : 0) | short_length);
  for (int i = length_bytes - 1; i >= 0; --i) frame += static_cast<char>(size >> (8 * i) & 0xff);
  const std::string_view mask = "\x37\xfa\x21\x3d";  // mask of section 5.7
  if (spec.masked) frame += mask;
  for (size_t i = 0; i < payload.size(); ++i) {
    frame += spec.masked ? static_cast<char>(payload[i] ^ mask[i % 4]) : payload[i];
  }
  return frame;
}

inline std::string client_frame(websocket::Opcode opcode, std::string_view payload,
                                bool final = true) {
  return client_frame(payload, {.opcode = static_cast<uint8_t>(opcode), .final = final});
}

// The payload of a close frame.
inline std::string close_payload(uint16_t code, std::string_view reason = "") {
  std::string payload{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
  payload += reason;
  return payload;
}

}  // namespace stdgate::test
