#include "transports/websocket/message_reader.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace stdgate::websocket {

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
