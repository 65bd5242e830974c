// WebSocketWorld: an HttpWorld that serves WebSockets too. Its clients use wslay.
#pragma once

#include <wslay/wslay.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/http/http_world.h"
#include "transports/websocket/websocket_connection.h"
#include "transports/websocket/websocket_endpoint.h"

namespace stdgate::test {

class WebSocketWorld : public HttpWorld {
 public:
  explicit WebSocketWorld(const WorldOptions& world_options = {}) : HttpWorld(world_options) {
    websocket::add_websocket_routes(router, backends);
  }
  [[nodiscard]] size_t websockets() const {
    return observer.open[static_cast<size_t>(ConnectionKind::websocket)];
  }
};

// The core's sink for the only connection.
session::SessionSink& sink_of(WebSocketWorld& world);

// The request of a handshake.
std::string handshake(std::string_view path = "/ws", std::string_view more_fields = "");

class WebSocketClient {
 public:
  // Connects and waits for the answer to the handshake. Afterwards the client reads, if `reads` is
  // true.
  explicit WebSocketClient(WebSocketWorld& world, std::string_view path = "/ws", bool reads = true);
  ~WebSocketClient();
  WebSocketClient(const WebSocketClient&) = delete;
  WebSocketClient& operator=(const WebSocketClient&) = delete;

  void send(std::string_view text) { queue(WSLAY_TEXT_FRAME, text); }
  void ping(std::string_view payload) { queue(WSLAY_PING, payload); }
  void close(uint16_t code, std::string_view reason = "");
  // The connection below wslay.
  TestClient& wire() { return wire_; }
  // Handles the received bytes, and answers pings and close frames.
  void pump();

  // The next message; empty if the connection ends first.
  std::string message();
  std::string ask(std::string_view text) {
    send(text);
    return message();
  }
  bool wait_pongs(size_t count);
  // Waits for the server's close frame. Returns its code, or 0 if the connection ends without a
  // close frame.
  int close_code();
  bool wait_closed();

  Answer answer;  // to the handshake
  std::deque<std::string> messages;
  std::vector<std::string> pongs;
  size_t pings = 0;
  std::string close_reason;

 private:
  void take_close();
  void queue(uint8_t opcode, std::string_view payload);
  static wslay_event_callbacks callbacks();

  WebSocketWorld& world_;
  TestClient wire_;
  wslay_event_context_ptr context_ = nullptr;
  uint8_t opcode_ = 0;  // of the frame in progress
  std::string close_payload_;
  int close_code_ = -1;
};

}  // namespace stdgate::test
