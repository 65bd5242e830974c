#include "tests/unit/websocket/websocket_world.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stdgate::test {

session::SessionSink& sink_of(WebSocketWorld& world) {
  auto* sink = dynamic_cast<session::SessionSink*>(world.callers.find(session::Caller{0, 1}));
  EXPECT_NE(sink, nullptr);
  return *sink;
}

std::string handshake(std::string_view path, std::string_view more_fields) {
  return get(path,
             "Upgrade: websocket\r\nConnection: Upgrade\r\n"
             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n" +
                 std::string(more_fields));
}

WebSocketClient::WebSocketClient(WebSocketWorld& world, std::string_view path, bool reads)
    : world_(world), wire_(world, reads) {
  const wslay_event_callbacks all = callbacks();
  EXPECT_EQ(wslay_event_context_client_init(&context_, &all, this), 0);
  wire_.send(handshake(path));
  if (reads) {
    answer = wire_.answer();
    EXPECT_EQ(answer.status, 101) << answer.body;
  } else {
    EXPECT_TRUE(world.until([&] { return world.websockets() == 1; }));
  }
}

WebSocketClient::~WebSocketClient() { wslay_event_context_free(context_); }

wslay_event_callbacks WebSocketClient::callbacks() {
  wslay_event_callbacks callbacks{};
  callbacks.recv_callback = [](wslay_event_context_ptr context, uint8_t* buffer, size_t size,
                               int /*flags*/, void* self) {
    std::string& received = static_cast<WebSocketClient*>(self)->wire_.received;
    const size_t count = std::min(size, received.size());
    if (count == 0) {
      wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
      return ssize_t{-1};
    }
    std::copy_n(received.begin(), count, buffer);
    received.erase(0, count);
    return static_cast<ssize_t>(count);
  };
  callbacks.send_callback = [](wslay_event_context_ptr, const uint8_t* data, size_t size,
                               int /*flags*/, void* self) {
    static_cast<WebSocketClient*>(self)->wire_.send({reinterpret_cast<const char*>(data), size});
    return static_cast<ssize_t>(size);
  };
  callbacks.genmask_callback = [](wslay_event_context_ptr, uint8_t* buffer, size_t size, void*) {
    std::fill_n(buffer, size, uint8_t{0xa5});
    return 0;
  };
  // wslay's messages have only the codes that wslay knows, so close frames are read here.
  callbacks.on_frame_recv_start_callback =
      [](wslay_event_context_ptr, const wslay_event_on_frame_recv_start_arg* frame, void* self) {
        static_cast<WebSocketClient*>(self)->opcode_ = frame->opcode;
      };
  callbacks.on_frame_recv_chunk_callback = [](wslay_event_context_ptr,
                                              const wslay_event_on_frame_recv_chunk_arg* chunk,
                                              void* self) {
    auto& client = *static_cast<WebSocketClient*>(self);
    if (client.opcode_ != WSLAY_CONNECTION_CLOSE) return;
    client.close_payload_.append(reinterpret_cast<const char*>(chunk->data), chunk->data_length);
  };
  callbacks.on_frame_recv_end_callback = [](wslay_event_context_ptr, void* self) {
    auto& client = *static_cast<WebSocketClient*>(self);
    if (client.opcode_ == WSLAY_CONNECTION_CLOSE) client.take_close();
  };
  callbacks.on_msg_recv_callback = [](wslay_event_context_ptr,
                                      const wslay_event_on_msg_recv_arg* message, void* self) {
    auto& client = *static_cast<WebSocketClient*>(self);
    std::string text(reinterpret_cast<const char*>(message->msg), message->msg_length);
    switch (message->opcode) {
      case WSLAY_TEXT_FRAME:
        client.messages.push_back(std::move(text));
        break;
      case WSLAY_PING:
        ++client.pings;
        break;
      case WSLAY_PONG:
        client.pongs.push_back(std::move(text));
        break;
      case WSLAY_CONNECTION_CLOSE:
        break;
      default:
        ADD_FAILURE() << "an unexpected frame";
    }
  };
  return callbacks;
}

void WebSocketClient::queue(uint8_t opcode, std::string_view payload) {
  const wslay_event_msg message{opcode, reinterpret_cast<const uint8_t*>(payload.data()),
                                payload.size()};
  EXPECT_EQ(wslay_event_queue_msg(context_, &message), 0);
  pump();
}

void WebSocketClient::close(uint16_t code, std::string_view reason) {
  wslay_event_queue_close(context_, code, reinterpret_cast<const uint8_t*>(reason.data()),
                          reason.size());
  pump();
}

void WebSocketClient::take_close() {
  close_code_ = 0;
  if (close_payload_.size() < 2) return;
  close_code_ =
      static_cast<uint8_t>(close_payload_[0]) << 8 | static_cast<uint8_t>(close_payload_[1]);
  close_reason = close_payload_.substr(2);
}

void WebSocketClient::pump() {
  EXPECT_EQ(wslay_event_recv(context_), 0) << "the server broke the protocol";
  wslay_event_send(context_);
}

std::string WebSocketClient::message() {
  world_.until([this] {
    pump();
    return !messages.empty() || wire_.ended;
  });
  if (messages.empty()) return {};
  std::string first = std::move(messages.front());
  messages.pop_front();
  return first;
}

bool WebSocketClient::wait_pongs(size_t count) {
  return world_.until([&] {
    pump();
    return pongs.size() >= count;
  });
}

int WebSocketClient::close_code() {
  world_.until([this] {
    pump();
    return close_code_ >= 0 || wire_.ended;
  });
  return std::max(close_code_, 0);
}

bool WebSocketClient::wait_closed() {
  return world_.until([this] {
    pump();
    return wire_.ended;
  });
}

}  // namespace stdgate::test
