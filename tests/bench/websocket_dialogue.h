// WebSocketDialogue: calls over a WebSocket (RFC 6455), many in flight. Frames are masked in
// advance. With `idle-ws` the WebSocket is held open without calls.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tests/bench/dialogue.h"
#include "transports/websocket/message_reader.h"

namespace stdgate::bench {

class WebSocketDialogue : public Dialogue {
 public:
  WebSocketDialogue(const LoadOptions& options, CallBook book, Channel& channel, Tally& tally);

  void begin() override;
  void begin_calls(Instant now) override;
  tl::expected<size_t, std::string> take(std::span<char> bytes, Instant now) override;

 private:
  using Checked = tl::expected<void, std::string>;
  tl::expected<size_t, std::string> take_handshake(std::span<char> bytes);
  Checked on_frame(const websocket::FrameHeader& header, std::span<char> payload, Instant now);
  void prepare_calls();
  void call(size_t slot, Instant now);

  const LoadOptions& options_;
  Channel& channel_;
  CallBook book_;
  bool open_ = false;
  std::string fragments_;  // of a message without its last frame yet
  // A whole masked frame. The mask of an id depends on the id's place in the frame.
  NumberedText frame_;
  std::array<IdText, 2> masks_ = {};
};

}  // namespace stdgate::bench
