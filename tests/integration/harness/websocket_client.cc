#include "tests/integration/harness/websocket_client.h"

#include <poll.h>
#include <simdjson.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "tests/integration/harness/setups.h"

namespace stdgate::harness {
namespace {

constexpr size_t kTwoByteLength = 126;
constexpr size_t kEightByteLength = 127;
constexpr size_t kMaxControl = 125;

[[noreturn]] void fail_socket(const std::string& what) {
  throw std::runtime_error("websocket client: " + what);
}

void append_number(std::string& out, uint64_t number, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(number >> (8 * i) & 0xff);
}

uint64_t read_number(std::string_view bytes) {
  uint64_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

// A length must be in its shortest form (section 5.2).
uint64_t checked_length(size_t short_length, std::string_view extended) {
  if (short_length < kTwoByteLength) return short_length;
  const uint64_t length = read_number(extended);
  if (length < kTwoByteLength || (short_length == kEightByteLength && length <= UINT16_MAX)) {
    fail_socket("a length in too long a form");
  }
  return length;
}

}  // namespace

std::string frame_bytes(const Frame& frame) {
  constexpr std::string_view kMask = "\x37\xfa\x21\x3d";  // from section 5.7
  const size_t size = frame.payload.size();
  const int length_bytes = size < kTwoByteLength ? 0 : size <= UINT16_MAX ? 2 : 8;
  const size_t short_length = length_bytes == 0   ? size
                              : length_bytes == 2 ? kTwoByteLength
                                                  : kEightByteLength;
  std::string bytes;
  bytes.reserve(size + 14);
  bytes += static_cast<char>((frame.final ? 0x80 : 0) | frame.reserved << 4 | frame.opcode);
  bytes += static_cast<char>((frame.masked ? 0x80 : 0) | static_cast<int>(short_length));
  append_number(bytes, size, length_bytes);
  if (!frame.masked) return bytes + frame.payload;
  bytes += kMask;
  for (size_t i = 0; i < size; ++i) {
    bytes += static_cast<char>(frame.payload[i] ^ kMask[i % kMask.size()]);
  }
  return bytes;
}

std::string fragment_bytes(const std::vector<std::string>& parts) {
  std::string bytes;
  for (size_t i = 0; i < parts.size(); ++i) {
    bytes += frame_bytes({.opcode = i == 0 ? Frame::kText : Frame::kContinuation,
                          .payload = parts[i],
                          .final = i + 1 == parts.size()});
  }
  return bytes;
}

std::string close_payload(int code, std::string_view reason) {
  std::string payload;
  append_number(payload, static_cast<uint64_t>(code), 2);
  return payload.append(reason);
}

Headers handshake_fields() {
  return {{"upgrade", "websocket"},
          {"connection", "Upgrade"},
          {"sec-websocket-version", "13"},
          {"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="}};
}

WebSocketClient::WebSocketClient(const std::string& url, const Options& options)
    : connection_(url, options.deadline), deadline_(options.deadline) {
  if (options.receive_buffer > 0) {
    setsockopt(socket(), SOL_SOCKET, SO_RCVBUF, &options.receive_buffer,
               sizeof options.receive_buffer);
  }
  Headers fields = handshake_fields();
  for (const auto& [name, value] : options.headers) fields[name] = value;
  connection_.send_request("GET", options.path, options.first_bytes, fields);
  handshake_ = connection_.read_head();
  if (handshake_.status != 101) {
    fail_socket("the handshake was answered with " + std::to_string(handshake_.status) + " " +
                connection_.buffered());
  }
  received_ = connection_.buffered();
}

WebSocketClient::WebSocketClient(int socket, Millis deadline)
    : connection_(socket, deadline), deadline_(deadline) {}

// --- Sending -------------------------------------------------------------------------------------

void WebSocketClient::send_close(int code, std::string_view reason) {
  send_frame({.opcode = Frame::kClose, .payload = close_payload(code, reason)});
}

void WebSocketClient::reset() {
  const linger at_once = {1, 0};
  setsockopt(socket(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  connection_.close();
}

// --- Reading -------------------------------------------------------------------------------------

bool WebSocketClient::receive() {
  pollfd entry = {socket(), POLLIN, 0};
  if (poll(&entry, 1, static_cast<int>(deadline_.count())) <= 0) {
    fail_socket("nothing received within " + std::to_string(deadline_.count()) + " ms, after " +
                std::to_string(messages_) + " messages");
  }
  received_.erase(0, std::exchange(taken_, 0));
  std::array<char, 1 << 16> piece;
  const ssize_t count = recv(socket(), piece.data(), piece.size(), 0);
  if (count < 0 && errno != ECONNRESET)
    fail_socket(std::string("receive: ") + std::strerror(errno));
  if (count <= 0) return false;
  received_.append(piece.data(), static_cast<size_t>(count));
  return true;
}

bool WebSocketClient::fill(size_t count) {
  while (received_.size() - taken_ < count) {
    if (!receive()) return false;
  }
  return true;
}

std::string WebSocketClient::take(size_t count) {
  std::string bytes = received_.substr(taken_, count);
  taken_ += count;
  return bytes;
}

std::optional<Frame> WebSocketClient::read_frame() {
  if (!fill(2)) return std::nullopt;
  const std::string begin = take(2);
  Frame frame;
  frame.final = (begin[0] & 0x80) != 0;
  frame.reserved = begin[0] >> 4 & 7;
  frame.opcode = begin[0] & 0x0f;
  frame.masked = (begin[1] & 0x80) != 0;
  const auto short_length = static_cast<size_t>(begin[1] & 0x7f);
  const size_t length_bytes = short_length < kTwoByteLength    ? 0
                              : short_length == kTwoByteLength ? 2
                                                               : 8;
  if (!fill(length_bytes)) return std::nullopt;
  const uint64_t length = checked_length(short_length, take(length_bytes));
  if (frame.masked || frame.reserved != 0 || !frame.final) {
    fail_socket("a masked, extended or fragmented frame");
  }
  const bool is_control =
      frame.opcode == Frame::kClose || frame.opcode == Frame::kPing || frame.opcode == Frame::kPong;
  if ((is_control && length > kMaxControl) || (!is_control && frame.opcode != Frame::kText)) {
    fail_socket("a frame that a server of JSON must not send: opcode " +
                std::to_string(frame.opcode));
  }
  if (!fill(length)) return std::nullopt;
  frame.payload = take(length);
  return frame;
}

std::optional<std::string> WebSocketClient::read_message() {
  while (!closing_) {
    std::optional<Frame> frame = read_frame();
    if (!frame) {
      closing_ = Closing();
    } else if (frame->opcode == Frame::kText) {
      if (!simdjson::validate_utf8(frame->payload)) fail_socket("a text that is not UTF-8");
      ++messages_;
      return std::move(frame->payload);
    } else if (frame->opcode == Frame::kPing) {
      send_frame({.opcode = Frame::kPong, .payload = frame->payload});
    } else if (frame->opcode == Frame::kClose) {
      closing_ = closing_of(*frame);
      const std::string answer = frame_bytes({.opcode = Frame::kClose, .payload = frame->payload});
      ::send(socket(), answer.data(), answer.size(), MSG_NOSIGNAL);  // the server may have closed
    }
  }
  return std::nullopt;
}

Closing WebSocketClient::closing_of(const Frame& frame) const {
  if (frame.payload.empty()) return {Closing::kNoStatus, ""};
  if (frame.payload.size() < 2) fail_socket("close payload of one byte");
  const auto code = static_cast<int>(read_number(std::string_view(frame.payload).substr(0, 2)));
  return {code, frame.payload.substr(2)};
}

std::string WebSocketClient::message() {
  std::optional<std::string> text = read_message();
  if (!text) {
    fail_socket("closed with " + std::to_string(closing_->code) + " " + closing_->reason +
                " instead of a message");
  }
  return std::move(*text);
}

std::string WebSocketClient::call(std::string_view method, std::string_view params,
                                  std::string_view id) {
  send(request(method, params, id));
  return message();
}

Closing WebSocketClient::read_closing() {
  while (read_message()) {
  }
  return *closing_;
}

bool WebSocketClient::ended_within(Millis deadline) {
  pollfd entry = {socket(), POLLIN, 0};
  char byte = 0;
  return taken_ == received_.size() && poll(&entry, 1, static_cast<int>(deadline.count())) > 0 &&
         recv(socket(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

}  // namespace stdgate::harness
