// HTTP and WebSocket without a socket: connections depend only on the Stream interface.
#include "tests/support/memory_stream.h"

#include <gtest/gtest.h>

#include "tests/unit/websocket/client_frames.h"
#include "tests/unit/websocket/websocket_world.h"

namespace stdgate::test {
namespace {

class OnAnyStream : public testing::Test {
 protected:
  OnAnyStream() { world_.server->serve(std::make_unique<MemoryStream>(peer_), {}); }
  bool wait_for(std::string_view text) {
    return world_.until([&] { return peer_.received.ends_with(text); });
  }
  bool wait_gone() {
    return world_.until([&] { return world_.server->connections() == 0; });
  }
  // A text frame of the server.
  static std::string frame(std::string_view text) {
    return std::string(websocket::FrameHead(websocket::Opcode::text, text.size()).view()) +
           std::string(text);
  }
  static std::string big(size_t size) {
    return call("1", "big", R"({"size":)" + std::to_string(size) + '}');
  }

  MemoryPeer peer_;  // outlives the connection
  WebSocketWorld world_;
};

TEST_F(OnAnyStream, RequestsAreAnswered) {
  for (const char byte : post(call("1", "echo", "[1]"))) peer_.send({&byte, 1});
  EXPECT_TRUE(wait_for(result("1", "[1]"))) << peer_.received;
  peer_.send(post(call("2", "echo", "[2]")) + post(call("3", "echo", "[3]")));
  EXPECT_TRUE(wait_for(result("3", "[3]")));
  EXPECT_NE(peer_.received.find(result("2", "[2]")), std::string::npos);
  peer_.end();
  EXPECT_TRUE(peer_.ended);
  EXPECT_TRUE(wait_gone());
}

TEST_F(OnAnyStream, TheEndOfAClientCancelsItsCall) {
  peer_.send(post(call("1", "hold", "[]")));
  EXPECT_TRUE(world_.until([&] { return world_.child().held.size() == 1; }));
  peer_.fail(UV_ECONNRESET);
  EXPECT_TRUE(wait_gone());
  EXPECT_EQ(world_.observer.outcomes, std::vector<std::string>{"cancelled"});
}

TEST_F(OnAnyStream, WhoTakesNothingIsNotReadOn) {
  peer_.set_taking(false);
  peer_.send(post(big(2 * http::Http1Connection::kMaxBacklog)));
  EXPECT_TRUE(world_.until(
      [&] { return peer_.stream->unsent_bytes() > 2 * http::Http1Connection::kMaxBacklog; }));
  EXPECT_FALSE(peer_.stream->is_read());
  peer_.send(post(call("2", "echo", "[2]")));
  peer_.set_taking(true);
  EXPECT_TRUE(wait_for(result("2", "[2]")));
}

TEST_F(OnAnyStream, AWebSocketTakesOver) {
  peer_.send(handshake() + client_frame(call("1", "echo", "[1]")));
  EXPECT_TRUE(wait_for(frame(result("1", "[1]")))) << peer_.received;
  EXPECT_TRUE(peer_.received.starts_with("HTTP/1.1 101 "));
  peer_.send(client_frame(call("2", "echo", "[2]")));
  EXPECT_TRUE(wait_for(frame(result("2", "[2]"))));
  EXPECT_EQ(world_.websockets(), 1u);
  peer_.set_taking(false);
  peer_.send(client_frame(big(2 * websocket::WebSocketConnection::kMaxBacklog)));
  EXPECT_TRUE(world_.until([&] { return !peer_.stream->is_read(); }));
  peer_.set_taking(true);
  EXPECT_TRUE(world_.until([&] { return peer_.stream->is_read(); }));
  peer_.send(client_frame(websocket::Opcode::close, close_payload(1000)));
  EXPECT_TRUE(peer_.received.ends_with("\x88\x02\x03\xe8"));
  EXPECT_TRUE(peer_.ended);
  peer_.end();
  EXPECT_TRUE(wait_gone());
}

}  // namespace
}  // namespace stdgate::test
