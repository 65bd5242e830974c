// The wire form of one WebSocket frame (RFC 6455 section 5.2): its header read and written, its
// payload unmasked. Pure functions; MessageReader knows what a sequence of frames means.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stdgate::websocket {

// CloseCode: why a WebSocket ends (RFC 6455 section 7.4, and IANA's registry of close codes).
enum class CloseCode : uint16_t {
  normal = 1000,
  going_away = 1001,
  protocol_error = 1002,
  unsupported_data = 1003,  // not text
  no_status = 1005,         // never on the wire: the close frame had none
  invalid_data = 1007,      // not UTF-8
  policy_violation = 1008,
  too_big = 1009,
  internal_error = 1011,
  try_again_later = 1013,
};

// Whether a peer may send it (section 7.4.2): registered for the wire, or for libraries and
// applications.
constexpr bool is_wire_code(uint16_t code) {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
         (code >= 3000 && code <= 4999);
}

enum class Opcode : uint8_t {
  continuation = 0,
  text = 1,
  binary = 2,
  close = 8,
  ping = 9,
  pong = 10,
};

// Limit for control frames (section 5.5).
inline constexpr size_t kMaxControlPayload = 125;
inline constexpr size_t kMaxFrameHeader = 14;

struct FrameHeader {
  bool final = false;
  bool masked = false;
  uint8_t reserved = 0;  // RSV1 to RSV3
  uint8_t opcode = 0;    // may be none of Opcode
  // The seven bits in the header: the length, or 126 or 127 for one that follows.
  uint8_t short_length = 0;
  uint64_t length = 0;
  uint32_t mask = 0;  // its four bytes as they stand on the wire
  [[nodiscard]] bool is_control() const { return (opcode & 8) != 0; }
  // Whether the length is in the shortest form, and without the top bit (section 5.2).
  [[nodiscard]] bool has_good_length() const;
};

// Reads the first two bytes; length and mask are not known yet.
FrameHeader begin_frame_header(std::string_view begin);
// Bytes of the whole header, by its second byte.
size_t frame_header_size(const FrameHeader& header);
// `bytes` is the whole header.
FrameHeader parse_frame_header(std::string_view bytes);

// Writes `size` unmasked bytes to `to`, which may be `from`; `mask` is the mask of the first byte.
void unmask(char* to, const char* from, size_t size, uint32_t mask);
// The mask of the byte `distance` further on.
uint32_t rotate_mask(uint32_t mask, size_t distance);

// The header of an unfragmented frame as a server sends it.
class FrameHead {
 public:
  FrameHead(Opcode opcode, size_t payload_size);
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 10> bytes_;
  size_t size_ = 2;
};

// The whole of an unfragmented frame as a client sends it; `mask` is from chance (section 5.3).
std::string masked_frame(Opcode opcode, std::string_view payload, uint32_t mask);

}  // namespace stdgate::websocket
