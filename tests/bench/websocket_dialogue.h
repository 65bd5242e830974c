// WebSocketDialogue: calls over a WebSocket (RFC 6455), many in flight; the frames are masked
// beforehand. Held open and silent with `idle-ws`.
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
  std::string fragments_;  // of a message whose last frame has not come
  // A whole frame, masked. What is XORed onto the id in each of its places depends on where it is.
  NumberedText frame_;
  std::array<IdText, 2> masks_ = {};
};

}  // namespace stdgate::bench
