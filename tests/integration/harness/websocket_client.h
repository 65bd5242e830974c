// WebSocketClient: a blocking WebSocket client (RFC 6455) over one connection, for tests that mind
// the bytes.
//
// Sends whatever it is given, right frames and wrong ones; reads frames strictly, as section 5 asks
// of a client, and of a server that never fragments. Throws std::runtime_error at anything
// malformed, and when a read or write takes longer than the deadline. One thread may read while
// another sends, as long as no ping comes.
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

// Section 5.2.
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

// As they stand on the wire.
std::string frame_bytes(const Frame& frame);
// Of a text frame, in as many frames as there are parts.
std::string fragment_bytes(const std::vector<std::string>& parts);
// The payload of a close frame.
std::string close_payload(int code, std::string_view reason = "");

// How a connection ended: what the close frame said, or one of the codes that never are in one
// (section 7.4.1).
struct Closing {
  static constexpr int kNoStatus = 1005;
  static constexpr int kCutOff = 1006;  // end of the stream, or a reset, without a close frame
  int code = kCutOff;
  std::string reason;
};

// The fields of a handshake that is right, with the key of section 1.3.
Headers handshake_fields();

class WebSocketClient {
 public:
  struct Options {
    std::string path = "/ws";
    Headers headers = {};          // beside handshake_fields(), or instead of some of them
    std::string first_bytes = {};  // sent with the handshake, before its answer
    int receive_buffer = 0;        // SO_RCVBUF in bytes; 0: the system's
    Millis deadline = Millis(10'000);
  };

  // Connects and shakes hands; throws with the answer when that is not 101. `url` as HttpClient's.
  explicit WebSocketClient(const std::string& url) : WebSocketClient(url, Options()) {}
  WebSocketClient(const std::string& url, const Options& options);
  // Takes over a connected socket, the handshake being done.
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

  // --- Reading
  // The next frame of any kind; nothing at the end of the stream.
  std::optional<Frame> read_frame();
  // The next message, pings being answered; nothing when the connection has been closed, by a close
  // frame, which is answered, or without.
  std::optional<std::string> read_message();
  // The next message; throws when there is none.
  std::string message();
  // Sends a request and reads its answer, which has to be the next message.
  std::string call(std::string_view method, std::string_view params = "",
                   std::string_view id = "1");
  // Reads to the end; what it was. Messages on the way are counted only.
  Closing read_closing();
  [[nodiscard]] const std::optional<Closing>& closing() const { return closing_; }
  [[nodiscard]] size_t messages() const { return messages_; }  // read so far
  // Whether the server ends the stream in time, without another byte.
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
  size_t taken_ = 0;  // of it, from its front
  size_t messages_ = 0;
  std::optional<Closing> closing_;
};

}  // namespace stdgate::harness
