#include "transports/websocket/message_reader.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

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

namespace {

// Bytes of the character that `lead` begins; 0: it begins none.
uint8_t character_size(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) return 3;
  return lead < 0xf5 ? 4 : 0;
}

// Where the last character begins if some of it is missing; else the end.
size_t begin_of_cut_character(std::string_view text) {
  const size_t longest = std::min<size_t>(text.size(), 3);
  for (size_t length = 1; length <= longest; ++length) {
    const auto byte = static_cast<uint8_t>(text[text.size() - length]);
    if ((byte & 0xc0) == 0x80) continue;
    return character_size(byte) > length ? text.size() - length : text.size();
  }
  return text.size();
}

}  // namespace

bool Utf8Validator::feed(std::string_view piece) {
  while (missing_ > 0 && !piece.empty()) {
    if (!feed_byte(static_cast<uint8_t>(piece.front()))) return false;
    piece.remove_prefix(1);
  }
  const size_t cut = begin_of_cut_character(piece);
  if (!simdjson::validate_utf8(piece.data(), cut)) return false;
  if (cut == piece.size()) return true;
  if (!begin_character(static_cast<uint8_t>(piece[cut]))) return false;
  return std::ranges::all_of(piece.substr(cut + 1),
                             [this](char byte) { return feed_byte(static_cast<uint8_t>(byte)); });
}

// RFC 3629 section 4: no overlong forms, no surrogates, nothing beyond U+10FFFF.
bool Utf8Validator::begin_character(uint8_t lead) {
  const uint8_t size = character_size(lead);
  if (size == 0) return false;
  missing_ = size - 1;
  low_ = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  high_ = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  return true;
}

bool Utf8Validator::feed_byte(uint8_t byte) {
  if (byte < low_ || byte > high_) return false;
  --missing_;
  low_ = 0x80;
  high_ = 0xbf;
  return true;
}

namespace {

tl::unexpected<ReadError> broken(const char* reason) {
  return tl::unexpected(ReadError{CloseCode::protocol_error, reason});
}

constexpr ReadError kNotUtf8{CloseCode::invalid_data, "not UTF-8"};

std::string_view view_of(std::span<const char> bytes) { return {bytes.data(), bytes.size()}; }

bool is_known(uint8_t opcode) {
  return opcode <= static_cast<uint8_t>(Opcode::binary) ||
         (opcode >= static_cast<uint8_t>(Opcode::close) &&
          opcode <= static_cast<uint8_t>(Opcode::pong));
}

}  // namespace

tl::expected<size_t, ReadError> MessageReader::feed(std::span<char> bytes, MessageSink& sink) {
  feeding_ = true;
  auto taken = read_frames(bytes, sink);
  feeding_ = false;
  if (!taken) release();
  if (discards_) message_.release();
  return taken;
}

tl::expected<size_t, ReadError> MessageReader::read_frames(std::span<char> bytes,
                                                           MessageSink& sink) {
  size_t taken = 0;
  bool goes_on = true;
  while (goes_on && !done_ && taken < bytes.size()) {
    if (!in_payload_) {
      const auto header = read_header(view_of(bytes.subspan(taken)));
      if (!header) return header;
      taken += *header;
      if (!in_payload_) break;
    }
    const size_t part = static_cast<size_t>(std::min<uint64_t>(left_, bytes.size() - taken));
    const auto payload = read_payload(bytes.subspan(taken, part), sink);
    if (!payload) return tl::unexpected(payload.error());
    taken += part;
    goes_on = *payload;
  }
  return taken;
}

// --- Headers -------------------------------------------------------------------------------------

// Returns how many bytes belong to the header; it is complete when in_payload_ is set.
tl::expected<size_t, ReadError> MessageReader::read_header(std::string_view bytes) {
  const size_t before = header_size_;
  const size_t copied = std::min(header_.size() - before, bytes.size());
  std::memcpy(header_.data() + before, bytes.data(), copied);
  const std::string_view all(header_.data(), before + copied);
  size_t size = 2;
  if (all.size() >= size) {
    const FrameHeader begin = begin_frame_header(all);
    if (const auto checked = check_begin(begin); !checked) return tl::unexpected(checked.error());
    size = frame_header_size(begin);
  }
  if (all.size() < size) {
    header_size_ = static_cast<uint8_t>(all.size());
    return copied;
  }
  frame_ = parse_frame_header(all.substr(0, size));
  if (const auto begun = begin_frame(); !begun) return tl::unexpected(begun.error());
  header_size_ = 0;
  return size - before;
}

