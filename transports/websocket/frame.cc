#include "transports/websocket/frame.h"

#include <bit>
#include <cstring>

namespace stdgate::websocket {

namespace {

constexpr uint8_t kTwoByteLength = 126;
constexpr uint8_t kEightByteLength = 127;

size_t length_size(uint8_t short_length) {
  if (short_length < kTwoByteLength) return 0;
  return short_length == kTwoByteLength ? 2 : 8;
}

// Network byte order.
uint64_t read_number(std::string_view bytes) {
  uint64_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

void write_number(char* to, size_t size, uint64_t number) {
  for (size_t i = size; i > 0; --i, number >>= 8) to[i - 1] = static_cast<char>(number & 0xff);
}

}  // namespace

bool FrameHeader::has_good_length() const {
  if (short_length == kTwoByteLength) return length >= kTwoByteLength;
  if (short_length == kEightByteLength) return length > UINT16_MAX && length >> 63 == 0;
  return true;
}

FrameHeader begin_frame_header(std::string_view begin) {
  const auto first = static_cast<uint8_t>(begin[0]);
  const auto second = static_cast<uint8_t>(begin[1]);
  FrameHeader header;
  header.final = (first & 0x80) != 0;
  header.reserved = first >> 4 & 7;
  header.opcode = first & 0x0f;
  header.masked = (second & 0x80) != 0;
  header.short_length = second & 0x7f;
  return header;
}

size_t frame_header_size(const FrameHeader& header) {
  return 2 + length_size(header.short_length) + (header.masked ? 4 : 0);
}

FrameHeader parse_frame_header(std::string_view bytes) {
  FrameHeader header = begin_frame_header(bytes);
  const size_t size = length_size(header.short_length);
  header.length = size == 0 ? header.short_length : read_number(bytes.substr(2, size));
  if (header.masked) std::memcpy(&header.mask, bytes.data() + 2 + size, sizeof(header.mask));
  return header;
}

void unmask(char* to, const char* from, size_t size, uint32_t mask) {
  const uint64_t wide = uint64_t{mask} << 32 | mask;
  size_t done = 0;
  for (; done + sizeof(wide) <= size; done += sizeof(wide)) {
    uint64_t word = 0;
    std::memcpy(&word, from + done, sizeof(word));
    word ^= wide;
    std::memcpy(to + done, &word, sizeof(word));
  }
  std::array<char, sizeof(mask)> bytes;
  std::memcpy(bytes.data(), &mask, sizeof(mask));
  for (; done < size; ++done) {
    to[done] = static_cast<char>(from[done] ^ bytes[done % bytes.size()]);
  }
}

uint32_t rotate_mask(uint32_t mask, size_t distance) {
  const int bits = static_cast<int>(distance % sizeof(mask)) * 8;
  return std::endian::native == std::endian::little ? std::rotr(mask, bits) : std::rotl(mask, bits);
}

FrameHead::FrameHead(Opcode opcode, size_t payload_size) {
  bytes_[0] = static_cast<char>(0x80 | static_cast<uint8_t>(opcode));
  if (payload_size < kTwoByteLength) {
    bytes_[1] = static_cast<char>(payload_size);
    return;
  }
  const bool is_short = payload_size <= UINT16_MAX;
  bytes_[1] = static_cast<char>(is_short ? kTwoByteLength : kEightByteLength);
  const size_t length_bytes = is_short ? 2 : 8;
  write_number(bytes_.data() + 2, length_bytes, payload_size);
  size_ += length_bytes;
}

std::string masked_frame(Opcode opcode, std::string_view payload, uint32_t mask) {
  constexpr char kMaskBit = '\x80';
  const FrameHead head(opcode, payload.size());
  std::string frame(head.view());
  frame[1] = static_cast<char>(frame[1] | kMaskBit);
  frame.append(reinterpret_cast<const char*>(&mask), sizeof(mask));
  const size_t begin = frame.size();
  frame.append(payload);
  unmask(frame.data() + begin, frame.data() + begin, payload.size(), mask);
  return frame;
}

}  // namespace stdgate::websocket
