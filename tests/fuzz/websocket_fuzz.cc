// Fuzz target: the message reader accepts from a client what wslay accepts, and refuses what wslay
// refuses with the same close code, however the bytes are cut.
//
// The first byte of the input chooses the limit, the second how the bytes are cut.

#include <wslay/wslay.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"
#include "transports/websocket/message_reader.h"

namespace stdgate::test::websocket_fuzz {
namespace {

constexpr size_t kMaxControlFrame = websocket::kMaxFrameHeader + websocket::kMaxControlPayload;

using Lines = std::vector<std::string>;

std::string failed(int code) { return "failed " + std::to_string(code); }

class Transcript final : public websocket::MessageSink {
 public:
  bool on_message(std::span<char> text) override {
    lines.push_back("message " + std::string(text.data(), text.size()));
    std::fill(text.begin(), text.end(), '\n');  // must not affect other messages
    return true;
  }
  bool on_ping(std::string_view payload) override {
    lines.push_back("ping " + std::string(payload));
    return true;
  }
  void on_close(websocket::CloseCode code, std::string_view reason) override {
    const bool has_code = code != websocket::CloseCode::no_status;
    lines.push_back("close " + std::to_string(has_code ? static_cast<int>(code) : 0) + " " +
                    std::string(reason));
  }
  Lines lines;
};

Lines read(std::string bytes, size_t limit, size_t piece) {
  StoragePool storages;
  websocket::MessageReader reader(storages, limit);
  Transcript transcript;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    const size_t size = std::min(piece, bytes.size() - at);
    const auto taken = reader.feed({bytes.data() + at, size}, transcript);
    if (!taken) transcript.lines.push_back(failed(static_cast<int>(taken.error().code)));
    if (!taken || *taken < size) break;
    // Growing storage grows in proportion to its size, or is replaced by storage that the pool has
    // kept.
    require(reader.held() <= 2 * limit + websocket::kMaxControlPayload, "the limit", bytes);
  }
  return transcript.lines;
}

// wslay as the server for the same bytes.
class Oracle {
 public:
  Oracle(std::string_view bytes, size_t limit) : bytes_(bytes) {
    wslay_event_callbacks callbacks{};
    callbacks.recv_callback = &Oracle::receive;
    callbacks.on_frame_recv_start_callback = &Oracle::on_frame;
    callbacks.on_msg_recv_callback = &Oracle::on_message;
    wslay_event_context_server_init(&context_, &callbacks, this);
    wslay_event_config_set_max_recv_msg_length(context_, limit);
    const bool broken = wslay_event_recv(context_) != 0;
    if (ended_ || wslay_event_get_read_enabled(context_) != 0) return;
    lines.push_back(failed(broken ? WSLAY_CODE_PROTOCOL_ERROR : close_code()));
  }
  ~Oracle() { wslay_event_context_free(context_); }
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  Lines lines;

 private:
  static ssize_t receive(wslay_event_context_ptr context, uint8_t* buffer, size_t size,
                         int /*flags*/, void* self) {
    std::string_view& bytes = static_cast<Oracle*>(self)->bytes_;
    const size_t count = std::min(size, bytes.size());
    if (count == 0) {
      wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
      return -1;
    }
    std::memcpy(buffer, bytes.data(), count);
    bytes.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }

  // wslay accepts binary messages, but the reader does not.
  static void on_frame(wslay_event_context_ptr /*context*/,
                       const wslay_event_on_frame_recv_start_arg* frame, void* self) {
    auto& oracle = *static_cast<Oracle*>(self);
    if (frame->opcode != WSLAY_BINARY_FRAME || oracle.ended_) return;
    oracle.end(failed(static_cast<int>(websocket::CloseCode::unsupported_data)));
  }

  static void on_message(wslay_event_context_ptr /*context*/,
                         const wslay_event_on_msg_recv_arg* message, void* self) {
    auto& oracle = *static_cast<Oracle*>(self);
    if (oracle.ended_) return;
    const std::string text(reinterpret_cast<const char*>(message->msg), message->msg_length);
    if (message->opcode == WSLAY_TEXT_FRAME) oracle.lines.push_back("message " + text);
    if (message->opcode == WSLAY_PING) oracle.lines.push_back("ping " + text);
    if (message->opcode != WSLAY_CONNECTION_CLOSE) return;
    // wslay accepts a close payload of one byte.
    if (text.size() == 1)
      return oracle.end(failed(static_cast<int>(websocket::CloseCode::protocol_error)));
    const std::string reason = text.size() > 2 ? text.substr(2) : "";
    oracle.end("close " + std::to_string(message->status_code) + " " + reason);
  }

  void end(std::string line) {
    lines.push_back(std::move(line));
    ended_ = true;
  }

  // The code of the close frame that wslay has queued.
  int close_code() {
    wslay_event_callbacks callbacks{};
    callbacks.send_callback = [](wslay_event_context_ptr, const uint8_t*, size_t size,
                                 int /*flags*/, void*) { return static_cast<ssize_t>(size); };
    wslay_event_config_set_callbacks(context_, &callbacks);
    wslay_event_send(context_);
    return wslay_event_get_status_code_sent(context_);
  }

  std::string_view bytes_;
  wslay_event_context_ptr context_ = nullptr;
  bool ended_ = false;
};

// Differences are allowed in the last line only. A binary frame may also have a wrong length, which
// wslay notices first. Some codes were registered after wslay was written.
bool differ_rightly(const Lines& ours, const Lines& theirs) {
  if (ours.empty() || ours.size() != theirs.size() ||
      !std::equal(ours.begin(), ours.end() - 1, theirs.begin()) ||
      !theirs.back().starts_with("failed")) {
    return false;
  }
  const std::string_view last = ours.back();
  return last == failed(static_cast<int>(websocket::CloseCode::unsupported_data)) ||
         last.starts_with("close 1012") || last.starts_with("close 1013") ||
         last.starts_with("close 1014");
}

void check(std::string_view input) {
  if (input.size() < 2) return;
  // wslay applies its limit to control frames as well.
  const size_t limit = static_cast<uint8_t>(input[0]) * 4 + websocket::kMaxControlPayload;
  // The padding ensures that the input does not end inside a header or a control frame. The reader
  // judges an incomplete header but not an incomplete control frame; wslay does the opposite.
  const std::string bytes = std::string(input.substr(2)) + std::string(kMaxControlFrame, '\0');
  const Lines whole = read(bytes, limit, bytes.size() + 1);
  const Lines theirs = Oracle(bytes, limit).lines;
  require(whole == theirs || differ_rightly(whole, theirs), "the same as wslay", input);
  const size_t piece = static_cast<uint8_t>(input[1]) % 61 + 2;
  for (const size_t size : {size_t{1}, piece}) {
    require(read(bytes, limit, size) == whole, "the same however cut", input);
  }
}

}  // namespace

void run(std::string_view input) { check(input); }

}  // namespace stdgate::test::websocket_fuzz
