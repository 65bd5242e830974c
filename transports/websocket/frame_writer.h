// FrameWriter: what goes to one WebSocket client, in unfragmented frames (RFC 6455 section 5.2).
//
// Owner: a WebSocket connection, which bounds what is unsent.
#pragma once

#include <span>
#include <string_view>

#include "transports/http/connection_meter.h"
#include "transports/net/stream.h"
#include "transports/websocket/close_code.h"
#include "transports/websocket/frame.h"

namespace stdgate::websocket {

class FrameWriter {
 public:
  explicit FrameWriter(http::ConnectionMeter& meter) : meter_(meter) {}

  // To be called first; `stream` outlives the use of the writer.
  void open(net::Stream& stream) { stream_ = &stream; }

  // The payload is the concatenation of `parts`.
  void write(Opcode opcode, std::span<const std::string_view> parts);
  // `reason`: kMaxControlPayload - 2 bytes at most. CloseCode::no_status: without either.
  void write_close(CloseCode code, std::string_view reason);

 private:
  http::ConnectionMeter& meter_;
  net::Stream* stream_ = nullptr;
};

}  // namespace stdgate::websocket