// Judges the first two bytes.
MessageReader::Checked MessageReader::check_begin(const FrameHeader& header) const {
  if (header.reserved != 0) return broken("a reserved bit is set");
  if (!is_known(header.opcode)) return broken("unknown opcode");
  if (header.masked != (peer_ == Peer::client)) {
    return broken(header.masked ? "a frame of the server is masked" : "a frame is not masked");
  }
  if (header.is_control()) {
    if (!header.final) return broken("a fragmented control frame");
    if (header.short_length > kMaxControlPayload) return broken("control frame over 125 bytes");
    return {};
  }
  const bool continues = header.opcode == static_cast<uint8_t>(Opcode::continuation);
  if (continues && !in_message_) return broken("continuation without a message");
  if (!continues && in_message_) return broken("a new message inside a fragmented one");
  if (header.opcode == static_cast<uint8_t>(Opcode::binary) && !ignores_binary_) {
    return tl::unexpected(ReadError{CloseCode::unsupported_data, "send JSON in text frames"});
  }
  return {};
}

MessageReader::Checked MessageReader::begin_frame() {
  if (!frame_.has_good_length()) return broken("malformed length");
  if (!frame_.is_control()) {
    if (frame_.length > limit_ - message_.size()) {
      return tl::unexpected(ReadError{CloseCode::too_big, "message larger than limits.message"});
    }
    if (!in_message_) is_ignored_ = frame_.opcode == static_cast<uint8_t>(Opcode::binary);
    in_message_ = true;
  }
  left_ = frame_.length;
  in_payload_ = true;
  return {};
}

// --- Payloads ------------------------------------------------------------------------------------

tl::expected<bool, ReadError> MessageReader::read_payload(std::span<char> part, MessageSink& sink) {
  if (frame_.masked) unmask(part.data(), part.data(), part.size(), frame_.mask);
  if (frame_.masked && part.size() < left_) frame_.mask = rotate_mask(frame_.mask, part.size());
  left_ -= part.size();
  in_payload_ = left_ > 0;
  return frame_.is_control() ? read_control(part, sink) : read_text(part, sink);
}

tl::expected<bool, ReadError> MessageReader::read_text(std::span<char> part, MessageSink& sink) {
  if (discards_ || is_ignored_) {
    in_message_ = left_ > 0 || !frame_.final;
    return true;
  }
  if (!utf8_.feed(view_of(part))) return tl::unexpected(kNotUtf8);
  const bool is_last = left_ == 0 && frame_.final;
  if (is_last && !utf8_.complete()) return tl::unexpected(kNotUtf8);
  if (is_last && message_.empty()) {  // whole where it was read: nothing is stored
    in_message_ = false;
    return sink.on_message(part);
  }
  // The rest of a frame says nothing of the message unless that ends with it.
  const uint64_t announced = frame_.final ? part.size() + left_ : limit_ - message_.size();
  message_.append_announced(view_of(part), announced);
  if (!is_last) return true;
  in_message_ = false;
  const StorageOffer offer = message_.offer();
  const bool goes_on = sink.on_message(message_.bytes());
  message_.release();
  return goes_on;
}

tl::expected<bool, ReadError> MessageReader::read_control(std::span<char> part, MessageSink& sink) {
  const bool is_whole = left_ == 0 && control_.empty();
  if (is_whole) return end_control(view_of(part), sink);
  control_.append_announced(view_of(part), part.size() + left_);
  if (left_ > 0) return true;
  const auto ended = end_control(control_.view(), sink);
  control_.release();
  return ended;
}

tl::expected<bool, ReadError> MessageReader::end_control(std::string_view payload,
                                                         MessageSink& sink) {
  if (frame_.opcode == static_cast<uint8_t>(Opcode::ping)) return sink.on_ping(payload);
  if (frame_.opcode == static_cast<uint8_t>(Opcode::close)) return end_close(payload, sink);
  return true;
}

// Section 5.5.1.
tl::expected<bool, ReadError> MessageReader::end_close(std::string_view payload,
                                                       MessageSink& sink) {
  CloseCode code = CloseCode::no_status;
  if (payload.size() == 1) return broken("close payload of one byte");
  if (payload.size() >= 2) {
    const auto number = static_cast<uint16_t>(static_cast<uint8_t>(payload[0]) << 8 |
                                              static_cast<uint8_t>(payload[1]));
    payload.remove_prefix(2);
    Utf8Validator reason;
    if (!reason.feed(payload) || !reason.complete()) return tl::unexpected(kNotUtf8);
    if (!is_wire_code(number)) return broken("a close code that may not be sent");
    code = static_cast<CloseCode>(number);
  }
  done_ = true;
  sink.on_close(code, payload);
  return false;
}

// --- Storage -------------------------------------------------------------------------------------

void MessageReader::discard_messages() {
  discards_ = true;
  if (!feeding_) message_.release();
}

void MessageReader::release() {
  done_ = true;
  message_.release();
  control_.release();
}

}  // namespace stdgate::websocket
