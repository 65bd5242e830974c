// The messages in the bytes of a WebSocket peer, and their UTF-8.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/base/byte_storage.h"
#include "transports/websocket/frame.h"

namespace stdgate::websocket {

// Utf8Validator: whether a text that comes in pieces is UTF-8 (RFC 3629), known at the first byte
// that cannot be.
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

// The views are valid during the call. Each says whether the reader is to go on; if not, feed()
// returns after it. The callee must not feed the reader.
class MessageSink {
 public:
  virtual ~MessageSink() = default;
  virtual bool on_message(std::span<char> text) = 0;  // valid UTF-8; may be changed
  virtual bool on_ping(std::string_view payload) = 0;
  // `code` is what the frame says, CloseCode::no_status when it is empty.
  virtual void on_close(CloseCode code, std::string_view reason) = 0;
};

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
