// The bytes of a WebSocket peer: the frames on the wire, and the messages in them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/base/byte_storage.h"

namespace stdgate::websocket {

// --- The wire form of one WebSocket frame (RFC 6455 section 5.2): its header read and written, its
// payload unmasked
//
// Pure functions; MessageReader knows what a sequence of frames means.

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

// The header of a frame (RFC 6455 section 5.2).
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

// --- The messages in the bytes of a WebSocket peer, and their UTF-8

// Utf8Validator: whether a text that comes in pieces is UTF-8 (RFC 3629). Fails at the first byte
// that cannot be.
//
// Owner: a MessageReader. A value of four bytes; complete runs are judged by simdjson.
class Utf8Validator {
 public:
  // The next piece; false when no continuation could make it UTF-8.
  bool feed(std::string_view piece);
  // Whether no byte of the last character is missing.
  [[nodiscard]] bool complete() const { return missing_ == 0; }

 private:
  bool feed_byte(uint8_t byte);
  bool begin_character(uint8_t lead);

  uint8_t missing_ = 0;  // bytes of a character that has begun
  // The range of the next byte.
  uint8_t low_ = 0x80;
  uint8_t high_ = 0xbf;
};

// MessageSink: receives what a MessageReader reads. Views are valid during the call. Each function
// returns whether the reader is to go on; if not, feed() returns after it. The callee must not feed
// the reader.
class MessageSink {
 public:
  virtual ~MessageSink() = default;
  virtual bool on_message(std::span<char> text) = 0;  // valid UTF-8; may be changed
  virtual bool on_ping(std::string_view payload) = 0;
  // `code` is what the frame says, CloseCode::no_status when it is empty.
  virtual void on_close(CloseCode code, std::string_view reason) = 0;
};

// Why the connection fails, as the client is told.
struct ReadError {
  CloseCode code = CloseCode::protocol_error;
  const char* reason = "";
};

// MessageReader: the frames of a peer, put together to messages (RFC 6455 sections 5 and 8.1).
//
// Job: take bytes cut anywhere, check what the protocol demands of the peer, and give whole text
// messages, pings and the close frame to a sink. A message that lies unfragmented and whole in the
// given bytes is unmasked in place, and handed over without a copy. Other messages are collected in
// storage borrowed from the pool, and offered with it (StorageOffer). So an idle reader holds no
// storage, and a busy one allocates none. Owner: a WebSocket connection. No I/O. Limit: `limit`
// bytes of one message, judged by the frame headers before any byte is kept. Errors: a close code
// and a constant phrase. After an error, and after a close frame, nothing more is taken.
class MessageReader {
 public:
  // The sender of the frames: a client has to mask them, a server must not (section 5.1).
  enum class Peer : uint8_t { client, server };

  MessageReader(StoragePool& storages, size_t limit, Peer peer = Peer::client)
      : limit_(limit), peer_(peer), message_(storages), control_(storages) {}
  MessageReader(const MessageReader&) = delete;
  MessageReader& operator=(const MessageReader&) = delete;

  // The next bytes, which are unmasked where they stand. Returns how many were taken: all, unless
  // the sink said stop or a close frame came.
  tl::expected<size_t, ReadError> feed(std::span<char> bytes, MessageSink& sink);

  // Whether a message has begun and is not complete.
  [[nodiscard]] bool is_in_message() const { return in_message_; }
  // Memory of a message that is not complete.
  [[nodiscard]] size_t held() const { return message_.capacity() + control_.capacity(); }
  // From now on binary messages are read and dropped; without it they are an error.
  void ignore_binary() { ignores_binary_ = true; }
  // From now on messages are read and dropped, what has come of one included; control frames are
  // told as before. Holds from our close frame to the client's.
  void discard_messages();
  // Gives what is held back; nothing more is taken.
  void release();

 private:
  using Checked = tl::expected<void, ReadError>;

  tl::expected<size_t, ReadError> read_frames(std::span<char> bytes, MessageSink& sink);
  tl::expected<size_t, ReadError> read_header(std::string_view bytes);
  Checked check_begin(const FrameHeader& header) const;
  Checked begin_frame();
  // Each says whether to go on.
  tl::expected<bool, ReadError> read_payload(std::span<char> part, MessageSink& sink);
  tl::expected<bool, ReadError> read_text(std::span<char> part, MessageSink& sink);
  tl::expected<bool, ReadError> read_control(std::span<char> part, MessageSink& sink);
  tl::expected<bool, ReadError> end_control(std::string_view payload, MessageSink& sink);
  tl::expected<bool, ReadError> end_close(std::string_view payload, MessageSink& sink);

  const size_t limit_;
  const Peer peer_;
  PooledBuffer message_;  // what has come of a message, unless it is whole at once
  PooledBuffer control_;  // the same of a control frame
  FrameHeader frame_;     // the one whose payload is read
  uint64_t left_ = 0;     // of its payload
  std::array<char, kMaxFrameHeader> header_;
  uint8_t header_size_ = 0;  // bytes there, of a header that is not complete
  Utf8Validator utf8_;
  bool in_payload_ = false;
  bool in_message_ = false;  // its last frame has not ended
  bool ignores_binary_ = false;
  bool is_ignored_ = false;  // the message is binary
  bool discards_ = false;
  bool feeding_ = false;  // feed() is on the stack
  bool done_ = false;
};

}  // namespace stdgate::websocket
