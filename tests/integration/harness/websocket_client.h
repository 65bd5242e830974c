// WebSocketClient: a blocking WebSocket client (RFC 6455) over one connection, for tests that check
// bytes on the wire.
//
// Sends whatever it is given, right or wrong. Reads frames strictly, as section 5 demands, from a
// server that never fragments. Throws std::runtime_error at malformed input, and when a read or
// write takes longer than the deadline. One thread may read while another sends, unless a ping
// arrives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/integration/harness/eventually.h"
#include "tests/integration/harness/http_client.h"

namespace stdgate::harness {

// A frame, see section 5.2.
struct Frame {
  static constexpr uint8_t kContinuation = 0;
  static constexpr uint8_t kText = 1;
  static constexpr uint8_t kBinary = 2;
  static constexpr uint8_t kClose = 8;
  static constexpr uint8_t kPing = 9;
  static constexpr uint8_t kPong = 10;
  uint8_t opcode = kText;
  std::string payload = {};
  bool final = true;
  uint8_t reserved = 0;  // RSV1 to RSV3, as a number
  bool masked = true;
};

// The bytes of a frame on the wire.
std::string frame_bytes(const Frame& frame);
// The bytes of a text message with a frame for each part.
std::string fragment_bytes(const std::vector<std::string>& parts);
// The payload of a close frame.
std::string close_payload(int code, std::string_view reason = "");

// How a connection ended: by the code of a close frame, or by a code that no frame carries (section
// 7.4.1).
struct Closing {
  static constexpr int kNoStatus = 1005;
  static constexpr int kCutOff = 1006;  // end of the stream, or a reset, without a close frame
  int code = kCutOff;
  std::string reason;
};

// The fields of a correct handshake, with the key of section 1.3.
Headers handshake_fields();

class WebSocketClient {
 public:
  struct Options {
    std::string path = "/ws";
    Headers headers = {};          // added to handshake_fields(), or replace some of them
    std::string first_bytes = {};  // sent behind the handshake, before its answer
    int receive_buffer = 0;        // SO_RCVBUF in bytes; 0: the system's
    Millis deadline = Millis(10'000);
  };

  // Connects and shakes hands. Throws with the answer if its status is not 101. `url` is like
  // HttpClient's.
  explicit WebSocketClient(const std::string& url) : WebSocketClient(url, Options()) {}
  WebSocketClient(const std::string& url, const Options& options);
  // Takes over a connected socket whose handshake is done.
  explicit WebSocketClient(int socket, Millis deadline = Millis(10'000));
  WebSocketClient(WebSocketClient&&) = default;

  [[nodiscard]] const HttpResponse& handshake() const { return handshake_; }

  // --- Sending
  void send(std::string_view text) {
    send_frame({.opcode = Frame::kText, .payload = std::string(text)});
  }
  void send_frame(const Frame& frame) { send_bytes(frame_bytes(frame)); }
  void send_bytes(std::string_view bytes) { connection_.send(bytes); }
  void send_close(int code, std::string_view reason = "");

  // --- Reading The next frame of any kind; nothing: the stream has ended.
  std::optional<Frame> read_frame();
  // The next message; nothing: the connection has been closed, with a close frame or without.
  // Answers pings and the close frame.
  std::optional<std::string> read_message();
  // The next message; throws if the connection has ended.
  std::string message();
  // Sends a request and returns its answer, which must be the next message.
  std::string call(std::string_view method, std::string_view params = "",
                   std::string_view id = "1");
  // Reads to the end of the connection. Messages before the end are only counted.
  Closing read_closing();
  [[nodiscard]] const std::optional<Closing>& closing() const { return closing_; }
  [[nodiscard]] size_t messages() const { return messages_; }  // read so far
  // Whether the server ends the stream by the deadline without sending another byte.
  bool ended_within(Millis deadline);

  // --- Ending without a close frame
  void close() { connection_.close(); }  // end of the stream
  void reset();                          // RST

  [[nodiscard]] int socket() const { return connection_.socket(); }

 private:
  bool receive();  // false at the end of the stream
  bool fill(size_t count);
  std::string take(size_t count);
  Closing closing_of(const Frame& frame) const;

  HttpClient connection_;
  Millis deadline_;
  HttpResponse handshake_;
  std::string received_;
  size_t taken_ = 0;  // already read, from the front of received_
  size_t messages_ = 0;
  std::optional<Closing> closing_;
};

}  // namespace stdgate::harness
